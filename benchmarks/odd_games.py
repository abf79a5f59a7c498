"""Learns the environments of odd_worlds.py with default settings: `python benchmarks/odd_games.py [NAME ...]`.

Each by self-play, with `--live` by the live loop, and by PPO of Stable-Baselines3 with its defaults, in as many steps.
Prints the mean return of the greedy policy in 100 fresh games, in 1,000 where one game says little. Needs the extra
`bench`.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import odd_worlds
from understudy.check import peer, runs
from understudy.check.measure import TaskOutcome, Watch
from understudy.check.tasks import Task, Way

STEPS = {
    "Delayed": 100_000,
    "HeavyTailed": 100_000,
    "Maze": 150_000,
    "Hidden": 100_000,
    "Wide": 60_000,
    "Moving": 190_000,
    "Masked": 100_000,
    "Constants": 100_000,
    "Negative": 100_000,
    "Endless": 150_000,
    "Cards": 60_000,
    "Lock": 100_000,
    "Xor": 150_000,
    "Jackpot": 60_000,
    "Corridor": 60_000,
    "Noise": 40_000,
}


FRESH = {"HeavyTailed": 1000, "Jackpot": 1000, "Wide": 1000, "Cards": 1000, "Noise": 1000}


def learn(name: str, learner: str, seed: int, steps: int) -> TaskOutcome:
    way: Way = "live" if learner == "live" else "self-play"
    task = Task(name, way, f"odd/{name}-v0", steps, math.inf, fresh=FRESH.get(name, 100), package="odd_worlds")
    watch = Watch(task, learner, seed, lambda: False, lambda _: None)
    odd_worlds.Moving.made = 0
    if learner == "SB3 defaults":
        return peer.train(task, learner, seed, watch)
    train: Callable[..., TaskOutcome] = runs.live if learner == "live" else runs.self_play
    return train(task, seed, watch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(STEPS), metavar="NAME")
    parser.add_argument("--learners", nargs="+", default=["self-play", "SB3 defaults"], metavar="LEARNER")
    parser.add_argument("--live", action="store_true", help="the live loop too")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--steps", type=int, help="instead of those of each environment")
    options = parser.parse_args()
    learners = [*options.learners, *(["live"] if options.live else [])]
    print(f"| environment | decisions | {' | '.join(learners)} |\n|---|---|{'---|' * len(learners)}")
    for name in options.names:
        steps = options.steps or STEPS[name]
        found = [[learn(name, learner, seed, steps) for seed in options.seeds] for learner in learners]
        cells = [" · ".join(f"{out.greedy:.4g}" for out in outs) for outs in found]
        print(f"| {name} | {steps:,} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
