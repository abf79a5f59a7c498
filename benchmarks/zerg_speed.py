"""How fast the Zerg bot is: its step at 200 units, and games on the direct environment beside games over the protocol.

    python benchmarks/zerg_speed.py [--games 6]

Both sides play the same opponents with the same decisions, one after the other in the same process. Processor time is
what to compare on a busy machine; time by the clock is shown beside it. The bot's step is timed many times over at
every decision with at least 200 own units.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from loguru import logger
from numpy.typing import NDArray
from sc2.data import AIBuild, Difficulty, Race
from sc2.player import Bot, Computer

from understudy.agent import Decision
from understudy.games.zerg.bot import WickedZergBotProImpl
from understudy.games.zerg.defaults import zerg_agent
from understudy.games.zerg.direct.game import Opponent, StrategyGame
from understudy.games.zerg.proving_ground import play
from understudy.games.zerg.strategies import NAMES

UNITS = 200
REPEATS = 20
PLAN = [0] * 12 + [1] * 6 + [0] * 16 + [2] * 12 + [0] * 20 + [3] * 200  # grows to the supply limit and stays at home
LIMIT, TIMED_LIMIT = 720.0, 900.0  # game seconds
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


def now() -> NDArray[np.float64]:
    """Seconds by the wall clock and of this thread's processor time."""
    return np.array((time.perf_counter(), time.thread_time()))


class TimedBot(WickedZergBotProImpl):
    """Notes how long it takes to look, to compute the features and to decide, and with how many units."""

    own_units: list[int]
    times: list[tuple[NDArray[np.float64], NDArray[np.float64]]]
    timing_agent: Any

    def _decide(self, brain: Any) -> None:
        for _ in range(REPEATS if self.units.amount + self.structures.amount + self.larva.amount >= UNITS else 0):
            began = now()
            snapshot = self._hands.snapshot()
            looked = now()
            brain.observe(snapshot)
            self.timing_agent.select_action(brain.state())
            decided = now()
            self.own_units.append(len(snapshot.own))
            self.times.append((looked - began, decided - looked))
        super()._decide(brain)


def protocol_game(
    race: int, difficulty: int, build: int, seed: int, bot: WickedZergBotProImpl, limit: float = LIMIT
) -> int:
    """Loops of one game through burnysc2."""
    opponent = Computer(Race(race), Difficulty(difficulty), AIBuild(build))
    return play(Bot(Race.Zerg, bot), opponent, seed=seed, map_seed=seed, game_time_limit=limit).loops


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
    clocks = {"processor": time.process_time, "wall clock": time.perf_counter}
    rates: dict[tuple[str, str], list[float]] = {
        (path, clock): [] for path in ("direct", "protocol") for clock in clocks
    }
    for seed in range(count):
        setting = OPPONENTS[seed % 3]
        began = {name: clock() for name, clock in clocks.items()}
        loops = direct_game(*setting, seed)
        middle = {name: clock() for name, clock in clocks.items()}
        same = protocol_game(*setting, seed, WickedZergBotProImpl(Script()))  # type: ignore[arg-type]
        for name, clock in clocks.items():
            rates["direct", name].append(loops / (middle[name] - began[name]))
            rates["protocol", name].append(same / (clock() - middle[name]))
    for name in clocks:
        direct, protocol = (float(np.median(rates[path, name])) for path in ("direct", "protocol"))
        print(f"{name}: direct {direct:9,.0f} game loops/s, protocol {protocol:9,.0f}, ratio {direct / protocol:.1f}")
    print(f"(medians of {count} games; asked for: a ratio of 5)")

    bot = TimedBot(Script())  # type: ignore[arg-type]
    bot.timing_agent, bot.times, bot.own_units = zerg_agent(None, record=False), [], []
    protocol_game(*OPPONENTS[0], 0, bot, TIMED_LIMIT)
    if not bot.times:
        raise SystemExit(f"The game never had {UNITS} own units; the plan has to change.")
    print(f"one step, {len(bot.times)} times at {np.mean(bot.own_units):.0f} own units (asked for: 2 ms)")
    for number, what in enumerate(("looking (snapshot)", "features and decision")):
        for column, name in enumerate(("wall clock", "processor")):
            p50, p99 = np.percentile([times[number][column] * 1e3 for times in bot.times], [50, 99])
            print(f"  {what:21} {name:10} p50 {p50:.2f} ms, p99 {p99:.2f} ms")


if __name__ == "__main__":
    main()
