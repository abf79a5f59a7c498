"""How many game loops a second a whole game runs at, in-process, with burnysc2 bots at game_step 22.

    python benchmarks/proving_ground_bot_game.py [--games 3]

Three bots: an ordinary macro bot with many queries, a rush, and the project's own bot with its policy. The time is from
a bot's first step to its last; loading and compiling are not in it. CPU time is what a busy machine does not distort.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from loguru import logger
from sc2.data import AIBuild, Difficulty, Race
from sc2.player import Bot, Computer

from understudy.games.zerg.bot import WickedZergBotProImpl
from understudy.games.zerg.defaults import zerg_agent
from understudy.games.zerg.proving_ground import play
from understudy.games.zerg.proving_ground.bot_files import load_bot

BOTS = Path(__file__).resolve().parent.parent / "tests/games/zerg/proving_ground/bots"
STEP, NEEDED = 22, 6000


def clocked(bot: Any) -> Any:
    """The bot, with its step set and a clock that runs from its first step to its last."""

    class Clocked(type(bot)):  # type: ignore[misc]
        """Notes when it began and ended, and its own share of the time."""

        async def on_start(self) -> None:
            await super().on_start()
            self.client.game_step = STEP
            self.own, self.units_seen = 0.0, 0
            self.began = (time.perf_counter(), time.process_time())

        async def on_step(self, iteration: int) -> None:
            before = time.perf_counter()
            await super().on_step(iteration)
            self.own += time.perf_counter() - before
            self.units_seen = max(self.units_seen, len(self.all_units))

        async def on_end(self, game_result: Any) -> None:
            self.ended = (time.perf_counter(), time.process_time())
            await super().on_end(game_result)

    bot.__class__ = Clocked
    return bot


def contenders(run_dir: str) -> dict[str, Any]:
    """The bots, new ones for each game."""
    names = ("zerg_macro", "zerg_rush")
    bots = {name: load_bot(BOTS / f"{name}.py").ai for name in names}
    # Untrained, and without the games that keep to one strategy: those go to the time limit with 585 units.
    return bots | {"our own bot": WickedZergBotProImpl(zerg_agent(run_dir, seed=0, try_out=False))}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=3)
    logger.remove()
    logger.add(sys.stderr, level="WARNING")
    computer = Computer(Race.Terran, Difficulty.Hard, AIBuild.Macro)
    for seed in range(parser.parse_args().games):
        with tempfile.TemporaryDirectory() as folder:
            for name, bot in contenders(folder).items():
                random.seed(seed)  # burnysc2 rolls dice where it builds
                player = Bot(Race.Zerg, clocked(bot))
                report = play(player, computer, map_seed=seed, seed=seed, game_time_limit=900)
                wall, cpu = (bot.ended[clock] - bot.began[clock] for clock in range(2))
                print(
                    f"{name:12} seed {seed}: {report.loops:6} loops, {report.result.name:8} {bot.units_seen:4} units, "
                    f"{report.loops / wall:6,.0f} loops/s ({report.loops / cpu:6,.0f} a second of CPU); "
                    f"the bot's own code {bot.own / wall:.0%}; asked for {NEEDED:,}",
                    flush=True,
                )
