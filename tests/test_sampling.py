from __future__ import annotations

import numpy as np
import pytest

from understudy.sampling import best, policy, sample


@pytest.mark.parametrize("actions", [5, 200])  # below and above where NumPy takes over
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("exploration", [0.0, 0.3])
def test_probabilities_are_a_softmax_of_the_legal_actions_mixed_with_chance(
    actions: int, masked: bool, exploration: float
) -> None:
    rng = np.random.default_rng(actions)
    logits = rng.normal(0, 3, actions).astype(np.float32)
    legal = rng.random(actions) < 0.5
    legal[0] = True
    allowed = legal if masked else np.ones(actions, bool)
    softmax = np.exp(logits.astype(float)) * allowed
    expected = (1 - exploration) * softmax / softmax.sum() + exploration * allowed / allowed.sum()
    found = np.array(policy(logits, legal if masked else None, exploration))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert (found[~allowed] == 0).all()
    np.testing.assert_array_equal(found, policy(logits, list(legal) if masked else None, exploration))


@pytest.mark.parametrize("actions", [5, 200])
def test_actions_are_drawn_as_often_as_their_probability_says(actions: int) -> None:
    rng = np.random.default_rng(0)
    legal = np.arange(actions) % 2 == 0
    probabilities = policy(rng.normal(size=actions).astype(np.float32), legal, 0.1)
    draws = 4000
    counts = np.zeros(actions)
    for i in range(draws):
        choice = sample(probabilities, (i + 0.5) / draws)
        assert choice.probability == probabilities[choice.action]
        counts[choice.action] += 1
    np.testing.assert_allclose(counts / draws, probabilities, atol=1.5 / draws)


@pytest.mark.parametrize("actions", [4, 100])
@pytest.mark.parametrize("uniform", [0.0, 0.5, np.nextafter(1.0, 0.0)])
def test_an_impossible_action_is_never_drawn(actions: int, uniform: float) -> None:
    legal = np.zeros(actions, bool)
    legal[1] = True
    probabilities = policy(np.zeros(actions, np.float32), legal, 0.5)
    assert sample(probabilities, uniform) == (1, 1.0)
    assert best(probabilities) == (1, 1.0)


def test_huge_logits_do_not_overflow() -> None:
    found = policy(np.array([3e38, 0, -3e38], np.float32), None, 0.0)
    assert list(found) == [1.0, 0.0, 0.0]
