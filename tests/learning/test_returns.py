from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.learning.returns import (
    discounted_returns,
    effective_sample_size,
    explained_variance,
    gae,
    less_common_mode,
    spare_improbable,
    vtrace,
)
from understudy.settings import TrainingSettings

GAMMA, LAM = 0.9, 0.8


class Played:
    """Three episodes of 1, 5 and 12 decisions, the second of them cut."""

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.starts = np.array([0, 1, 6])
        self.bootstraps = np.array([0.0, 2.5, 0.0])
        self.rewards = rng.normal(size=18).astype(np.float32)
        self.values = rng.normal(size=18).astype(np.float32)
        self.log_ratios = rng.normal(scale=0.7, size=18).astype(np.float32)

    def episodes(self) -> list[tuple[slice, float]]:
        spans = [slice(0, 1), slice(1, 6), slice(6, 18)]
        return list(zip(spans, self.bootstraps.tolist(), strict=True))


def test_the_reward_of_an_action_is_credited_to_that_action() -> None:
    rewards = np.array([1, 0, 0], np.float32)
    np.testing.assert_array_equal(discounted_returns(rewards, 0.5), [1, 0, 0])
    np.testing.assert_array_equal(discounted_returns(rewards[::-1], 0.5), [0.25, 0.5, 1])
    zeros = np.zeros(3, np.float32)
    np.testing.assert_array_equal(gae(rewards, zeros, 0.0, 0.5, 1.0), [1, 0, 0])
    np.testing.assert_array_equal(vtrace(rewards, zeros, 0.0, zeros, 0.5, 1.0, 1.0).advantages, [1, 0, 0])


def test_returns_are_the_explicit_discounted_sums() -> None:
    p = Played()
    expected = []
    for span, bootstrap in p.episodes():
        r = [*p.rewards[span].tolist(), bootstrap]
        expected += [sum(GAMMA ** (k - t) * r[k] for k in range(t, len(r))) for t in range(len(r) - 1)]
    np.testing.assert_allclose(discounted_returns(p.rewards, GAMMA, p.bootstraps, p.starts), expected, rtol=1e-5)


def test_gae_is_the_explicit_sum_of_td_errors() -> None:
    p = Played()
    expected = []
    for span, bootstrap in p.episodes():
        r, v = p.rewards[span].tolist(), [*p.values[span].tolist(), bootstrap]
        delta = [r[t] + GAMMA * v[t + 1] - v[t] for t in range(len(r))]
        expected += [sum((GAMMA * LAM) ** (k - t) * delta[k] for k in range(t, len(r))) for t in range(len(r))]
    actual = gae(p.rewards, p.values, p.bootstraps, GAMMA, LAM, p.starts)
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-6)


def test_gae_of_constant_rewards_has_its_closed_form() -> None:
    T = 40
    advantages = gae(np.ones(T, np.float32), np.zeros(T, np.float32), 0.0, GAMMA, LAM)
    remaining = T - np.arange(T)
    np.testing.assert_allclose(advantages, (1 - (GAMMA * LAM) ** remaining) / (1 - GAMMA * LAM), rtol=1e-6)


@pytest.mark.parametrize("rho_max", [1.0, 2.0, 0.5])
def test_vtrace_is_the_formula_of_the_paper_with_explicit_sums_and_products(rho_max: float) -> None:
    p, c_max = Played(), min(rho_max, 1 / (GAMMA * LAM))
    values: list[float] = []
    advantages: list[float] = []
    for span, bootstrap in p.episodes():
        r, V = p.rewards[span].tolist(), [*p.values[span].tolist(), bootstrap]
        ratio = np.exp(p.log_ratios[span].astype(np.float64)).tolist()
        n = len(r)
        rho = [min(rho_max, x) for x in ratio]
        c = [LAM * min(c_max, x) for x in ratio]
        delta = [rho[t] * (r[t] + GAMMA * V[t + 1] - V[t]) for t in range(n)]
        vs = [V[s] + sum(GAMMA ** (t - s) * math.prod(c[s:t]) * delta[t] for t in range(s, n)) for s in range(n)]
        vs.append(bootstrap)
        values += vs[:-1]
        advantages += [rho[s] * (r[s] + GAMMA * (LAM * vs[s + 1] + (1 - LAM) * V[s + 1]) - V[s]) for s in range(n)]
    actual = vtrace(p.rewards, p.values, p.bootstraps, p.log_ratios, GAMMA, LAM, rho_max, p.starts)
    np.testing.assert_allclose(actual.values, values, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(actual.advantages, advantages, rtol=1e-4, atol=1e-6)


def test_vtrace_on_policy_is_gae() -> None:
    p = Played()
    advantages = gae(p.rewards, p.values, p.bootstraps, GAMMA, LAM, p.starts)
    on_policy = np.zeros_like(p.log_ratios)
    targets = vtrace(p.rewards, p.values, p.bootstraps, on_policy, GAMMA, LAM, 1.0, starts=p.starts)
    np.testing.assert_allclose(targets.advantages, advantages, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(targets.values, p.values + advantages, rtol=1e-6, atol=1e-6)


def test_episodes_end_to_end_give_what_each_gives_alone() -> None:
    p = Played()
    together = vtrace(p.rewards, p.values, p.bootstraps, p.log_ratios, GAMMA, LAM, 1.0, starts=p.starts)
    for span, bootstrap in p.episodes():
        alone = vtrace(p.rewards[span], p.values[span], bootstrap, p.log_ratios[span], GAMMA, LAM, 1.0)
        np.testing.assert_array_equal(together.values[span], alone.values)
        np.testing.assert_array_equal(together.advantages[span], alone.advantages)


def test_many_episodes_side_by_side_give_what_each_gives_alone() -> None:
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 9, 400)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    rewards, values, log_ratios = rng.normal(size=(3, ends[-1]))
    bootstraps = rng.normal(size=400)
    together = vtrace(rewards, values, bootstraps, log_ratios, 0.9, 0.8, 1.0, starts=starts)
    for a, b, bootstrap, n in zip(starts, ends, bootstraps, range(400), strict=True):
        alone = vtrace(rewards[a:b], values[a:b], bootstrap, log_ratios[a:b], 0.9, 0.8, 1.0)
        np.testing.assert_array_equal(together.values[a:b], alone.values, err_msg=str(n))
        np.testing.assert_array_equal(together.advantages[a:b], alone.advantages, err_msg=str(n))


def test_experience_of_a_policy_that_was_almost_this_one_counts_in_full() -> None:
    rng = np.random.default_rng(0)
    old = np.array([0.3, 0.5, 0.2])
    new = np.array([0.4, 0.35, 0.25])
    actions = rng.choice(3, 20_000, p=old)
    ratios = np.log(new / old)[actions]
    ones, zeros = np.ones(len(actions), np.float32), np.zeros(len(actions), np.float32)
    advantages = vtrace(ones, zeros, 0.0, ratios, 0.0, LAM, TrainingSettings().rho_max).advantages
    assert advantages.mean() == pytest.approx(1, abs=0.01)  # were they cut at 1, all of them together would count 0.85


def test_a_long_game_that_the_policy_now_finds_likelier_gives_no_huge_targets() -> None:
    n = 1000
    ones, likelier = np.ones(n, np.float32), np.full(n, np.log(1.9))
    targets = vtrace(ones, np.zeros(n, np.float32), 0.0, likelier, GAMMA, LAM, TrainingSettings().rho_max)
    assert np.abs(targets.values).max() <= 2 * n
    assert np.abs(targets.advantages).max() <= 4 * n


def test_vtrace_survives_ratios_beyond_all_floats() -> None:
    p = Played()
    p.log_ratios[3], p.log_ratios[4] = 5000, -5000
    targets = vtrace(p.rewards, p.values, p.bootstraps, p.log_ratios, GAMMA, LAM, 1.0, starts=p.starts)
    assert np.isfinite(targets.values).all()
    assert targets.advantages[4] == 0


def test_results_are_float32() -> None:
    p = Played()
    targets = vtrace(p.rewards, p.values, p.bootstraps, p.log_ratios, GAMMA, LAM, 1.0, starts=p.starts)
    others = discounted_returns(p.rewards, GAMMA), gae(p.rewards, p.values, 0.0, GAMMA, LAM)
    assert {array.dtype for array in (*targets, *others)} == {np.dtype(np.float32)}


def test_a_game_loses_what_the_other_games_have_in_common_each_weighted_by_its_ratio() -> None:
    rng = np.random.default_rng(0)
    starts, ends = [0, 1, 6, 18], [1, 6, 18, 25]
    advantages = rng.normal(3, 2, 25).astype(np.float32)
    log_ratios = rng.normal(scale=0.7, size=25).astype(np.float32)
    rho = [min(math.exp(x), 1.2) for x in log_ratios.tolist()]
    expected = []
    for game in range(4):
        total = weight = 0.0
        for other in range(4):
            if other != game:
                total += sum(advantages[starts[other] : ends[other]].tolist())
                weight += sum(rho[starts[other] : ends[other]])
        common = total / weight * 3 / (3 + 4)
        expected += [advantages[t] - rho[t] * common for t in range(starts[game], ends[game])]
    less = less_common_mode(advantages, log_ratios, 1.2, np.array(starts))
    assert less.dtype == np.float32
    np.testing.assert_allclose(less, expected, rtol=1e-5, atol=1e-6)


def test_a_game_alone_keeps_its_advantages() -> None:
    p = Played()
    less = less_common_mode(p.rewards, p.log_ratios, 1.0, np.array([0]))
    np.testing.assert_array_equal(less, p.rewards)


def test_nothing_is_taken_off_a_game_because_of_its_own_result() -> None:
    p = Played()
    one = less_common_mode(p.rewards, p.log_ratios, 1.0, p.starts)
    p.rewards[1:6] += 100
    other = less_common_mode(p.rewards, p.log_ratios, 1.0, p.starts)
    np.testing.assert_allclose(other[1:6] - one[1:6], 100, rtol=1e-5)
    assert (other[6:] < one[6:] - 1).all()


def test_what_a_large_batch_has_in_common_is_nearly_all_taken_off() -> None:
    starts, zeros = np.arange(0, 400, 2), np.zeros(400)
    less = less_common_mode(np.full(400, 5, np.float32), zeros, 1.0, starts)
    np.testing.assert_allclose(less, 5 * 4 / (199 + 4), rtol=1e-5)


def test_games_of_which_nothing_counts_leave_the_others_finite() -> None:
    p = Played()
    p.log_ratios[:] = -5000
    targets = vtrace(p.rewards, p.values, p.bootstraps, p.log_ratios, GAMMA, LAM, 1.0, starts=p.starts)
    np.testing.assert_array_equal(less_common_mode(targets.advantages, p.log_ratios, 1.0, p.starts), np.zeros(18))


def test_only_what_would_lower_an_improbable_action_further_is_not_learned() -> None:
    advantages = np.array([-1.0, 1.0, -1.0, 1.0], np.float32)
    log_probs = np.log([0.01, 0.01, 0.03, 0.03])
    np.testing.assert_array_equal(spare_improbable(advantages, log_probs, 0.02), [0, 1, -1, 1])
    np.testing.assert_array_equal(spare_improbable(advantages, log_probs, 0.0), advantages)


def kish(weights: NDArray[np.float64]) -> float:
    return float(weights.sum() ** 2 / (len(weights) * (weights**2).sum()))


def test_effective_sample_size_is_kishs_share() -> None:
    log_ratios = np.random.default_rng(0).normal(size=50).astype(np.float32)
    assert effective_sample_size(log_ratios) == pytest.approx(kish(np.exp(log_ratios.astype(np.float64))))
    assert effective_sample_size(np.zeros(7, np.float32)) == 1
    assert effective_sample_size(np.array([900, 0, 0, 0], np.float32)) == pytest.approx(0.25)


def test_explained_variance_tells_a_perfect_from_a_constant_value_head() -> None:
    targets = np.array([1, 2, 3, 4], np.float32)
    assert explained_variance(targets, targets) == 1
    assert explained_variance(np.full(4, 2.5, np.float32), targets) == 0
    assert explained_variance(-targets, targets) == pytest.approx(-3)
    assert explained_variance(targets, np.ones(4, np.float32)) == 0
