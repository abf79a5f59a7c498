"""The bot on the AI Arena ladder: plays one game, which the ladder's flags describe.

It writes to its data folder only, which is its run directory. After the game it trains on it, within a time limit.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sc2.data import Race
from sc2.main import play_from_websocket
from sc2.player import Bot
from sc2.portconfig import Portconfig

from understudy.experience.journal import orphans, salvage
from understudy.games.zerg.bot import CRASH, WickedZergBotProImpl
from understudy.games.zerg.defaults import SETTINGS, zerg_agent
from understudy.games.zerg.learned_openings import Openings
from understudy.games.zerg.opponent_memory import OPPONENTS, OpponentMemory
from understudy.rundir import RunDir

TRAINING_SECONDS = 20.0
HARD_SECONDS = 55.0  # the ladder kills a bot 60 s after its game; exit before that


class LadderBot(WickedZergBotProImpl):
    """A bot whose process exits in time after the game, even if training or the disk hangs."""

    hard_seconds = HARD_SECONDS
    last_resort: threading.Timer | None = None

    def close_game(self, result: str = CRASH) -> dict[str, Any]:
        """End the episode and train on it. The game is in its journal, so it survives a timeout."""
        if not self.outcome:
            self.last_resort = threading.Timer(self.hard_seconds, _end_now)
            self.last_resort.daemon = True
            self.last_resort.start()
        return super().close_game(result)

    def all_is_done(self) -> None:
        """Cancel the timer: nothing can hang any more."""
        if self.last_resort is not None:
            self.last_resort.cancel()


def _end_now() -> None:
    print("Out of time after the game; the game is saved for later training.", file=sys.stderr, flush=True)
    os._exit(0)


def main(data: Path, arguments: Sequence[str] | None = None) -> int:
    """Play the game that the flags describe, train on it, and return the exit code."""
    logging.basicConfig(format="[%(levelname)s] %(message)s", level=logging.WARNING)
    options = _parser().parse_known_args(arguments)[0]
    _salvage(RunDir.at(data))
    # No trials of strategies in rated games.
    agent = zerg_agent(data, try_out=False, online_training=True, online_seconds=options.training_seconds)
    bot = LadderBot(
        agent,
        opponents=OpponentMemory(data / OPPONENTS),
        openings=Openings(RunDir.at(data).build_orders),
    )
    bot.opponent_id = options.OpponentId
    url = f"ws://{options.LadderServer}:{options.GamePort}/sc2api"
    try:
        result = asyncio.run(_play(url, bot, options))
    finally:
        outcome = bot.close_game()
        agent.close()
        bot.all_is_done()
    print(f"Result: {result.name if result is not None else 'none'}; {outcome}", flush=True)
    return 0 if result is not None else 1


async def _play(url: str, bot: WickedZergBotProImpl, options: argparse.Namespace) -> Any:
    ports: Any = None
    if options.StartPort is not None:  # the ladder's order: one reserved port, two of the server, two of the guest
        first = options.StartPort + 2
        ports = Portconfig(server_ports=[first, first + 1], player_ports=[[first + 2, first + 3]])
    player = Bot(Race.Zerg, bot, bot.NAME)
    return await play_from_websocket(url, player, options.RealTime, ports, game_time_limit=options.game_time_limit)


def _salvage(run: RunDir) -> None:
    """Turn the journals of earlier, killed processes into games for the learner."""
    run.create()
    for journal in list(orphans(run.live)):
        salvage(journal, run.buffer, run.rejected, SETTINGS.storage)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Plays one game on the ladder.")
    parser.add_argument("--GamePort", type=int, required=True)
    parser.add_argument("--LadderServer", default="127.0.0.1")
    parser.add_argument("--StartPort", type=int)
    parser.add_argument("--OpponentId", default="")
    parser.add_argument("--RealTime", action="store_true")
    parser.add_argument("--game-time-limit", type=int, help="game seconds after which the game is a tie")
    parser.add_argument("--training-seconds", type=float, default=TRAINING_SECONDS)
    return parser
