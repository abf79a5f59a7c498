"""Statistics of value targets and advantages, and of what is due by the number of a decision."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from learning.small import NETWORKS, make
from understudy.experience.episode import Episode
from understudy.learning import normalizers
from understudy.learning.normalizers import LEAST_SHARE, LIMIT, ClockBaseline, RewardRange, ValueNormalizer
from understudy.networks.factory import model_factory
from understudy.settings import NetworkSettings

Singles = NDArray[np.float32]


def normal(mean: float, spread: float, n: int = 5000, seed: int = 0) -> Singles:
    return np.random.default_rng(seed).normal(mean, spread, n).astype(np.float32)


# Values


def test_normalised_targets_have_mean_zero_and_spread_one_and_expand_to_what_they_were() -> None:
    values = ValueNormalizer()
    targets = normal(10, 3)
    values.update(targets)
    outputs = values.normalize(targets)
    assert outputs.mean() == pytest.approx(0, abs=0.05)
    assert outputs.std() == pytest.approx(1, abs=0.05)
    np.testing.assert_allclose(values.expand(outputs), targets, rtol=1e-5)


KINDS = {
    **NETWORKS,
    "separate": NetworkSettings(hidden=(6,), separate=True),
    "conv": NetworkSettings(policy="conv", image=(2, 2, 1), filters=(3,), kernels=(2,), strides=(1,), hidden=(5,)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_change_leaves_the_values_that_a_network_stands_for_as_they_were(kind: str) -> None:
    rng = np.random.default_rng(0)
    network = model_factory(4, 3, KINDS[kind], rng)
    network.parameters += rng.normal(0, 0.3, network.parameters.size).astype(np.float32)
    states, starts = rng.normal(size=(20, 4)).astype(np.float32), np.array([0, 8])
    values = ValueNormalizer()
    values.update(normal(10, 3))
    logits, outputs = (part.copy() for part in network.forward(states, starts))
    before = values.expand(outputs)
    gain, offset = values.update(normal(10.5, 3.2, 3000, seed=1))
    assert gain != 1
    assert offset != 0
    assert np.abs(values.expand(outputs) - before).max() > 0.1
    network.rescale_value(gain, offset)
    logits_after, outputs_after = network.forward(states, starts)
    np.testing.assert_allclose(values.expand(outputs_after), before, atol=1e-4)
    np.testing.assert_array_equal(logits_after, logits)


def test_a_large_change_leaves_the_network_alone() -> None:
    values = ValueNormalizer()
    assert values.update(normal(10, 3, 20)) == (1, 0)
    assert values.update(normal(1000, 3)) == (1, 0)


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e4, 1e20])
def test_rewards_of_any_scale_have_the_same_normalised_targets(scale: float) -> None:
    one, other = ValueNormalizer(), ValueNormalizer()
    for seed in range(5):
        targets = normal(2, 1, 300, seed)
        factors = one.update(targets), other.update((scale * targets).astype(np.float32))
        if seed:  # before any target, the unit is 1
            np.testing.assert_allclose(*factors, rtol=1e-3, atol=1e-5)
        np.testing.assert_allclose(
            one.normalize(targets), other.normalize((scale * targets).astype(np.float32)), rtol=1e-3, atol=1e-4
        )


@pytest.mark.parametrize("offset", [-5.0, 5.0])
def test_a_constant_in_all_targets_hardly_changes_the_normalised_ones(offset: float) -> None:
    one, other = ValueNormalizer(), ValueNormalizer()
    targets = normal(0, 1, 16000)
    one.update(targets)
    other.update(targets + np.float32(offset))
    np.testing.assert_allclose(
        other.normalize(targets + np.float32(offset)), one.normalize(targets), rtol=0.05, atol=0.05
    )


@pytest.mark.parametrize("wild", [1e9, -1e30])
def test_one_wild_target_hardly_moves_the_statistics(wild: float) -> None:
    values = ValueNormalizer()
    values.update(normal(10, 3))
    mean, spread = values.mean, values.spread
    values.update(np.append(normal(10, 3, 99, seed=1), np.float32(wild)))
    assert values.mean == pytest.approx(mean, abs=0.05 * spread)
    assert values.spread == pytest.approx(spread, rel=0.1)
    assert np.abs(values.normalize(np.array([wild], np.float32))) == LIMIT


def test_targets_of_long_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(normalizers, "VALUE_HORIZON", 2048.0)
    values = ValueNormalizer()
    values.update(normal(0, 1))
    for seed in range(100):
        values.update(normal(3, 0.5, 256, seed))
    assert values.mean == pytest.approx(3, abs=0.1)
    assert values.spread == pytest.approx(0.5, rel=0.3)  # beforehand some targets of 0 are assumed


def test_targets_that_are_all_the_same_keep_their_unit() -> None:
    values = ValueNormalizer()
    values.update(np.zeros(500, np.float32))
    assert (values.mean, values.spread) == (0, 1)


def test_disabled_it_changes_nothing() -> None:
    values = ValueNormalizer(enabled=False)
    targets = normal(10, 3)
    assert values.update(targets) == (1, 0)
    assert values.expand(targets) is targets
    assert (values.mean, values.spread) == (0, 1)


# Advantages


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_advantages_come_in_units_of_their_usual_size_and_are_not_centred(scale: float) -> None:
    values = ValueNormalizer()
    for seed in range(5):
        scaled = values.scale_advantages((scale * normal(1, 1, 500, seed)).astype(np.float32))
        assert np.sqrt(np.square(scaled).mean()) == pytest.approx(1, abs=0.1)
        assert scaled.mean() == pytest.approx(1 / np.sqrt(2), abs=0.1)


def test_a_batch_of_small_advantages_counts_for_less_and_one_of_large_ones_for_no_more() -> None:
    values = ValueNormalizer()
    values.scale_advantages(normal(0, 1))
    small = values.scale_advantages(normal(0, 0.01, 100, seed=1))
    large = values.scale_advantages(normal(0, 5, 100, seed=2))
    assert small.std() == pytest.approx(0.01, rel=0.3)
    assert large.std() == pytest.approx(1, rel=0.05)


def test_one_wild_advantage_does_not_make_all_later_ones_small() -> None:
    values = ValueNormalizer()
    values.scale_advantages(normal(0, 1))
    wild = values.scale_advantages(np.append(normal(0, 1, 99, seed=1), np.float32(1e30)))
    assert np.abs(wild).max() <= LIMIT
    assert values.scale_advantages(normal(0, 1, 100, seed=2)).std() > 0.8


def test_advantages_far_below_their_largest_size_are_quiet_until_they_are_large_again() -> None:
    values = ValueNormalizer()
    values.scale_advantages(normal(0, 1))
    assert values.loudness == 1
    for seed in range(30):
        values.scale_advantages(normal(0, 0.01, 2000, seed))
    assert values.loudness == pytest.approx(0.01 / LEAST_SHARE, rel=0.2)
    values.scale_advantages(normal(0, 1, 100))
    assert values.loudness == 1


def test_no_advantage_at_all_stays_none() -> None:
    np.testing.assert_array_equal(ValueNormalizer().scale_advantages(np.zeros(5, np.float32)), np.zeros(5))


# The clock

NUMBERS = np.arange(40)


def test_the_clock_learns_what_is_due_at_each_decision() -> None:
    clock, rng = ClockBaseline(), np.random.default_rng(0)
    np.testing.assert_array_equal(clock.of(NUMBERS), 0)
    due = 40.0 - NUMBERS
    for _ in range(500):
        clock.update(NUMBERS, due + rng.normal(size=40))
    np.testing.assert_allclose(clock.of(NUMBERS), due, rtol=0.05, atol=0.3)


def test_the_clock_trusts_a_few_games_little_and_forgets_those_of_long_ago() -> None:
    clock = ClockBaseline()
    clock.update(NUMBERS, np.full(40, 9.0))
    np.testing.assert_allclose(clock.of(NUMBERS), 1)  # one game against eight without any difference
    for _ in range(3000):
        clock.update(NUMBERS, np.full(40, -5.0))
    np.testing.assert_allclose(clock.of(NUMBERS), -5, rtol=0.05)


def test_a_decision_that_games_did_not_reach_keeps_what_is_known_of_it() -> None:
    clock = ClockBaseline()
    clock.update(np.tile(NUMBERS, 600), np.full(40 * 600, 9.0))  # a batch of more games than a bin remembers
    known = clock.of(NUMBERS)
    for _ in range(3000):
        clock.update(NUMBERS[:20], np.full(20, -5.0))
    np.testing.assert_array_equal(clock.of(NUMBERS)[20:], known[20:])


def test_early_decisions_have_a_bin_each_and_late_ones_share_theirs() -> None:
    clock = ClockBaseline()
    for number in (63, 64, 10**6, 10**7):
        clock.update(np.array([number]), np.array([1.0]))
    assert clock.of(np.array([62]))[0] == 0
    assert clock.of(np.array([63]))[0] == pytest.approx(1 / 9)
    assert clock.of(np.array([69]))[0] == pytest.approx(1 / 9)  # with 64
    assert clock.of(np.array([10**8]))[0] == pytest.approx(2 / 10)  # with all that are as late


def test_the_clock_judges_a_batch_by_earlier_ones_only(monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    of, update = ClockBaseline.of, ClockBaseline.update

    def asked(clock: ClockBaseline, numbers: NDArray[np.int64]) -> NDArray[np.floating]:
        order.append("of")
        return of(clock, numbers)

    def updated(clock: ClockBaseline, numbers: NDArray[np.int64], residuals: NDArray[np.floating]) -> None:
        order.append("update")
        update(clock, numbers, residuals)

    monkeypatch.setattr(ClockBaseline, "of", asked)
    monkeypatch.setattr(ClockBaseline, "update", updated)
    trainer = make(gamma=1.0)
    game = Episode(np.zeros((10, 4), np.float32), np.zeros(10, np.int64), np.ones(10, np.float32))
    for _ in range(3):
        trainer.update([game])
    assert order == ["of", "update"] * 3


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["ppo", "reinforce"])
def test_in_a_game_of_fixed_length_advantages_vanish_though_states_do_not_tell_the_time(algorithm: str) -> None:
    trainer = make(algorithm=algorithm, gamma=1.0)
    game = Episode(np.zeros((30, 4), np.float32), np.zeros(30, np.int64), np.ones(30, np.float32))
    for _ in range(150):
        trainer.update([game] * 4)
    numbers = np.arange(30)
    outputs = trainer.network.forward(trainer.normalizer.apply(game.states))[1]
    expected = trainer.values.expand(outputs) + trainer.clock.of(numbers)
    np.testing.assert_allclose(expected, 30 - numbers, atol=1.0)


# What rewards allow


def rewards(*numbers: float) -> Singles:
    return np.array(numbers, np.float32)


def test_before_any_reward_a_state_may_be_worth_anything() -> None:
    assert RewardRange().bounds(0.9) == (-np.inf, np.inf)


def test_a_state_of_a_game_without_end_is_worth_its_least_to_its_largest_reward_forever() -> None:
    seen = RewardRange()
    seen.update(rewards(2, 3), ended=False)
    seen.update(rewards(2.5), ended=False)
    assert seen.bounds(0.9) == pytest.approx((20, 30))


@pytest.mark.parametrize(("low", "high", "bounds"), [(2, 3, (2, 30)), (-3, -2, (-30, -2)), (-1, 1, (-10, 10))])
def test_a_game_that_may_end_can_also_stop_after_one_reward(
    low: float, high: float, bounds: tuple[float, float]
) -> None:
    seen = RewardRange()
    seen.update(rewards(low, high), ended=False)
    seen.update(rewards(low), ended=True)
    assert seen.bounds(0.9) == pytest.approx(bounds)


def test_without_a_discount_nothing_bounds_a_game() -> None:
    seen = RewardRange()
    seen.update(rewards(1), ended=True)
    assert seen.bounds(1.0) == (-np.inf, np.inf)


def test_the_target_assumed_at_first_is_one_that_the_rewards_allow() -> None:
    trainer = make(gamma=0.9)
    states = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    for _ in range(3):
        varied = np.tile(rewards(99, 101), 4)
        trainer.update([Episode(states[:-1], np.zeros(8, np.int64), varied, final_state=states[-1])])
    assert trainer.values.mean == pytest.approx(1000, rel=0.01)
    assert trainer.values.spread < 50


def test_while_all_rewards_are_equal_an_end_may_be_what_makes_a_difference() -> None:
    seen = RewardRange()
    seen.update(rewards(-1, -1), ended=False)
    assert seen.bounds(0.9) == pytest.approx((-10, -1))


def test_a_spread_that_shrinks_to_nothing_is_taken_for_noise() -> None:
    values = ValueNormalizer()
    values.update(normal(10, 3))
    values.scale_advantages(normal(0, 2))
    for _ in range(60):
        values.update(normal(10, 1e-6))
        scaled = values.scale_advantages(normal(0, 1e-6))
    assert values.spread == pytest.approx(LEAST_SHARE * 3, rel=0.05)
    assert np.abs(scaled).max() < 0.01


def test_a_spread_that_returns_leaves_the_values_that_a_network_stands_for_as_they_were() -> None:
    values = ValueNormalizer()
    for _ in range(20):
        values.update(normal(10, 1))
    mean, spread = values.mean, values.spread
    gain, offset = values.update(normal(0, 15))
    assert gain < 0.5
    assert values.mean + values.spread * (gain * 2 + offset) == pytest.approx(mean + spread * 2)
