from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.acting.sampling import best, best_all, draw, draw_all, probabilities


def expected_policy(logits: NDArray[np.float32], allowed: NDArray[np.bool_], exploration: float) -> NDArray[np.float64]:
    softmax = np.exp(logits.astype(float) - float(logits.max())) * allowed
    mixed: NDArray[np.float64] = (1 - exploration) * softmax / softmax.sum() + exploration * allowed / allowed.sum()
    return mixed


@pytest.mark.parametrize("actions", [5, 200])  # below and above where NumPy takes over
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("exploration", [0.0, 0.3, 1.0])
def test_actions_are_drawn_as_often_as_the_mixed_policy_says(actions: int, masked: bool, exploration: float) -> None:
    rng = np.random.default_rng(actions)
    logits = rng.normal(0, 2, actions).astype(np.float32)
    legal = np.arange(actions) % 2 == 0
    policy = expected_policy(logits, legal if masked else np.ones(actions, bool), exploration)
    draws = 4000
    counts = np.zeros(actions)
    for i in range(draws):
        choice = draw(logits, legal if masked else None, exploration, (i + 0.5) / draws)
        assert choice.probability == pytest.approx(policy[choice.action], rel=1e-6)
        counts[choice.action] += 1
    np.testing.assert_allclose(counts / draws, policy, atol=2.5 / draws)


@pytest.mark.parametrize("actions", [4, 100])
@pytest.mark.parametrize("exploration", [0.0, 0.5])
@pytest.mark.parametrize("uniform", [0.0, 0.5, np.nextafter(1.0, 0.0)])
def test_an_illegal_action_is_never_drawn(actions: int, exploration: float, uniform: float) -> None:
    legal = np.zeros(actions, bool)
    legal[1] = True
    for mask in (legal, legal.tolist()):
        assert draw(np.zeros(actions, np.float32), mask, exploration, uniform) == (1, 1.0)
        assert best(np.zeros(actions, np.float32), mask) == (1, 1.0)


@pytest.mark.parametrize("uniform", [0.0, 0.5, np.nextafter(1.0, 0.0)])
def test_an_action_of_probability_zero_is_never_drawn(uniform: float) -> None:
    assert draw(np.array([-3e38, 3e38, 0, -3e38], np.float32), None, 0.0, uniform) == (1, 1.0)


def test_the_best_action_is_the_most_probable_legal_one() -> None:
    logits = np.array([1.0, 5.0, 3.0, 3.0], np.float32)
    assert best(logits, None).action == 1
    choice = best(logits, [True, False, True, True])
    assert choice.action == 2
    assert choice.probability == pytest.approx(np.exp(3) / (np.exp(1) + 2 * np.exp(3)))


def test_actions_are_drawn_with_the_probability_that_is_recorded() -> None:
    rng = np.random.default_rng(0)
    logits = np.array([[0.0, 1.0, 2.0, -1.0]], np.float32).repeat(60_000, axis=0)
    legal = np.array([[True, True, False, True]]).repeat(60_000, axis=0)
    for exploration in (0.0, 0.3):
        actions, log_probs = draw_all(logits, legal, exploration, rng)
        shares = np.bincount(actions, minlength=4) / len(actions)
        weights = np.exp([0.0, 1.0, -np.inf, -1.0])
        expected = (1 - exploration) * weights / weights.sum() + exploration * np.array([1, 1, 0, 1]) / 3
        np.testing.assert_allclose(shares, expected, atol=0.01)
        np.testing.assert_allclose(np.exp(log_probs), expected[actions], atol=1e-5)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("exploration", [0.0, 0.3])
def test_all_samplers_mean_the_same_probabilities(masked: bool, exploration: float) -> None:
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 2, (30, 7)).astype(np.float32)
    legal = rng.random((30, 7)) < 0.6 if masked else np.ones((30, 7), bool)
    legal[:, 3] = True
    mask = legal if masked else None
    policy = probabilities(logits, mask, exploration)
    for row in range(30):
        np.testing.assert_allclose(policy[row], expected_policy(logits[row], legal[row], exploration), rtol=1e-6)
        choice = draw(logits[row], legal[row] if masked else None, exploration, rng.random())
        assert choice.probability == pytest.approx(policy[row, choice.action], rel=1e-6)
    actions, log_probs = draw_all(logits, mask, exploration, rng)
    np.testing.assert_allclose(np.exp(log_probs), policy[np.arange(30), actions], rtol=1e-5)
    assert best_all(logits, mask).tolist() == [best(logits[i], legal[i]).action for i in range(30)]


def test_logits_may_lack_actions_that_no_row_allows() -> None:
    logits, legal = np.array([[0.0, np.log(3)]], np.float32), np.array([[True, True, False]])
    assert best_all(logits, legal).tolist() == [1]
    assert probabilities(logits, legal, 0.5)[0] == pytest.approx([0.375, 0.625])
