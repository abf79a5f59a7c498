"""An update is all or nothing, and a restart continues where the last process stopped."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from learning.small import ALGORITHMS, NETWORKS, A, S, assert_same_state, games, make
from understudy.errors import EpisodeError, ModelMismatch, NonFiniteError
from understudy.experience.episode import Episode
from understudy.learning.trainer import Trainer
from understudy.networks.factory import model_factory

# Same seed, same result; restarts included


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_same_seed_and_games_give_the_same_bits(algorithm: str, network: str) -> None:
    first, second = make(network, algorithm=algorithm), make(network, algorithm=algorithm)
    for seed in range(3):
        assert first.update(games(seed)) == second.update(games(seed))
    assert_same_state(first, second)


def test_another_seed_shuffles_otherwise() -> None:
    first = make()
    second = Trainer(make().network, first.settings, seed=1)
    first.update(games(0))
    second.update(games(0))
    assert not np.array_equal(first.network.parameters, second.network.parameters)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_restored_trainer_continues_bit_for_bit(algorithm: str, network: str) -> None:
    uninterrupted, first = make(network, algorithm=algorithm), make(network, algorithm=algorithm)
    for seed in range(5):
        uninterrupted.update(games(seed))
    for seed in range(3):
        first.update(games(seed))
    arrays, counters = first.state_arrays(), first.counters()
    first.update(games(9))  # what was saved must not change with the trainer it came from
    second = Trainer(model_factory(S, A, NETWORKS[network], np.random.default_rng(77)), first.settings, first.seed)
    second.restore(arrays, counters)
    for seed in range(3, 5):
        second.update(games(seed))
    assert_same_state(second, uninterrupted)


@pytest.mark.parametrize("change", ["missing", "shape", "counter"])
def test_a_state_that_does_not_fit_is_refused_and_changes_nothing(change: str) -> None:
    trainer, untouched = make(), make()
    donor = make(seed=5)
    donor.update(games(0))
    arrays, counters = donor.state_arrays(), donor.counters()
    if change == "missing":
        del arrays["adam_v"]
    elif change == "shape":
        arrays["adam_v"] = arrays["adam_v"][:-1]
    else:
        del counters["adam_steps"]
    with pytest.raises(ModelMismatch, match="adam_"):
        trainer.restore(arrays, counters)
    assert_same_state(trainer, untouched)


# All or nothing


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize(
    ("arrays", "what"),
    [
        ({"states": np.array([[1, np.nan, 0, 0]], np.float32)}, "the states"),
        ({"states": np.array([[1, np.inf, 0, 0]], np.float32)}, "the states"),
        ({"rewards": np.array([np.nan], np.float32)}, "the value targets"),
        ({"rewards": np.array([-np.inf], np.float32)}, "the value targets"),
        ({"rewards": np.array([3e38], np.float32)}, "the value loss"),
        ({"log_probs": np.array([-np.inf], np.float32)}, "the recorded log_probs"),
    ],
)
def test_an_update_with_nan_or_infinity_is_undone_and_says_where(
    network: str, arrays: dict[str, Any], what: str
) -> None:
    trainer, twin = make(network), make(network)
    trainer.update(games(0))
    twin.update(games(0))
    single = Episode(np.ones((1, S), np.float32), np.array([0]), np.ones(1, np.float32))
    with pytest.raises(NonFiniteError, match=what):
        trainer.update([*games(1), dataclasses.replace(single, **arrays)])
    assert_same_state(trainer, twin)
    assert trainer.update(games(2)) == twin.update(games(2))
    assert_same_state(trainer, twin)


def test_parameters_that_overflow_are_undone() -> None:
    trainer, twin = make(learning_rate=1e38), make(learning_rate=1e38)
    with pytest.raises(NonFiniteError, match="the policy loss"):
        trainer.update(games(0))
    assert_same_state(trainer, twin)


def test_a_network_that_is_already_broken_is_named() -> None:
    trainer = make()
    trainer.network.parameters[3] = np.nan
    with pytest.raises(NonFiniteError, match="the network's output"):
        trainer.update(games(0))


def test_an_interrupted_update_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, twin = make(), make()
    original = trainer.adam.step

    def interrupted(gradients: Any) -> None:
        if trainer.adam.steps == 3:
            raise KeyboardInterrupt
        original(gradients)

    monkeypatch.setattr(trainer.adam, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trainer.update(games(0))
    assert_same_state(trainer, twin)


def test_games_that_do_not_fit_leave_the_trainer_as_it_was() -> None:
    trainer, twin = make(), make()
    with pytest.raises(EpisodeError, match="the network knows 0 to 2"):
        trainer.update(games(0, actions=np.array([7])))
    assert_same_state(trainer, twin)
