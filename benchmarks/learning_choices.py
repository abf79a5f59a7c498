"""Compares choices of how the model learns: `python benchmarks/learning_choices.py [--seeds N] [--only NAME ...]`.

Two tasks, with default settings but for the choice. The ladder task (understudy/check/ladder.py) in batches as large as
the background learner makes them: win rate of the greedy policy after 1,500 and after 6,000 games. FrozenLake (4 × 4,
slippery, simulated from its table) in batches of 2,048 decisions: share of 1,000 fresh games won in the end, after
150,000 decisions. Prints one row for each choice: means over the seeds, and the lowest seed in brackets.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import gymnasium
import numpy as np
from numpy.typing import NDArray

from understudy.acting.sampling import draw_all
from understudy.check.ladder import ACTIONS, DECISIONS, FEATURES, draw_games, win_probability
from understudy.experience.episode import Episode
from understudy.experience.replay import ReplayMemory
from understudy.learning import optimizers, trainer, trust_region
from understudy.learning.trainer import Trainer
from understudy.learning.trust_region import worthwhile_batch
from understudy.networks.factory import model_factory
from understudy.settings import NetworkSettings, TrainingSettings

MARKS = (1500, 6000)
LAKE_DECISIONS, LAKE_BATCH = 150_000, 2048
_CUT = 100


@dataclass(frozen=True, slots=True)
class Option:
    """What differs from the defaults."""

    name: str
    training: dict[str, Any] = field(default_factory=dict)
    constants: dict[tuple[Any, str], Any] = field(default_factory=dict)
    replay: float = 0.0
    averaged: float = 0.0  # how far the published weights follow those that train, each update
    clock_reset: bool = False


ALL_PASSES: dict[tuple[Any, str], Any] = {(trust_region, "_FEW_PASSES"): 10**6}


def one_scale(parameters: NDArray[Any], learning_rate: float, _: object) -> optimizers.Adam:
    """Adam with one scale of the steps of all parameters."""
    return optimizers.Adam(parameters, learning_rate, [len(parameters)])


CHOICES = (
    Option("defaults"),
    Option("always 10 passes", constants=ALL_PASSES),
    Option("always 5 passes", {"epochs": 5}, ALL_PASSES),
    Option("always 2 passes", {"epochs": 2}, ALL_PASSES),
    Option("beta2 = 0.99", constants={(optimizers, "BETA2"): 0.99}),
    Option("beta1 = beta2 = 0.9", constants={(optimizers, "BETA2"): 0.9}),
    Option("Adam's moments and clock begin again in every update", clock_reset=True),
    Option("learning rate does not adjust", constants={(trust_region, "_DECAY"): 1.0, (trust_region, "_SAME"): 9.0}),
    Option("no KL limit", {"target_kl": 0.0}),
    Option("KL limit / 4", {"target_kl": 0.005}),
    Option("published: moving average of the weights, 0.2 an update", averaged=0.2),
    Option("entropy weight 0.03", {"entropy_coefficient": 0.03}),
    Option("all parameters share one scale of their steps", constants={(trainer, "Adam"): one_scale}),
    Option("states not normalised", {"normalize_states": False}),
    Option("the mean of other games is not subtracted", constants={(trainer, "less_common_mode"): lambda a, *_: a}),
    Option("replay 0.25", replay=0.25),
    Option("replay 1", replay=1.0),
)


class Learner:
    """A trainer with a choice applied around its updates."""

    def __init__(self, choice: Option, states: int, actions: int, seed: int) -> None:
        network = model_factory(states, actions, NetworkSettings(), np.random.default_rng(seed))
        self.trainer = Trainer(network, TrainingSettings(**choice.training), seed)
        self._choice = choice
        self._memory = ReplayMemory(1000, 10**9, 100)
        self._average: NDArray[Any] | None = None

    def update(self, games: list[Episode], rng: np.random.Generator) -> None:
        """Learn from a batch."""
        trainer, choice = self.trainer, self._choice
        if choice.clock_reset:
            zeros = np.zeros_like(trainer.adam.m)
            trainer.adam.restore(zeros, zeros, 0)
        again = self._memory.draw(choice.replay * sum(map(len, games)), trainer.updates, rng)
        trainer.update(games, replayed=again)
        if choice.replay:
            self._memory.learned_again(again, trainer.surprises[len(games) :])
            self._memory.add(games, trainer.surprises[: len(games)], trainer.updates)
        if choice.averaged:
            now = trainer.network.parameters
            self._average = (
                now.copy() if self._average is None else self._average + choice.averaged * (now - self._average)
            )

    def act(self, states: NDArray[Any], rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Actions in states (N, S), explored as an agent does, and the log-probabilities they were drawn with."""
        settings = self.trainer.settings
        share = settings.exploration_final + (settings.exploration - settings.exploration_final) * 0.5 ** (
            self.trainer.games / settings.exploration_half_life
        )
        logits, _ = self.trainer.network.evaluate(self.trainer.normalizer.apply(states))
        actions, log_probs = draw_all(logits, None, share, rng)
        return actions, np.asarray(log_probs, np.float32)

    def greedy(self, score: Callable[[Callable[[NDArray[Any]], NDArray[np.int64]]], float]) -> float:
        """What the published policy scores that takes the most probable action."""
        network = self.trainer.network
        kept = network.parameters.copy()
        if self._average is not None:
            np.copyto(network.parameters, self._average)
        result = score(lambda states: network.evaluate(self.trainer.normalizer.apply(states))[0].argmax(axis=1))
        np.copyto(network.parameters, kept)
        return result


def ladder(choice: Option, seed: int) -> list[float]:
    """The win rates at the marks."""
    learner, rng = Learner(choice, FEATURES, ACTIONS, seed), np.random.default_rng(seed)
    found: list[float] = []

    def score(act: Callable[[NDArray[Any]], NDArray[np.int64]]) -> float:
        games = draw_games(np.random.default_rng(99), 1000)
        actions = act(games.states.reshape(-1, FEATURES)).reshape(-1, DECISIONS)
        return float(win_probability(games, actions).mean())

    while len(found) < len(MARKS):
        trainer = learner.trainer
        count = math.ceil(worthwhile_batch(trainer.steps, trainer.adjusted) / DECISIONS)
        games = draw_games(rng, count)
        actions, log_probs = learner.act(games.states.reshape(-1, FEATURES), rng)
        actions, log_probs = actions.reshape(count, DECISIONS), log_probs.reshape(count, DECISIONS)
        rewards = np.zeros(actions.shape, np.float32)
        rewards[:, -1] = rng.random(count) < win_probability(games, actions)
        learner.update([Episode(games.states[g], actions[g], rewards[g], log_probs[g]) for g in range(count)], rng)
        if trainer.games >= MARKS[len(found)]:
            found.append(learner.greedy(score))
    return found


class Lake:
    """FrozenLake in many matches at once, by the table of Gymnasium's environment."""

    def __init__(self) -> None:
        table: Any = gymnasium.make("FrozenLake-v1").unwrapped
        # A place where a game ends has one outcome, all others have three.
        outcomes = [[(table.P[place][action] * 3)[:3] for action in range(4)] for place in range(16)]
        self._next, self._reward, self._over = (
            np.array([[[outcome[part] for outcome in found] for found in row] for row in outcomes], kind)
            for part, kind in ((1, np.int64), (2, np.float32), (3, np.bool_))
        )

    def play(
        self, act: Callable[[NDArray[Any]], tuple[NDArray[np.int64], NDArray[np.float32]]], count: int, seed: int
    ) -> list[Episode]:
        """Whole games; those that last too long are cut."""
        rng = np.random.default_rng(seed)
        place: Any = np.zeros(count, np.int64)
        alive: Any = np.ones(count, np.bool_)
        seen, chosen, sure, paid = [], [], [], []
        lengths = np.zeros(count, np.int64)
        for _ in range(_CUT):
            actions, log_probs = act(np.eye(16, dtype=np.float32)[place])
            slip = rng.integers(0, 3, count)
            seen.append(place)
            chosen.append(actions)
            sure.append(log_probs)
            paid.append(np.where(alive, self._reward[place, actions, slip], 0))
            lengths += alive
            over = self._over[place, actions, slip]
            place = self._next[place, actions, slip]
            alive = alive & ~over
            if not alive.any():
                break
        states = np.eye(16, dtype=np.float32)[np.array(seen).T]
        columns = [np.array(rows).T for rows in (chosen, paid, sure)]
        last = np.eye(16, dtype=np.float32)[place]
        return [
            Episode(
                states[g, :n],
                columns[0][g, :n],
                columns[1][g, :n].astype(np.float32),
                columns[2][g, :n].astype(np.float32),
                final_state=last[g] if alive[g] else None,
            )
            for g, n in enumerate(lengths.tolist())
        ]


def lake(choice: Option, seed: int) -> float:
    """The share of new games that the greedy policy wins at the end."""
    learner, rng, world = Learner(choice, 16, 4, seed), np.random.default_rng(seed), Lake()
    length = 8.0
    while learner.trainer.steps < LAKE_DECISIONS:
        count = max(1, round(LAKE_BATCH / length))
        games = world.play(lambda states: learner.act(states, rng), count, int(rng.integers(2**31)))
        length = sum(map(len, games)) / count
        learner.update(games, rng)

    def score(act: Callable[[NDArray[Any]], NDArray[np.int64]]) -> float:
        games = world.play(lambda states: (act(states), np.zeros(len(states), np.float32)), 1000, 99)
        return float(np.mean([game.rewards.sum() for game in games]))

    return learner.greedy(score)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME")
    options = parser.parse_args()
    print("| choice | ladder, 1,500 games | ladder, 6,000 games | FrozenLake, 150,000 decisions |\n|---|---|---|---|")
    for choice in CHOICES:
        if options.only and choice.name not in options.only:
            continue
        patches = [mock.patch.object(module, name, value) for (module, name), value in choice.constants.items()]
        for patch in patches:
            patch.start()
        rows = np.array([[*ladder(choice, seed), lake(choice, seed)] for seed in range(options.seeds)])
        for patch in patches:
            patch.stop()
        cells = [f"{mean:.3f} ({least:.3f})" for mean, least in zip(rows.mean(axis=0), rows.min(axis=0), strict=True)]
        print(f"| {choice.name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
