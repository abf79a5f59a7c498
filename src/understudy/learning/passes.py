"""The gradient steps of an update: passes over its samples, within the trust region."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from understudy.learning.batch import Samples
from understudy.learning.finite import non_finite, quiet
from understudy.learning.losses import (
    chosen,
    log_softmax,
    policy_gradient,
    ppo_clip,
    softmax,
    through_softmax,
    value_loss,
)
from understudy.learning.optimizers import Adam, clip_global_norm
from understudy.learning.trust_region import SignalMeter, cosine, kept_share, kl_divergence
from understudy.networks.network import Floats, Network
from understudy.settings import TrainingSettings

_JUDGED = 1024  # rows on which the KL of an update is measured, if there are many more
_MOST_CUTS = 8  # largest number of reductions of an update
_TOO_FAR = 1.5  # multiple of the limit: a minibatch with this KL ends the update

Found = tuple[float, ...]
"""Policy loss, value loss, entropy, KL and clip fraction."""


class Weights(NamedTuple):
    """The weights of the value loss and of the entropy in the objective."""

    value: float
    entropy: float


class GradientStep(NamedTuple):
    """The measurements of one gradient step."""

    loss: float
    policy_loss: float
    value_loss: float
    entropy: float
    kl: float
    clip_fraction: float
    grad_norm: float
    agreement: float
    """The cosine with Adam's running mean of earlier policy gradients."""


class Passes:
    """Trains a network with Adam on its objective."""

    def __init__(self, network: Network, adam: Adam, settings: TrainingSettings) -> None:
        self._network = network
        self._adam = adam
        self._settings = settings

    def run(
        self,
        samples: Samples,
        weights: Weights,
        limit: float,
        most: int,
        rng: np.random.Generator,
        meter: SignalMeter,
        over: Callable[[], bool],
    ) -> list[list[GradientStep]]:
        """Make the gradient steps: one on the whole batch for REINFORCE; for PPO up to `most` passes over minibatches.

        The passes end when the KL exceeds the limit, and no step begins once `over()` is true. `meter` gets the
        gradients of the first pass.
        """
        if self._settings.algorithm == "reinforce":
            return [[self._gradient_step(samples, weights, meter)]]
        passes: list[list[GradientStep]] = []
        for number in range(most):
            steps: list[GradientStep] = []
            passes.append(steps)
            for part in samples.minibatches(self._settings.minibatch, rng):
                steps.append(self._gradient_step(part, weights, None if number else meter))
                too_far = 0 < _TOO_FAR * limit < steps[-1].kl
                if too_far or over():
                    return passes
            if 0 < limit < _mean_kl(steps):
                break
        return passes

    def _gradient_step(self, samples: Samples, weights: Weights, meter: SignalMeter | None) -> GradientStep:
        n = len(samples.actions)

        def objective(rows: slice, logits: Floats, values: Floats) -> tuple[Floats, Floats, Found]:
            if samples.rows is not None:  # nothing is learned from the other rows, which are context
                taken = samples.rows
                d_taken, d_values_taken, found = self._objective(samples, logits[taken], values[taken], weights)
                d_logits, d_values = np.zeros_like(logits), np.zeros_like(values)
                d_logits[taken], d_values[taken] = d_taken, d_values_taken
                return d_logits, d_values, found
            if len(values) == n:
                return self._objective(samples, logits, values, weights)
            with quiet():  # repeated here because other threads do not inherit it
                d_logits, d_values, found = self._objective(samples.part(rows), logits, values, weights)
            share = len(values) / n  # the objective is a mean over all rows
            d_logits *= share
            d_values *= share
            return d_logits, d_values, tuple(share * number for number in found)

        parts = self._network.differentiate(samples.states, samples.starts, objective)
        found = parts[0] if len(parts) == 1 else tuple(sum(numbers) for numbers in zip(*parts, strict=True))
        policy_loss, value, mean_entropy, kl, clip_fraction = found
        if meter is not None:
            meter.add(self._network.policy_part(self._network.gradients))
        grad_norm = clip_global_norm(self._network.gradients, self._settings.max_grad_norm)
        for what, number in (("the policy loss", policy_loss), ("the value loss", value), ("the gradient", grad_norm)):
            if not math.isfinite(number):
                raise non_finite(what)
        mine, last = (self._network.policy_part(vector) for vector in (self._network.gradients, self._adam.m))
        agreement = cosine(mine, last)
        self._adam.step(self._network.gradients)
        loss = policy_loss + weights.value * value - weights.entropy * mean_entropy
        return GradientStep(loss, policy_loss, value, mean_entropy, kl, clip_fraction, grad_norm, agreement)

    def _objective(
        self, samples: Samples, logits: Floats, values: Floats, weights: Weights
    ) -> tuple[Floats, Floats, Found]:
        """Derivatives with respect to logits and values; policy loss, value loss, entropy, KL and clip fraction."""
        settings = self._settings
        policy = softmax(logits, samples.legal)
        taken, advantages = samples.actions, samples.advantages
        if settings.algorithm == "ppo":
            objective = ppo_clip(policy.log_probs, taken, advantages, samples.old_log_probs, settings.clip)
        else:
            objective = policy_gradient(policy.log_probs, taken, advantages)
        mean_entropy, d_logits = through_softmax(policy, taken, objective.d_log_probs, weights.entropy)
        value, d_values = value_loss(values, samples.targets)
        d_values *= weights.value
        return d_logits, d_values, (objective.loss, value, mean_entropy, objective.kl, objective.clip_fraction)

    def stay_near(self, samples: Samples, before: Floats, limit: float) -> tuple[float, float]:
        """Scale the change of the parameters down until the KL meets the limit; returns the KL and the kept share."""
        if not limit or self._settings.algorithm != "ppo":
            return 0.0, 1.0
        part, share = samples.thinned(_JUDGED), 1.0
        after = self._network.parameters.copy()
        for _ in range(_MOST_CUTS):
            kl = self._kl(part)
            if kl <= limit:
                break
            share *= kept_share(kl, limit)
            np.copyto(self._network.parameters, before + share * (after - before))
        else:  # no share of the change is small enough
            np.copyto(self._network.parameters, before)
            return 0.0, 0.0
        return kl, share

    def _kl(self, samples: Samples) -> float:
        logits, _ = self._network.evaluate(samples.states, samples.starts)
        logits = logits if samples.rows is None else logits[samples.rows]
        return kl_divergence(chosen(log_softmax(logits, samples.legal), samples.actions) - samples.old_log_probs)


def _mean_kl(steps: Sequence[GradientStep]) -> float:
    return sum(step.kl for step in steps) / len(steps)
