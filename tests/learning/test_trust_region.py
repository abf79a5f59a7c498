from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from understudy.learning.trust_region import (
    FULL_BATCH,
    LEAST_RATE,
    Adjusted,
    SignalMeter,
    adjust,
    cosine,
    kept_share,
    kl_divergence,
    kl_limit,
    worthwhile_batch,
    worthwhile_passes,
)

# The limit


@pytest.mark.parametrize("agreement", [-0.5, 0.0, 0.4, 1.0])
def test_a_full_batch_may_move_the_policy_by_the_target_and_no_batch_by_more(agreement: float) -> None:
    assert kl_limit(0.02, FULL_BATCH, agreement) == 0.02
    assert kl_limit(0.02, 50 * FULL_BATCH, agreement) == 0.02


def test_the_limit_of_a_small_batch_goes_with_the_root_of_its_size_if_batches_have_nothing_in_common() -> None:
    assert kl_limit(0.02, FULL_BATCH // 4, 0.0) == pytest.approx(0.01)
    assert kl_limit(0.02, FULL_BATCH // 16, -0.3) == pytest.approx(0.005)


def test_the_limit_of_a_small_batch_is_that_of_a_full_one_if_all_say_the_same() -> None:
    limits = [kl_limit(0.02, 20, agreement) for agreement in (0.0, 0.2, 0.6, 1.0, 1.5)]
    assert limits == sorted(limits)
    assert limits[-2:] == [0.02, 0.02]


def test_no_target_is_no_limit() -> None:
    assert kl_limit(0.0, 100, 0.5) == 0


# Staying within it


def test_the_kl_of_samples_comes_near_the_exact_one() -> None:
    rng = np.random.default_rng(0)
    old, new = rng.dirichlet(np.full(5, 3.0), 2)
    actions = rng.choice(5, 200_000, p=old)
    exact = float((old * np.log(old / new)).sum())
    assert exact > 0.1
    assert kl_divergence(np.log(new / old)[actions]) == pytest.approx(exact, rel=0.05)


def test_the_kl_of_samples_is_zero_for_the_same_policy_and_never_negative() -> None:
    assert kl_divergence(np.zeros(7, np.float32)) == 0
    for x in (-5.0, -0.01, 0.01, 5.0):
        assert kl_divergence(np.array([x], np.float32)) > 0


def test_a_ratio_beyond_all_floats_has_a_finite_kl() -> None:
    assert math.isfinite(kl_divergence(np.array([5000, 0], np.float32)))


def test_what_is_kept_of_a_step_brings_a_kl_that_grows_with_its_square_within_the_limit() -> None:
    for kl in (0.0201, 0.05, 3.0, 1e9):
        share = kept_share(kl, 0.02)
        assert 0 < share < 1
        assert 0.9 * 0.02 < share**2 * kl < 0.02


@pytest.mark.parametrize("kl", [math.inf, math.nan])
def test_a_tenth_is_kept_of_a_step_whose_kl_is_no_number(kl: float) -> None:
    assert kept_share(kl, 0.02) == 0.1


# What adjusts itself


def test_the_cosine_is_that_of_the_angle() -> None:
    one = np.array([3.0, 0.0, 4.0])
    assert cosine(one, 2 * one) == pytest.approx(1)
    assert cosine(one, -one) == pytest.approx(-1)
    assert cosine(one, np.array([0.0, 1.0, 0.0])) == 0
    assert cosine(one, np.array([1.0, 0.0, 0.0])) == pytest.approx(0.6)
    assert cosine(one, np.zeros(3)) == 0


def adjusted_by(
    now: Adjusted, *, steps: int = 30, ended_early: bool = False, agreement: float = 0.0, advantage: float = 0.0
) -> Adjusted:
    return adjust(
        now, decisions=FULL_BATCH, steps=steps, ended_early=ended_early, agreement=agreement, advantage=advantage
    )


def test_an_update_that_a_few_steps_took_to_the_limit_lowers_the_rate_to_its_least() -> None:
    now = Adjusted()
    rates = []
    for _ in range(20):
        now = adjusted_by(now, steps=2, ended_early=True)
        rates.append(now.rate)
    assert rates[0] == pytest.approx(1 / 1.5)
    assert rates[-1] == LEAST_RATE
    assert rates == sorted(rates, reverse=True)


def test_where_two_players_learn_from_each_other_only_too_large_steps_lower_the_rate() -> None:
    def next_of(now: Adjusted, *, steps: int, ended_early: bool) -> Adjusted:
        return adjust(
            now,
            decisions=FULL_BATCH,
            steps=steps,
            ended_early=ended_early,
            agreement=0.0,
            advantage=0.0,
            two_players=True,
        )

    now = Adjusted()
    for _ in range(500):
        now = next_of(now, steps=8, ended_early=False)
    assert now.rate == 1
    now = Adjusted(rate=0.5)
    assert next_of(now, steps=8, ended_early=True).rate == 0.5  # many steps that met the limit together
    assert next_of(now, steps=4, ended_early=True).rate == pytest.approx(0.5 / 1.5)
    assert next_of(now, steps=4, ended_early=False).rate == pytest.approx(0.55)
    for _ in range(30):
        now = next_of(now, steps=4, ended_early=True)
    assert now.rate == LEAST_RATE


def test_the_rate_falls_slowly_where_updates_have_nothing_in_common() -> None:
    now = Adjusted()
    for _ in range(50):
        now = adjusted_by(now)
    assert 0.5 < now.rate < 0.7
    small = adjust(Adjusted(), decisions=20, steps=30, ended_early=False, agreement=0.0, advantage=0.0)
    assert 1 > small.rate > adjusted_by(Adjusted()).rate


@pytest.mark.parametrize("sign", [{"agreement": 0.9}, {"advantage": -2.0}], ids=["they agree", "games go worse"])
def test_the_rate_rises_again_where_there_is_something_to_learn(sign: dict[str, Any]) -> None:
    now = Adjusted(rate=LEAST_RATE)
    for _ in range(60):
        now = adjusted_by(now, **sign)
    assert now.rate == 1


def test_the_agreement_is_a_running_mean_of_the_last_updates() -> None:
    now = adjusted_by(Adjusted(), agreement=0.8)
    assert now.agreement == pytest.approx(0.04)
    for _ in range(200):
        now = adjusted_by(now, agreement=0.8)
    assert now.agreement == pytest.approx(0.8, abs=1e-3)


def test_batches_grow_with_what_was_learned_from_up_to_a_full_one() -> None:
    assert [worthwhile_batch(learned, Adjusted()) for learned in (0, 5, 800, 10**9)] == [1, 5, 800, FULL_BATCH]


def test_where_batches_agree_smaller_ones_are_worthwhile() -> None:
    assert worthwhile_batch(10**9, Adjusted(agreement=0.5)) == FULL_BATCH // 4
    assert worthwhile_batch(10**9, Adjusted(agreement=1.0)) == 1
    assert worthwhile_batch(10**9, Adjusted(agreement=-0.5)) == FULL_BATCH


def test_where_the_signal_of_a_minibatch_is_clear_smaller_batches_are_enough() -> None:
    sizes = [worthwhile_batch(10**9, Adjusted(signal=signal)) for signal in (-0.1, 0.0, 0.05, 0.1, 0.2)]
    assert sizes == [FULL_BATCH, FULL_BATCH, FULL_BATCH, FULL_BATCH // 2, FULL_BATCH // 4]
    assert worthwhile_batch(100, Adjusted(signal=0.1)) == 100


def met(gradients: np.ndarray) -> float:
    meter = SignalMeter()
    for gradient in gradients:
        meter.add(gradient)
    found = meter.signal_to_noise
    assert found is not None
    return found


def test_signal_to_noise_is_that_of_one_gradient_whatever_their_scale() -> None:
    rng = np.random.default_rng(0)
    signal, noise = np.ones(50), rng.standard_normal((4000, 50))  # |signal|² is 50, and so is the noise's
    assert met(noise + signal) == pytest.approx(1, rel=0.05)
    assert met(1e-6 * (2 * noise + signal)) == pytest.approx(0.25, rel=0.1)
    assert met(noise) == pytest.approx(0, abs=0.01)
    assert met(np.ones((3, 50))) == 1


def test_few_gradients_of_noise_show_no_signal_in_the_mean() -> None:
    rng = np.random.default_rng(0)
    found = [met(rng.standard_normal((8, 300))) for _ in range(300)]
    assert abs(np.mean(found)) < 0.005


def test_one_gradient_tells_nothing() -> None:
    meter = SignalMeter()
    assert meter.signal_to_noise is None
    meter.add(np.ones(3))
    assert meter.signal_to_noise is None
    before = Adjusted(signal=0.03)
    assert adjusted_by(before).signal == 0.03


def test_noise_is_not_learned_by_heart_in_many_passes_and_a_clear_signal_is_worth_them_all() -> None:
    assert [worthwhile_passes(10, signal) for signal in (-1.0, 0.0, 0.025, 0.05, 5.0)] == [4, 4, 7, 10, 10]
    assert [worthwhile_passes(3, signal) for signal in (0.0, 1.0)] == [3, 3]


def test_the_signal_is_a_running_mean_that_no_single_update_decides() -> None:
    now = adjust(Adjusted(), decisions=FULL_BATCH, steps=30, ended_early=False, agreement=0, advantage=0, signal=1e6)
    assert now.signal < 0.08
    for _ in range(40):
        now = adjust(now, decisions=FULL_BATCH, steps=30, ended_early=False, agreement=0, advantage=0, signal=0.0)
    assert worthwhile_passes(10, now.signal) == 4
