from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.acting.sampling import best, draw


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
