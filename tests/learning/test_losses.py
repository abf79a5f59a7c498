from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from understudy.learning.losses import (
    PolicyLoss,
    log_softmax,
    policy_gradient,
    ppo_clip,
    softmax,
    through_softmax,
    value_loss,
)

N, A, CLIP = 40, 5, 0.2
Doubles = NDArray[np.float64]


class Case:
    """A batch with masks, in which every row's own action is legal, and one row has no other."""

    def __init__(self, masked: bool) -> None:
        rng = np.random.default_rng(4)
        self.logits = rng.normal(size=(N, A))
        self.actions = rng.integers(0, A, N)
        self.advantages = rng.normal(size=N)
        self.old_log_probs = -rng.uniform(0.2, 3.0, N)
        self.legal: NDArray[np.bool_] | None = None
        if masked:
            self.legal = rng.random((N, A)) < 0.6
            self.legal[0] = False
            self.legal[np.arange(N), self.actions] = True

    def torch_log_probs(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The logits as a leaf, and the log-probabilities of the actions taken."""
        logits = torch.tensor(self.logits, requires_grad=True)
        masked = logits if self.legal is None else logits.masked_fill(~torch.tensor(self.legal), -math.inf)
        log_probs = torch.log_softmax(masked, dim=1)
        return logits, log_probs[torch.arange(N), torch.tensor(self.actions)]


def by_logits(case: Case, loss: PolicyLoss) -> Doubles:
    """The gradient of a policy loss alone."""
    _, gradient = through_softmax(softmax(case.logits, case.legal), case.actions, loss.d_log_probs)
    return gradient.astype(np.float64)


def entropy(logits: Doubles, legal: NDArray[np.bool_] | None = None) -> tuple[float, Doubles]:
    """The mean entropy, and its gradient alone."""
    nothing = np.zeros(len(logits))
    value, gradient = through_softmax(softmax(logits, legal), np.zeros(len(logits), np.int64), nothing, -1.0)
    return value, gradient.astype(np.float64)


@pytest.fixture(params=[False, True], ids=["all legal", "masked"])
def case(request: pytest.FixtureRequest) -> Case:
    return Case(request.param)


def slopes(f: Callable[[Doubles], float], x: Doubles, step: float = 1e-6) -> Doubles:
    result = np.empty_like(x)
    for index in np.ndindex(x.shape):
        kept = x[index]
        x[index] = kept + step
        above = f(x)
        x[index] = kept - step
        result[index] = (above - f(x)) / (2 * step)
        x[index] = kept
    return result


def test_log_softmax_normalises_over_legal_actions(case: Case) -> None:
    log_probs = log_softmax(case.logits, case.legal)
    for row in range(N):
        legal = range(A) if case.legal is None else np.flatnonzero(case.legal[row]).tolist()
        total = sum(math.exp(case.logits[row, j]) for j in legal)
        for j in range(A):
            expected = case.logits[row, j] - math.log(total) if j in legal else -math.inf
            assert log_probs[row, j] == pytest.approx(expected)


def test_an_illegal_action_has_probability_exactly_zero() -> None:
    case = Case(masked=True)
    assert case.legal is not None
    case.logits[~case.legal] = 1000
    probabilities = np.exp(log_softmax(case.logits, case.legal))
    assert (probabilities[~case.legal] == 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    assert probabilities[0, case.actions[0]] == 1


def test_last_actions_that_are_legal_nowhere_may_be_left_out() -> None:
    logits = np.random.default_rng(0).normal(size=(4, 6))
    legal = np.arange(6) < np.array([[1], [4], [2], [3]])
    np.testing.assert_allclose(log_softmax(logits[:, :4], legal), log_softmax(logits, legal)[:, :4])


def test_log_softmax_stands_logits_of_any_size() -> None:
    logits = np.array([[1e38, 0, -1e38], [0, 0, 0]], np.float32)
    expected = np.array([[1, 0, 0], [1 / 3, 1 / 3, 1 / 3]])
    np.testing.assert_allclose(np.exp(log_softmax(logits)), expected, rtol=1e-6)


def test_log_softmax_does_not_change_the_logits(case: Case) -> None:
    kept = case.logits.copy()
    out = np.empty_like(kept)
    assert log_softmax(case.logits, case.legal, out) is out
    np.testing.assert_array_equal(case.logits, kept)


def test_policy_gradient_has_the_loss_and_slope_of_its_definition(case: Case) -> None:
    def loss(logits: Doubles) -> float:
        log_probs = log_softmax(logits, case.legal)
        return -float(sum(case.advantages[i] * log_probs[i, case.actions[i]] for i in range(N))) / N

    result = policy_gradient(log_softmax(case.logits, case.legal), case.actions, case.advantages)
    assert result.loss == pytest.approx(loss(case.logits))
    np.testing.assert_allclose(by_logits(case, result), slopes(loss, case.logits), atol=1e-8)
    assert (result.kl, result.clip_fraction) == (0, 0)


def test_policy_gradient_agrees_with_autograd(case: Case) -> None:
    logits, log_probs = case.torch_log_probs()
    (-(torch.tensor(case.advantages) * log_probs).mean()).backward()  # type: ignore[no-untyped-call]
    result = policy_gradient(log_softmax(case.logits, case.legal), case.actions, case.advantages)
    assert logits.grad is not None
    np.testing.assert_allclose(by_logits(case, result), logits.grad.numpy(), atol=1e-12)


def clipped_objective(case: Case, logits: Doubles) -> float:
    """The paper's definition, one row at a time."""
    log_probs = log_softmax(logits, case.legal)
    total = 0.0
    for i in range(N):
        ratio = math.exp(log_probs[i, case.actions[i]] - case.old_log_probs[i])
        clipped = min(max(ratio, 1 - CLIP), 1 + CLIP)
        total += min(ratio * case.advantages[i], clipped * case.advantages[i])
    return -total / N


def test_ppo_has_the_loss_and_slope_of_its_definition(case: Case) -> None:
    log_probs = log_softmax(case.logits, case.legal)
    result = ppo_clip(log_probs, case.actions, case.advantages, case.old_log_probs, CLIP)
    assert result.loss == pytest.approx(clipped_objective(case, case.logits))
    expected = slopes(lambda logits: clipped_objective(case, logits), case.logits)
    np.testing.assert_allclose(by_logits(case, result), expected, atol=1e-8)
    flat = (by_logits(case, result) == 0).all(axis=1)
    assert 3 < flat.sum() < N - 3, "the case should have rows on both sides of the clip"


def test_ppo_agrees_with_autograd(case: Case) -> None:
    logits, log_probs = case.torch_log_probs()
    ratio = (log_probs - torch.tensor(case.old_log_probs)).exp()
    advantages = torch.tensor(case.advantages)
    surrogate = torch.minimum(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages)
    (-surrogate.mean()).backward()  # type: ignore[no-untyped-call]
    mine = log_softmax(case.logits, case.legal)
    result = ppo_clip(mine, case.actions, case.advantages, case.old_log_probs, CLIP)
    assert logits.grad is not None
    np.testing.assert_allclose(by_logits(case, result), logits.grad.numpy(), atol=1e-12)


def test_ppo_reports_k3_and_the_share_outside_the_clip(case: Case) -> None:
    log_probs = log_softmax(case.logits, case.legal)
    ratios = [math.exp(log_probs[i, case.actions[i]] - case.old_log_probs[i]) for i in range(N)]
    result = ppo_clip(log_probs, case.actions, case.advantages, case.old_log_probs, CLIP)
    assert result.kl == pytest.approx(sum(r - 1 - math.log(r) for r in ratios) / N)
    assert result.clip_fraction == pytest.approx(sum(abs(r - 1) > CLIP for r in ratios) / N)


def test_ppo_at_the_old_policy_is_the_policy_gradient(case: Case) -> None:
    log_probs = log_softmax(case.logits, case.legal)
    old = log_probs[np.arange(N), case.actions]
    clipped = ppo_clip(log_probs, case.actions, case.advantages, old, CLIP)
    plain = policy_gradient(log_probs, case.actions, case.advantages)
    np.testing.assert_allclose(clipped.d_log_probs, plain.d_log_probs, atol=1e-12)
    assert (clipped.kl, clipped.clip_fraction) == (0, 0)


def test_ppo_stands_ratios_beyond_float32() -> None:
    logits = np.array([[0, -200], [0, -200]], np.float32)
    actions, advantages = np.array([0, 0]), np.array([1, -1], np.float32)
    result = ppo_clip(log_softmax(logits), actions, advantages, np.full(2, -200, np.float32), CLIP)
    assert np.isfinite(through_softmax(softmax(logits), actions, result.d_log_probs)[1]).all()
    assert math.isfinite(result.loss)
    assert math.isfinite(result.kl)


def test_entropy_has_the_value_and_slope_of_its_definition(case: Case) -> None:
    def mean_entropy(logits: Doubles) -> float:
        p = np.exp(log_softmax(logits, case.legal))
        return -math.fsum(x * math.log(x) for x in p.ravel().tolist() if x > 0) / N

    value, gradient = entropy(case.logits, case.legal)
    assert value == pytest.approx(mean_entropy(case.logits))
    np.testing.assert_allclose(gradient, slopes(mean_entropy, case.logits), atol=1e-8)


def test_entropy_agrees_with_autograd() -> None:
    case = Case(masked=False)
    logits = torch.tensor(case.logits, requires_grad=True)
    log_probs = torch.log_softmax(logits, dim=1)
    (-(log_probs.exp() * log_probs).sum(dim=1).mean()).backward()  # type: ignore[no-untyped-call]
    assert logits.grad is not None
    np.testing.assert_allclose(entropy(case.logits)[1], logits.grad.numpy(), atol=1e-12)


def test_following_the_entropy_gradient_flattens_the_policy(case: Case) -> None:
    before, gradient = entropy(case.logits, case.legal)
    assert entropy(case.logits + 0.1 * gradient, case.legal)[0] > before


def test_a_forced_move_has_no_entropy_and_no_gradient() -> None:
    case = Case(masked=True)
    assert case.legal is not None
    value, gradient = entropy(case.logits[:1], case.legal[:1])
    assert value == 0
    np.testing.assert_array_equal(gradient, 0)


def test_illegal_actions_get_no_gradient() -> None:
    case = Case(masked=True)
    assert case.legal is not None
    policy = softmax(case.logits.astype(np.float32), case.legal)
    losses = (
        policy_gradient(policy.log_probs, case.actions, case.advantages),
        ppo_clip(policy.log_probs, case.actions, case.advantages, case.old_log_probs, CLIP),
    )
    results = [through_softmax(policy, case.actions, loss.d_log_probs, 0.01)[1] for loss in losses]
    for gradient in results:
        assert np.isfinite(gradient).all()
        np.testing.assert_array_equal(gradient[~case.legal], 0)


def test_value_loss_is_half_the_mean_squared_error() -> None:
    rng = np.random.default_rng(0)
    values, targets = rng.normal(size=N), rng.normal(size=N)

    def loss(v: Doubles) -> float:
        return float(sum(0.5 * (v[i] - targets[i]) ** 2 for i in range(N))) / N

    value, gradient = value_loss(values, targets)
    assert value == pytest.approx(loss(values))
    np.testing.assert_allclose(gradient, slopes(loss, values), atol=1e-8)
    tensor = torch.tensor(values, requires_grad=True)
    (0.5 * torch.nn.functional.mse_loss(tensor, torch.tensor(targets))).backward()  # type: ignore[no-untyped-call]
    assert tensor.grad is not None
    np.testing.assert_allclose(gradient, tensor.grad.numpy(), atol=1e-12)


def test_a_loss_and_an_entropy_bonus_add_up(case: Case) -> None:
    policy = softmax(case.logits, case.legal)
    loss = ppo_clip(policy.log_probs, case.actions, case.advantages, case.old_log_probs, CLIP)
    kept = policy.log_probs.copy(), policy.probs.copy()
    mean_entropy, gradient = through_softmax(policy, case.actions, loss.d_log_probs, 0.3)
    alone = entropy(case.logits, case.legal)
    assert mean_entropy == alone[0]
    np.testing.assert_allclose(gradient, by_logits(case, loss) - 0.3 * alone[1], atol=1e-12)
    for before, after in zip(kept, policy, strict=True):
        np.testing.assert_array_equal(before, after)


def test_probabilities_are_those_of_the_log_probabilities(case: Case) -> None:
    policy = softmax(case.logits, case.legal)
    np.testing.assert_array_equal(policy.log_probs, log_softmax(case.logits, case.legal))
    np.testing.assert_allclose(policy.probs, np.exp(policy.log_probs), rtol=1e-12)
