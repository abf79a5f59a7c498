"""How far an update may move the policy, and the quantities that adapt from update to update."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from understudy.learning.losses import MAX_LOG_RATIO
from understudy.networks.network import Floats

FULL_BATCH = 2048
"""A batch of this many decisions may use all of `target_kl`; smaller batches may use less."""
LEAST_RATE = 0.03
_REMEMBERED = 20  # updates; the horizon of running means
_SAME = 0.2  # an agreement that is not due to chance
_DISAPPOINTED = -0.3  # a mean advantage, in units of the usual size, that is not due to chance either
_DECAY = 0.99  # factor of the learning rate after an update of 2,048 decisions without agreement
_FEW_STEPS = 5  # an update that ended after fewer steps took steps that were too large
_CLEAR = (
    0.05  # signal-to-noise ratio of a minibatch's gradient from which on all passes, and smaller batches, are worth it
)
_FEW_PASSES = 4  # number of passes if the gradient is only noise
_SIGNALS = 8  # updates over which the signal is averaged


class Adjusted(NamedTuple):
    """The quantities that adapt from update to update."""

    rate: float = 1.0
    """A factor of the learning rate and of the entropy weight, from 0.03 to 1."""
    agreement: float = 0.0
    """Running mean of the cosine between policy gradients of successive updates; 0 if they are only noise."""
    advantage: float = 0.0
    """Running mean of the advantages in units of their usual size; negative if games go worse than expected."""
    signal: float = _CLEAR
    """Running mean of the signal-to-noise ratio of a minibatch's policy gradient."""


def kl_limit(target: float, decisions: int, agreement: float) -> float:
    """The KL by which an update of n decisions may move the policy: target · min(1, n / 2048)^((1 − agreement) / 2).

    With fewer decisions there is more noise, so the limit is smaller; it is reduced less if successive batches agree.
    """
    share = min(1.0, decisions / FULL_BATCH)
    return float(target * share ** (0.5 * (1 - min(max(agreement, 0.0), 1.0))))


def cosine(one: Floats, other: Floats) -> float:
    """The cosine of the angle between two vectors; 0 if either is zero."""
    lengths = math.sqrt(float(np.vdot(one, one)) * float(np.vdot(other, other)))
    return float(np.vdot(one, other)) / lengths if lengths > 0 else 0.0


def kl_divergence(log_ratios: Floats) -> float:
    """KL(old ‖ new) = E[r − 1 − log r] (Schulman's k3); log r = log π_new/π_old (N,) of the old policy's actions."""
    x = np.minimum(log_ratios.astype(np.float64), MAX_LOG_RATIO)
    return float((np.exp(x) - 1 - x).mean())


def kept_share(kl: float, limit: float) -> float:
    """The share of a step that meets the limit. For small steps the KL is quadratic, so it is ≈ √(limit / kl)."""
    return 0.95 * math.sqrt(limit / kl) if math.isfinite(kl) else 0.1


class SignalMeter:
    """Measures the signal in the gradients of several minibatches: the part that they have in common."""

    def __init__(self) -> None:
        self._sum: Floats | None = None
        self._squares = 0.0
        self._count = 0

    def add(self, gradient: Floats) -> None:
        """Include the gradient (P,) of one minibatch."""
        self._sum = gradient.astype(np.float64) if self._sum is None else self._sum + gradient
        self._squares += float(np.vdot(gradient, gradient))
        self._count += 1

    @property
    def signal_to_noise(self) -> float | None:
        """|E g|² / Var g, without bias (McCandlish et al. 2018); None for fewer than two minibatches."""
        n = self._count
        if n < 2 or self._sum is None:
            return None
        signal = (float(np.vdot(self._sum, self._sum)) - self._squares) / (n * (n - 1))
        noise = self._squares / n - signal
        return min(signal / noise, 1.0) if noise > 0 else 1.0


def worthwhile_passes(most: int, signal: float) -> int:
    """The number of passes over a batch: from 4, if the gradient is noise, to `most`, if its signal is clear.

    Later passes fit what the first one has already seen; if little of the gradient is signal, they would fit noise.
    """
    least = min(_FEW_PASSES, most)
    return round(least + (most - least) * min(max(signal / _CLEAR, 0.0), 1.0))


def worthwhile_batch(learned: int, now: Adjusted) -> int:
    """The number of decisions that a batch should have after `learned` decisions: at least 1, at most 2,048.

    The first game is learned from at once; then batches double, so that noise averages out: small batches made a policy
    certain of noise. If a minibatch's signal is clear, smaller batches are enough, in inverse proportion to it (the
    noise scale of McCandlish et al. 2018); if successive batches agree, even smaller ones.
    """
    enough = FULL_BATCH * min(1.0, _CLEAR / max(now.signal, 1e-9))
    return max(1, round(min(enough, learned) * (1 - min(max(now.agreement, 0.0), 1.0)) ** 2))


def adjust(
    now: Adjusted,
    *,
    decisions: int,
    steps: int,
    ended_early: bool,
    agreement: float,
    advantage: float,
    signal: float | None = None,
    two_players: bool = False,
) -> Adjusted:
    """The quantities for the next update, from the results of this one.

    The rate falls by 1 % per 2,048 decisions, down to 3 %, so that noise does not erase what was learned. It rises by
    10 % if successive updates agree or games go worse than before, because then there is something to learn. It is
    divided by 1.5 if the KL limit ended the update after fewer than five gradient steps, which were too large.

    If two players learn from each other, the opponent keeps changing, so there is always something to learn: the rate
    falls only for steps that were too large, and otherwise rises up to the limit.
    """
    same = now.agreement + (agreement - now.agreement) / _REMEMBERED
    mean = now.advantage + (advantage - now.advantage) / _REMEMBERED
    if ended_early and steps < _FEW_STEPS:
        factor = 1 / 1.5
    elif two_players:
        factor = 1.0 if ended_early else 1.1
    elif same > _SAME or mean < _DISAPPOINTED:
        factor = 1.1
    else:
        factor = _DECAY ** min(1.0, decisions / FULL_BATCH)
    clear = now.signal if signal is None else now.signal + (min(signal, 4 * _CLEAR) - now.signal) / _SIGNALS
    return Adjusted(min(max(now.rate * factor, LEAST_RATE), 1.0), same, mean, clear)
