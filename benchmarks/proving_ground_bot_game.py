"""How many game loops a second a whole game runs at, in-process, with a burnysc2 bot at game_step 22.

    python benchmarks/proving_ground_bot_game.py [--games 3]

The bot is an ordinary macro bot. The time is from its first step to its last; loading and compiling are not in it.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from pathlib import Path
from typing import Any

from loguru import logger
from sc2.data import AIBuild, Difficulty, Race
from sc2.player import Bot, Computer

from understudy.games.zerg.proving_ground import play

BOT = Path(__file__).resolve().parent.parent / "tests/games/zerg/proving_ground/bots/zerg_macro.py"


def timed_bot() -> Any:
    """The macro bot, with a clock around it."""
    spec = importlib.util.spec_from_file_location("zerg_macro", BOT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    class Timed(module.ZergMacro):  # type: ignore[name-defined,misc]
        """Notes when it began, and its own share of the time."""

        async def on_start(self) -> None:
            self.client.game_step = 22
            self.began, self.began_cpu, self.own = time.perf_counter(), time.process_time(), 0.0

        async def on_step(self, iteration: int) -> None:
            before = time.perf_counter()
            await super().on_step(iteration)
            self.own += time.perf_counter() - before
            self.ended, self.ended_cpu = time.perf_counter(), time.process_time()

    return Timed()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=3)
    logger.remove()
    logger.add(sys.stderr, level="WARNING")
    for seed in range(parser.parse_args().games):
        bot = timed_bot()
        report = play(
            Bot(Race.Zerg, bot),
            Computer(Race.Terran, Difficulty.Hard, AIBuild.Macro),
            map_seed=seed,
            seed=seed,
            game_time_limit=900,
        )
        wall, cpu = bot.ended - bot.began, bot.ended_cpu - bot.began_cpu
        print(
            f"seed {seed}: {report.loops} loops, {report.result}, {report.loops / wall:,.0f} loops/s "
            f"({report.loops / cpu:,.0f} a second of CPU); the bot's own code: {bot.own / wall:.0%}; asked for: 6,000"
        )
