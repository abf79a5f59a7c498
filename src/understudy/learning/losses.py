"""The objectives and their gradients by logits and values, as pure functions; any network can use them.

Every loss is a mean over the rows of the batch. Gradients are by the logits, through the softmax.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.networks.network import Floats, Integers

# e^20 lies far outside any clip range; much beyond it, float32 overflows.
_MAX_LOG_RATIO = 20.0
_FINITE = -1e30  # stands in for the −inf of an impossible action where it is multiplied by its probability, 0


class PolicyLoss(NamedTuple):
    """A policy objective, to be minimised. `kl` estimates KL(old ‖ new); without an old policy it is 0."""

    loss: float
    d_logits: Floats
    kl: float = 0.0
    clip_fraction: float = 0.0


def log_softmax(logits: Floats, legal: NDArray[np.bool_] | None = None, out: Floats | None = None) -> Floats:
    """Log-probabilities of the actions (N, A); −inf for illegal ones. Every row needs a legal action.

    The logits may lack the last actions where no row has them among its legal ones.
    """
    if legal is not None:
        logits = np.where(legal[:, : logits.shape[1]], logits, logits.dtype.type(-np.inf))
    # Reductions of ufuncs spare the Python layer of the methods: minibatches are small, and calls count.
    out = np.subtract(logits, np.maximum.reduce(logits, axis=1, keepdims=True), out=out)
    total = np.add.reduce(np.exp(out), axis=1, keepdims=True)
    np.subtract(out, np.log(total, out=total), out=out)
    return out


def chosen(log_probs: Floats, actions: Integers) -> Floats:
    """The entry of each row's action."""
    picked: Floats = log_probs[np.arange(len(actions)), actions]
    return picked


def policy_gradient(log_probs: Floats, actions: Integers, advantages: Floats, out: Floats | None = None) -> PolicyLoss:
    """REINFORCE (Williams 1992): −E[A·log π(a)]."""
    n = len(actions)
    loss = -float(np.dot(advantages, chosen(log_probs, actions))) / n
    return PolicyLoss(loss, _through_softmax(log_probs, actions, advantages * (-1 / n), out))


def ppo_clip(
    log_probs: Floats,
    actions: Integers,
    advantages: Floats,
    old_log_probs: Floats,
    clip: float,
    out: Floats | None = None,
) -> PolicyLoss:
    """PPO (Schulman et al. 2017): −E[min(r·A, clip(r, 1−ε, 1+ε)·A)] with r = π/π_old of the actions taken."""
    n = len(actions)
    log_ratio = chosen(log_probs, actions) - old_log_probs
    np.minimum(log_ratio, _MAX_LOG_RATIO, out=log_ratio)
    ratio = np.exp(log_ratio)
    within = np.minimum(np.maximum(ratio, 1 - clip), 1 + clip)
    surrogate = ratio * advantages
    clipped = within * advantages
    loss = -float(np.add.reduce(np.minimum(surrogate, clipped))) / n
    # ∂(r·A)/∂log π(a) = r·A; where the clipped branch is the smaller one, the objective is flat.
    d_log_prob = surrogate * (surrogate <= clipped) * (-1 / n)
    kl = float(np.add.reduce(ratio - 1 - log_ratio)) / n  # Schulman's k3: never negative, low variance
    clip_fraction = np.count_nonzero(within != ratio) / n
    return PolicyLoss(loss, _through_softmax(log_probs, actions, d_log_prob, out), kl, clip_fraction)


def entropy(log_probs: Floats, out: Floats | None = None) -> tuple[float, Floats]:
    """The mean entropy H of the policy, and its gradient ∂H/∂z_j = −p_j·(log p_j + H)."""
    p = np.exp(log_probs)
    p_log_p = np.maximum(log_probs, _FINITE)
    p_log_p *= p
    negative_h = np.add.reduce(p_log_p, axis=1, keepdims=True)
    p *= negative_h
    out = np.subtract(p, p_log_p, out=out)
    out *= 1 / len(log_probs)
    return -float(np.add.reduce(negative_h, axis=None)) / len(log_probs), out


def value_loss(values: Floats, targets: Floats, out: Floats | None = None) -> tuple[float, Floats]:
    """½·E[(V − target)²] and its gradient by the values."""
    n = len(values)
    error = np.subtract(values, targets, out=out)
    loss = 0.5 * float(np.dot(error, error)) / n
    error *= 1 / n
    return loss, error


def _through_softmax(log_probs: Floats, actions: Integers, d_log_prob: Floats, out: Floats | None) -> Floats:
    """From the derivative by log π(a) to that by the logits: ∂log π(a)/∂z_j = 1[j = a] − p_j."""
    out = np.exp(log_probs, out=out)
    out *= -d_log_prob[:, None]
    out[np.arange(len(actions)), actions] += d_log_prob
    return out
