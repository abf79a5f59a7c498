"""How far one update may move the policy, and what adjusts itself from one update to the next."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from understudy.learning.losses import MAX_LOG_RATIO
from understudy.networks.network import Floats

FULL_BATCH = 2048
"""Decisions whose evidence is worth `target_kl`; fewer are worth less."""
LEAST_RATE = 0.03
_REMEMBERED = 20  # updates
_SAME = 0.2  # an agreement that is no accident
_DISAPPOINTED = -0.3  # a mean advantage, in units of their usual size, that is none either
_DECAY = 0.99  # of the learning rate in an update of 2,048 decisions that found nothing new
_FEW_STEPS = 5  # an update that is over sooner took too large ones
_CLEAR = 0.05  # signal to noise of a minibatch's gradient from which on all passes are worth it
_FEW_PASSES = 4  # that are made where there is nothing but noise
_SIGNALS = 8  # updates over which the signal is averaged


class Adjusted(NamedTuple):
    """What adjusts itself from update to update."""

    rate: float = 1.0
    """A factor of the learning rate and of the weight of the entropy, from 0.03 to 1."""
    agreement: float = 0.0
    """Cosine between the policy gradients of successive updates, in the running mean: 0 if they are all noise."""
    advantage: float = 0.0
    """The mean advantage in units of their usual size, in the running mean: below 0 where the world got worse."""
    signal: float = _CLEAR
    """Signal to noise of the policy gradient of one minibatch, in the running mean."""


def kl_limit(target: float, decisions: int, agreement: float) -> float:
    """The KL that this many decisions may move the policy by: `target` for 2,048 or more.

    Fewer are worth less, as their noise averages out less: by the square root of their number where successive batches
    have nothing in common, by little where batch after batch says the same.
    """
    share = min(1.0, decisions / FULL_BATCH)
    return float(target * share ** (0.5 * (1 - min(max(agreement, 0.0), 1.0))))


def cosine(one: Floats, other: Floats) -> float:
    """The cosine of the angle between two vectors; 0 if either has no length."""
    lengths = math.sqrt(float(np.vdot(one, one)) * float(np.vdot(other, other)))
    return float(np.vdot(one, other)) / lengths if lengths > 0 else 0.0


def kl_divergence(log_ratios: Floats) -> float:
    """KL(old ‖ new) from log new/old of actions that the old policy drew: mean of r − 1 − log r (Schulman's k3)."""
    x = np.minimum(log_ratios.astype(np.float64), MAX_LOG_RATIO)
    return float((np.exp(x) - 1 - x).mean())


def kept_share(kl: float, limit: float) -> float:
    """The share of a step that stays within the limit; for small steps the KL grows with their square."""
    return 0.95 * math.sqrt(limit / kl) if math.isfinite(kl) else 0.1


class SignalMeter:
    """How much of the gradients of several minibatches is signal: what they have in common, by their mean square."""

    def __init__(self) -> None:
        self._sum: Floats | None = None
        self._squares = 0.0
        self._count = 0

    def add(self, gradient: Floats) -> None:
        """Take the gradient of one minibatch into account."""
        self._sum = gradient.astype(np.float64) if self._sum is None else self._sum + gradient
        self._squares += float(np.vdot(gradient, gradient))
        self._count += 1

    @property
    def signal_to_noise(self) -> float | None:
        """|E g|² / Var g, without bias; None if there are too few of them to tell."""
        n = self._count
        if n < 2 or self._sum is None:
            return None
        signal = (float(np.vdot(self._sum, self._sum)) - self._squares) / (n * (n - 1))
        noise = self._squares / n - signal
        return min(signal / noise, 1.0) if noise > 0 else 1.0


def worthwhile_passes(most: int, signal: float) -> int:
    """How many passes over a batch teach more of the game than of the noise in this batch, at most `most`.

    The first pass takes the signal and the noise in proportion. In later ones a network learns by heart what it has
    seen, and where little of the gradient is signal, that is noise.
    """
    least = min(_FEW_PASSES, most)
    return round(least + (most - least) * min(max(signal / _CLEAR, 0.0), 1.0))


def worthwhile_batch(learned: int, agreement: float) -> int:
    """How many decisions a batch should have after this many were learned from, at least 1.

    The first game is learned from at once, then batches double up to 2,048 decisions, so that noise averages out. Small
    batches were seen to make a policy certain of what is noise. Where batch after batch says the same, there is no need
    to wait for that many.
    """
    return max(1, round(min(FULL_BATCH, learned) * (1 - min(max(agreement, 0.0), 1.0)) ** 2))


def adjust(
    now: Adjusted,
    *,
    decisions: int,
    steps: int,
    ended_early: bool,
    agreement: float,
    advantage: float,
    signal: float | None = None,
) -> Adjusted:
    """The factors for the next update, by how this one went.

    Learning rate and entropy fall slowly, to 3 %, so that what was learned does not dissolve in noise. They rise again
    where successive updates agree, or where games go worse than they used to: then there is something to learn. Where
    the limit of the KL ends an update after a few gradient steps, these were too large.
    """
    same = now.agreement + (agreement - now.agreement) / _REMEMBERED
    mean = now.advantage + (advantage - now.advantage) / _REMEMBERED
    if ended_early and steps < _FEW_STEPS:
        factor = 1 / 1.5
    elif same > _SAME or mean < _DISAPPOINTED:
        factor = 1.1
    else:
        factor = _DECAY ** min(1.0, decisions / FULL_BATCH)
    clear = now.signal if signal is None else now.signal + (min(signal, 4 * _CLEAR) - now.signal) / _SIGNALS
    return Adjusted(min(max(now.rate * factor, LEAST_RATE), 1.0), same, mean, clear)
