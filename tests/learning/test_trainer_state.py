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
from understudy.learning.trust_region import Adjusted
from understudy.networks.factory import model_factory

NEW = (
    "value_statistics",
    "clock_statistics",
    "reward_range",
    "value_peaks",
    "adjusted",
)  # models of the first version do not have these

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


def test_running_statistics_and_adjustments_are_part_of_what_is_saved() -> None:
    trainer, fresh = make(learning_rate=0.1), make(learning_rate=0.1)
    for seed in range(5):
        trainer.update(games(seed))
    assert trainer.adjusted.rate < 1
    assert trainer.adjusted.agreement != 0
    numbers, outputs = np.arange(10), np.linspace(-1, 1, 10, dtype=np.float32)
    fresh.restore(trainer.state_arrays(), trainer.counters())
    assert fresh.adjusted == trainer.adjusted
    assert fresh.clock.of(numbers).any()
    np.testing.assert_array_equal(fresh.clock.of(numbers), trainer.clock.of(numbers))
    np.testing.assert_array_equal(fresh.values.expand(outputs), trainer.values.expand(outputs))
    assert not np.array_equal(fresh.values.expand(outputs), outputs)


@pytest.mark.parametrize("network", NETWORKS)
def test_a_state_of_the_first_version_begins_its_new_statistics_afresh(network: str) -> None:
    donor, trainer = make(network), make(network, seed=5)
    for seed in range(3):
        donor.update(games(seed))
    old = donor.state_arrays()
    for name in NEW:
        del old[name]
    trainer.update(games(7))  # what it has learned itself must not remain
    trainer.restore(old, donor.counters())
    restored = trainer.state_arrays()
    for name, array in old.items():
        np.testing.assert_array_equal(restored[name], array, err_msg=name)
    assert trainer.adjusted == Adjusted()
    assert (trainer.values.mean, trainer.values.spread) == (0, 1)  # its values were in units of the rewards
    assert not restored["value_statistics"].any()
    assert not restored["clock_statistics"].any()
    trainer.update(games(8))
    assert trainer.counters()["updates"] == 4
    other = make(network)  # a new trainer does not share memory with the trainer that continues from it
    other.restore(old, donor.counters())
    assert not other.state_arrays()["clock_statistics"].any()
    assert not other.state_arrays()["value_statistics"].any()


def test_values_that_a_state_of_the_first_version_has_learned_stay_what_they_are() -> None:
    trainer = make(learning_rate=1e-6)
    trainer.network.views(trainer.network.parameters)["head"][-1, -1] = 10
    old = {name: array for name, array in trainer.state_arrays().items() if name not in NEW}
    trainer.restore(old, {"updates": 20, "games": 100, "steps": 5000, "adam_steps": 80})
    state = np.ones((1, S), np.float32)
    rng = np.random.default_rng(0)
    for _ in range(8):
        rewards = rng.normal(10, 3, (50, 1)).astype(np.float32)
        trainer.update([Episode(state, np.array([0]), reward) for reward in rewards])
        _, outputs = trainer.network.forward(trainer.normalizer.apply(state))
        assert trainer.values.expand(outputs)[0] == pytest.approx(10, abs=0.5)


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


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("reward", [3e38, -3e38])
def test_a_huge_reward_can_be_learned_from(network: str, reward: float) -> None:
    trainer = make(network)
    single = Episode(np.ones((1, S), np.float32), np.array([0]), np.array([reward], np.float32))
    trainer.update([*games(0), single])
    for seed in range(1, 4):
        trainer.update(games(seed))
    assert all(np.isfinite(array).all() for array in trainer.state_arrays().values())


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


def test_a_state_that_adjusted_less_keeps_what_it_has_and_begins_the_rest_afresh() -> None:
    donor, trainer = make(), make(seed=5)
    for seed in range(3):
        donor.update(games(seed))
    old = donor.state_arrays()
    old["adjusted"] = old["adjusted"][:3]
    trainer.restore(old, donor.counters())
    assert trainer.adjusted == donor.adjusted._replace(signal=Adjusted().signal)
