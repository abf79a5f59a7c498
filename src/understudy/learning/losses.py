"""The objectives and their gradients with respect to logits and values, as pure functions for any network.

A batch has N rows; there are A actions. Every loss is a mean over the rows. Policy losses come with their derivatives
with respect to log π of the chosen actions; `through_softmax` turns these into gradients with respect to the logits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.networks.network import Floats, Integers

# e^20 lies far outside any clip range; much beyond it, float32 overflows.
MAX_LOG_RATIO = 20.0
_FINITE = -1e30  # replaces the −inf of an illegal action where it is multiplied by its probability, 0


class Policy(NamedTuple):
    """Log-probabilities and probabilities of the actions (N, A); −inf and 0 for illegal ones."""

    log_probs: Floats
    probs: Floats


class PolicyLoss(NamedTuple):
    """A policy objective, to be minimised. `kl` estimates KL(old ‖ new); without an old policy it is 0."""

    loss: float
    d_log_probs: Floats  # (N,)
    kl: float = 0.0
    clip_fraction: float = 0.0


def log_softmax(logits: Floats, legal: NDArray[np.bool_] | None = None, out: Floats | None = None) -> Floats:
    """log p_j = z_j − log Σ exp z over the legal actions, (N, A); −inf for illegal ones.

    Each row needs a legal action. The logits may lack the last actions if these are legal in no row.
    """
    return _softmax(logits, legal, out)[0]


def softmax(logits: Floats, legal: NDArray[np.bool_] | None = None) -> Policy:
    """`log_softmax` and its exponential, both (N, A)."""
    log_probs, probs, total = _softmax(logits, legal, None)
    np.divide(probs, total, out=probs)
    return Policy(log_probs, probs)


def chosen(log_probs: Floats, actions: Integers) -> Floats:
    """The entries (N,) of `log_probs` (N, A) for one action per row, (N,)."""
    picked: Floats = log_probs[np.arange(len(actions)), actions]
    return picked


def policy_gradient(log_probs: Floats, actions: Integers, advantages: Floats) -> PolicyLoss:
    """REINFORCE (Williams 1992): −E[A·log π(a)], from log π (N, A), actions (N,) and advantages A (N,)."""
    n = len(actions)
    return PolicyLoss(-float(np.dot(advantages, chosen(log_probs, actions))) / n, advantages * (-1 / n))


def ppo_clip(
    log_probs: Floats, actions: Integers, advantages: Floats, old_log_probs: Floats, clip: float
) -> PolicyLoss:
    """PPO (Schulman et al. 2017): −E[min(r·A, clip(r, 1−ε, 1+ε)·A)] with r = π(a)/π_old(a) and ε = `clip`.

    From log π (N, A) and, each (N,), actions a, advantages A and log π_old of the actions.
    """
    n = len(actions)
    log_ratio = chosen(log_probs, actions)
    log_ratio -= old_log_probs
    np.minimum(log_ratio, MAX_LOG_RATIO, out=log_ratio)
    ratio = np.exp(log_ratio)
    within = np.maximum(ratio, 1 - clip)
    np.minimum(within, 1 + clip, out=within)
    clip_fraction = np.count_nonzero(within != ratio) / n
    surrogate = ratio * advantages
    within *= advantages
    # ∂(r·A)/∂log π(a) = r·A; where the clipped branch is the smaller one, the objective is flat.
    d_log_probs = surrogate * (surrogate <= within)
    d_log_probs *= -1 / n
    loss = -float(np.add.reduce(np.minimum(surrogate, within, out=within))) / n
    ratio -= 1
    ratio -= log_ratio
    kl = float(np.add.reduce(ratio)) / n  # Schulman's k3: never negative, low variance
    return PolicyLoss(loss, d_log_probs, kl, clip_fraction)


def through_softmax(
    policy: Policy, actions: Integers, d_log_probs: Floats, entropy_weight: float = 0.0
) -> tuple[float, Floats]:
    """The mean entropy H, and the gradient (N, A) of loss − `entropy_weight`·H with respect to the logits.

    `d_log_probs` (N,) are the derivatives of the loss with respect to log π of the actions a (N,).
    ∂log π(a)/∂z_j = 1[j = a] − p_j, and ∂H/∂z_j = −p_j·(log p_j + H).
    """
    n = len(actions)
    out = np.maximum(policy.log_probs, _FINITE)
    out *= policy.probs
    negative_h = np.add.reduce(out, axis=1)
    mean_entropy = -float(np.add.reduce(negative_h)) / n
    out *= entropy_weight / n
    negative_h *= entropy_weight / n
    negative_h += d_log_probs
    out -= policy.probs * negative_h[:, None]
    out[np.arange(n), actions] += d_log_probs
    return mean_entropy, out


def value_loss(values: Floats, targets: Floats) -> tuple[float, Floats]:
    """½·E[(V − target)²] and its gradient (N,) with respect to the values, from values and targets (N,)."""
    n = len(values)
    error = values - targets
    loss = 0.5 * float(np.dot(error, error)) / n
    error *= 1 / n
    return loss, error


def _softmax(logits: Floats, legal: NDArray[np.bool_] | None, out: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Log-probabilities (N, A), unnormalised probabilities (N, A), and the sums (N, 1) of the latter."""
    if legal is not None:
        logits = np.where(legal[:, : logits.shape[1]], logits, logits.dtype.type(-np.inf))
    # Calling ufunc.reduce directly avoids the Python overhead of the array methods, which counts for small minibatches.
    out = np.subtract(logits, np.maximum.reduce(logits, axis=1, keepdims=True), out=out)
    weights = np.exp(out)
    total = np.add.reduce(weights, axis=1, keepdims=True)
    np.subtract(out, np.log(total), out=out)
    return out, weights, total
