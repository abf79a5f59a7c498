"""A bot on the AI Arena ladder: plays one game, which the ladder's flags describe.

It writes only to its data folder, which is its run directory. After the game it trains on it, within a time limit.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sc2.data import Race
from sc2.main import play_from_websocket
from sc2.player import Bot
from sc2.portconfig import Portconfig

from understudy.experience.journal import orphans, salvage
from understudy.rundir import RunDir
from understudy.settings import StorageSettings

TRAINING_SECONDS = 20.0
HARD_SECONDS = 55.0  # the ladder kills a bot 60 s after its game; exit before that


class ExitTimer:
    """Ends the process some time after the game, even if training or the disk hangs. The game is in its journal."""

    def __init__(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, _end_now)
        self._timer.daemon = True

    def start(self) -> None:
        """Start the timer; later calls change nothing."""
        if self._timer.ident is None:
            self._timer.start()

    def cancel(self) -> None:
        """Cancel the timer, because nothing can hang any more."""
        self._timer.cancel()

    @property
    def cancelled(self) -> bool:
        """Whether the timer was cancelled."""
        return self._timer.finished.is_set()


def play_ladder_game(
    make_bot: Callable[[Path, argparse.Namespace], Any],
    race: Race,
    data: Path,
    arguments: Sequence[str] | None = None,
    timer: ExitTimer | None = None,
) -> int:
    """Play the game that the flags describe, train on it, and return the exit code.

    `make_bot(data, options)` makes the bot. If it has a `session`, as `LearningBot` does, and a method `close_game`,
    the game is recorded and learned from however it ends.
    """
    logging.basicConfig(format="[%(levelname)s] %(message)s", level=logging.WARNING)
    options = _parser().parse_known_args(arguments)[0]
    _salvage(RunDir.at(data))
    timer = timer or ExitTimer(HARD_SECONDS)
    bot = make_bot(data, options)
    bot.opponent_id = options.OpponentId
    if (session := getattr(bot, "session", None)) is not None:
        session.before_end = timer.start
    url = f"ws://{options.LadderServer}:{options.GamePort}/sc2api"
    result, outcome = None, None
    try:
        result = asyncio.run(_play(url, bot, race, options))
    finally:
        timer.start()
        if (close := getattr(bot, "close_game", None)) is not None:
            outcome = close()
        if session is not None:
            session.agent.close()
        timer.cancel()
    print(f"Result: {result.name if result is not None else 'none'}; {outcome}", flush=True)
    return 0 if result is not None else 1


def rated(options: argparse.Namespace) -> dict[str, Any]:
    """The options of an RLAgent in a rated game: no trials, and training after the game."""
    return {"try_out": False, "online_training": True, "online_seconds": options.training_seconds}


def _end_now() -> None:
    print("Out of time after the game; the game is saved for later training.", file=sys.stderr, flush=True)
    os._exit(0)


async def _play(url: str, bot: Any, race: Race, options: argparse.Namespace) -> Any:
    ports: Any = None
    if options.StartPort is not None:  # the ladder's order: one reserved port, two of the server, two of the guest
        first = options.StartPort + 2
        ports = Portconfig(server_ports=[first, first + 1], player_ports=[[first + 2, first + 3]])
    player = Bot(race, bot, getattr(bot, "NAME", "") or type(bot).__name__)
    return await play_from_websocket(url, player, options.RealTime, ports, game_time_limit=options.game_time_limit)


def _salvage(run: RunDir) -> None:
    """Turn the journals of earlier, killed processes into games for the learner."""
    run.create()
    for journal in list(orphans(run.live)):
        salvage(journal, run.buffer, run.rejected, StorageSettings())


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
