"""How fast the Zerg bot is: its step at 200 units, and games on the direct environment beside games over the protocol.

    python benchmarks/zerg_speed.py [--games 6]

Both sides play the same opponents with the same decisions, one after the other in the same process; games are measured
in processor time, so that what else the machine does counts little.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from loguru import logger
from sc2.data import AIBuild, Difficulty, Race
from sc2.player import Bot, Computer

from understudy.agent import Decision
from understudy.games.zerg.bot import WickedZergBotProImpl
from understudy.games.zerg.direct.game import Opponent, StrategyGame
from understudy.games.zerg.policy import zerg_agent
from understudy.games.zerg.proving_ground import play
from understudy.games.zerg.strategies import NAMES

UNITS = 200
PLAN = [0] * 12 + [1] * 6 + [0] * 16 + [2] * 12 + [0] * 20 + [3] * 200  # grows to the supply limit and stays at home
LIMIT = 720.0
OPPONENTS = (
    (1, 2, 5),
    (2, 2, 5),
    (3, 2, 5),
)  # race, difficulty, build: slow ones, so that games have their full length


class Script:
    """An agent that follows a plan and records nothing."""

    def __init__(self) -> None:
        self._plan = iter(PLAN)

    def begin_episode(self, **about: Any) -> None: ...

    def select_action(self, state: Any, explore: bool = True) -> Decision:
        action = next(self._plan)
        return Decision(action, NAMES[action], 1.0, 0.0)

    def observe_reward(self, reward: float) -> None: ...

    def end_episode(self, result: str, **about: Any) -> dict[str, Any]:
        return {}


class TimedBot(WickedZergBotProImpl):
    """Notes how long it takes to look, to compute the features and to decide, and with how many units."""

    times: list[tuple[int, float, float]]
    timing_agent: Any

    def _decide(self, brain: Any) -> None:
        began = time.perf_counter()
        snapshot = self._hands.snapshot()
        looked = time.perf_counter()
        state = brain.state()
        self.timing_agent.select_action(state)
        decided = time.perf_counter()
        self.times.append((len(snapshot.own), looked - began, decided - looked))
        super()._decide(brain)


def protocol_game(race: int, difficulty: int, build: int, seed: int, bot: WickedZergBotProImpl) -> int:
    """Loops of one game through burnysc2."""
    opponent = Computer(Race(race), Difficulty(difficulty), AIBuild(build))
    return play(Bot(Race.Zerg, bot), opponent, seed=seed, map_seed=seed, game_time_limit=LIMIT).loops


def direct_game(race: int, difficulty: int, build: int, seed: int) -> int:
    """Loops of the same game on the simulation."""
    game = StrategyGame(Opponent(race, difficulty, build), seed=seed, map_seed=seed, time_limit=LIMIT)
    for strategy in PLAN:
        if game.play(strategy).result:
            break
    return game.loop


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=6)
    count = parser.parse_args().games
    logger.remove()
    logger.disable("sc2")
    direct_game(*OPPONENTS[0], 0)  # compiles, fills caches
    rates: dict[str, list[float]] = {"direct": [], "protocol": []}
    for seed in range(count):
        setting = OPPONENTS[seed % 3]
        began = time.process_time()
        loops = direct_game(*setting, seed)
        middle = time.process_time()
        same = protocol_game(*setting, seed, WickedZergBotProImpl(Script()))  # type: ignore[arg-type]
        rates["direct"].append(loops / (middle - began))
        rates["protocol"].append(same / (time.process_time() - middle))
    direct, protocol = float(np.median(rates["direct"])), float(np.median(rates["protocol"]))
    print(f"direct environment   {direct:9,.0f} game loops/s of processor time (median of {count} games)")
    print(f"protocol, burnysc2   {protocol:9,.0f} game loops/s")
    print(f"ratio                {direct / protocol:9.1f}   (asked for: 5)")

    bot = TimedBot(Script())  # type: ignore[arg-type]
    bot.timing_agent, bot.times = zerg_agent(None, record=False), []
    protocol_game(*OPPONENTS[0], 0, bot)
    crowded = np.array([row for row in bot.times if row[0] >= UNITS * 0.75])
    for name, column in (("looking (snapshot)", 1), ("features and decision", 2)):
        p50, p99 = np.percentile(crowded[:, column] * 1e3, [50, 99])
        print(f"{name:21} p50 {p50:.2f} ms, p99 {p99:.2f} ms at {crowded[:, 0].mean():.0f} own units (asked for: 2)")


if __name__ == "__main__":
    main()
