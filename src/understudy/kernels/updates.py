"""The inner loops of an update, each in one pass.

What they compute is what `learning.losses`, `learning.optimizers` and `networks.layers` say, in float32: those are
tested against the papers' formulas, and these against those. `Trainer.compile` puts them to use.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from understudy.kernels import compiled

_Floats = NDArray[np.float32]
_f = np.float32


@compiled
def _softmax(logits: _Floats, legal: NDArray[np.bool_]) -> tuple[_Floats, _Floats]:
    """Log-probabilities and probabilities (A, N), of logits as below; −∞ and 0 for what is not legal."""
    n, n_actions = logits.shape
    log_probs, probs = np.empty((n_actions, n), _f), np.empty((n_actions, n), _f)
    top, total = np.full(n, _f(-np.inf)), np.zeros(n, _f)
    for a in range(n_actions):
        for i in range(n):
            log_probs[a, i] = logits[i, a] if len(legal) == 0 or legal[i, a] else -np.inf
            top[i] = max(top[i], log_probs[a, i])
    for a in range(n_actions):
        for i in range(n):
            log_probs[a, i] -= top[i]
            probs[a, i] = math.exp(log_probs[a, i])
            total[i] += probs[a, i]
    log_total = np.log(total)
    for a in range(n_actions):
        for i in range(n):
            log_probs[a, i] -= log_total[i]
            probs[a, i] /= total[i]
    return log_probs, probs


@compiled
def ppo_objective(
    logits: _Floats,  # (N, A), and so is `legal`; column by column, so that the inner loops run along many rows
    values: _Floats,
    legal: NDArray[np.bool_],  # no rows: everything is
    actions: NDArray[np.int64],
    advantages: _Floats,
    old_log_probs: _Floats,
    targets: _Floats,
    clip: float,
    max_log_ratio: float,
    entropy_weight: float,
    value_weight: float,
) -> tuple[_Floats, _Floats, float, float, float, float, float]:
    """Derivatives by logits and values; policy loss, value loss, entropy, KL and clip fraction."""
    n, n_actions = logits.shape
    share = _f(1 / n)
    low, high, entropy_share, value_share = _f(1 - clip), _f(1 + clip), _f(entropy_weight / n), _f(value_weight / n)
    log_probs, probs = _softmax(logits, legal)
    negative_h, d_taken, d_values = np.zeros(n, _f), np.empty(n, _f), np.empty(n, _f)
    for a in range(n_actions):
        for i in range(n):
            if probs[a, i] != 0:  # else the logarithm may be −∞
                negative_h[i] += log_probs[a, i] * probs[a, i]

    loss, value_loss, entropy, kl, clipped = 0.0, 0.0, 0.0, 0.0, 0
    for i in range(n):
        log_ratio = min(log_probs[actions[i], i] - old_log_probs[i], _f(max_log_ratio))
        ratio = math.exp(log_ratio)
        within = min(max(ratio, low), high)
        surrogate, limited = ratio * advantages[i], within * advantages[i]
        d_taken[i] = -surrogate * share if surrogate <= limited else _f(0)
        loss -= min(surrogate, limited)
        kl += ratio - _f(1) - log_ratio
        clipped += within != ratio
        entropy -= negative_h[i]
        negative_h[i] = negative_h[i] * entropy_share + d_taken[i]
        error = values[i] - targets[i]
        value_loss += error * error
        d_values[i] = error * value_share

    for a in range(n_actions):  # log_probs become the derivatives by the logits
        for i in range(n):
            p = probs[a, i]
            log_probs[a, i] = p * (log_probs[a, i] * entropy_share - negative_h[i]) if p != 0 else _f(0)
    for i in range(n):
        log_probs[actions[i], i] += d_taken[i]
    return log_probs.T, d_values, loss / n, value_loss / (2 * n), entropy / n, kl / n, clipped / n


@compiled
def adam_step(
    parameters: _Floats,
    m: _Floats,
    v: _Floats,
    gradients: _Floats,
    beta1: float,
    beta2: float,
    epsilon: float,
    rate: float,
) -> None:
    """See optimizers.adam_step."""
    for i in range(len(parameters)):
        g = gradients[i]
        m[i] += (g - m[i]) * _f(1 - beta1)
        v[i] += (g * g - v[i]) * _f(1 - beta2)
        parameters[i] -= m[i] / (math.sqrt(v[i]) + _f(epsilon)) * _f(rate)


@compiled
def adam_mini_step(
    parameters: _Floats,
    m: _Floats,
    v: _Floats,
    gradients: _Floats,
    beta1: float,
    beta2: float,
    epsilon: float,
    rate: float,
    bounds: NDArray[np.int64],
) -> None:
    """See optimizers.adam_mini_step."""
    for part in range(len(bounds) - 1):
        first, last = bounds[part], bounds[part + 1]
        sums = np.zeros(16, _f)  # several, so that the compiler can add side by side
        whole = first + (last - first) // 16 * 16
        for i in range(first, whole, 16):
            for k in range(16):
                sums[k] += gradients[i + k] * gradients[i + k]
        for i in range(whole, last):
            sums[0] += gradients[i] * gradients[i]
        square = _f(v[first] + (sums.sum() / _f(last - first) - v[first]) * _f(1 - beta2))
        scale = _f(rate / (math.sqrt(square) + epsilon))
        for i in range(first, last):
            m[i] += (gradients[i] - m[i]) * _f(1 - beta1)
            v[i] = square
            parameters[i] -= m[i] * scale


@cache
def load() -> None:
    """Compile everything, or load what an earlier run left: a few seconds or less, here and not in the first update."""
    rows = np.zeros((2, 2), _f)
    logits, numbers = np.asfortranarray(rows), np.zeros(2, _f)
    no_mask = np.empty((0, 0), np.bool_)
    ppo_objective(logits, numbers, no_mask, np.zeros(2, np.int64), numbers, numbers, numbers, 0.2, 1.0, 0.0, 1.0)
    adam_step(numbers, numbers.copy(), numbers.copy(), numbers, 0.0, 0.0, 1.0, 0.0)
    adam_mini_step(numbers, numbers.copy(), numbers.copy(), numbers, 0.0, 0.0, 1.0, 0.0, np.array([0, 2]))
