"""Small trainers and small batches of games, for tests of the trainer."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from understudy.experience.episode import Episode
from understudy.learning.trainer import Trainer
from understudy.networks.factory import model_factory
from understudy.settings import NetworkSettings, TrainingSettings

S, A = 4, 3
NETWORKS = {
    "mlp": NetworkSettings(hidden=(16,)),
    "transformer": NetworkSettings(policy="transformer", context=5, width=8, heads=2, layers=1),
}
ALGORITHMS = ["ppo", "reinforce"]


def make(network: str = "mlp", seed: int = 0, **settings: Any) -> Trainer:
    made = model_factory(S, A, NETWORKS[network], np.random.default_rng(seed))
    return Trainer(made, TrainingSettings(**({"minibatch": 16} | settings)), seed)


def games(seed: int, count: int = 4, **arrays: Any) -> list[Episode]:
    rng = np.random.default_rng(seed)
    made = []
    for i in range(count):
        steps = int(rng.integers(1, 20))
        made.append(
            Episode(
                states=rng.normal(3, 2, (steps, S)).astype(np.float32),
                actions=rng.integers(0, A, steps),
                rewards=rng.normal(size=steps).astype(np.float32),
                log_probs=np.full(steps, -np.log(A), np.float32),
                final_state=rng.normal(3, 2, S).astype(np.float32) if i % 2 else None,
            )
        )
    return [dataclasses.replace(game, **arrays) for game in made]


def assert_same_state(a: Trainer, b: Trainer) -> None:
    assert a.counters() == b.counters()
    for name, array in a.state_arrays().items():
        np.testing.assert_array_equal(array, b.state_arrays()[name], err_msg=name)
