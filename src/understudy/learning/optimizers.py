"""Adam (Kingma & Ba 2015) and global-norm clipping, on flat vectors, in place."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from understudy.networks.network import Floats, Integers

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-5
LEAST_STEP = 0.1  # smallest share of the initial learning rate: after weeks, it still adapts to a new opponent


class Adam:
    """Adam for one vector of P parameters. Its state is `m` (P,), `v` (P,) and `steps`.

    With `parts`, the lengths of the parts of the vector, all parameters of a part share one scale: `v` is the running
    mean of their squared gradients (Adam-mini: Zhang et al. 2024). With a separate scale for every parameter,
    parameters with pure noise would move as far as those with a signal.
    """

    def __init__(self, parameters: Floats, learning_rate: float, parts: Sequence[int] | None = None) -> None:
        self.parameters = parameters
        self.learning_rate = learning_rate
        self.m = np.zeros_like(parameters)
        self.v = np.zeros_like(parameters)
        self.steps = 0
        self.bounds = None if parts is None else np.cumsum([0, *parts])
        scratch = np.empty_like(parameters)
        self._move: Callable[..., None] = (
            functools.partial(adam_step, scratch=scratch)
            if self.bounds is None
            else functools.partial(adam_mini_step, bounds=self.bounds, scratch=scratch)
        )

    def step(self, gradients: Floats) -> None:
        """Move the parameters (P,) against the gradients (P,)."""
        self.steps += 1
        # lr · m̂ / (√v̂ + ε), with both bias corrections moved into the scalars
        root = math.sqrt(1 - BETA2**self.steps)
        rate = self.learning_rate * root / (1 - BETA1**self.steps)
        self._move(self.parameters, self.m, self.v, gradients, BETA1, BETA2, EPSILON * root, rate)

    def restore(self, m: Floats, v: Floats, steps: int) -> None:
        """Continue from these moments (P,). Moments with a scale for each parameter are averaged over each part."""
        np.copyto(self.m, m)
        np.copyto(self.v, v)
        self.steps = steps
        if self.bounds is None:
            return
        for first, last in itertools.pairwise(self.bounds.tolist()):
            part = self.v[first:last]
            if part.size and part.min() < part.max():
                part[...] = part.mean(dtype=np.float64)


def adam_step(
    parameters: Floats,
    m: Floats,
    v: Floats,
    gradients: Floats,
    beta1: float,
    beta2: float,
    epsilon: float,
    rate: float,
    scratch: Floats,
) -> None:
    """Adam (Kingma & Ba 2015): m and v are running means of g and g²; θ −= rate · m / (√v + ε).

    All arrays have shape (P,). The caller includes the bias corrections in `rate` and ε.
    """
    _follow(m, gradients, beta1, scratch)
    np.multiply(gradients, gradients, out=scratch)
    np.subtract(scratch, v, out=scratch)
    np.multiply(scratch, 1 - beta2, out=scratch)
    np.add(v, scratch, out=v)
    np.sqrt(v, out=scratch)
    np.add(scratch, epsilon, out=scratch)
    np.divide(m, scratch, out=scratch)
    np.multiply(scratch, rate, out=scratch)
    np.subtract(parameters, scratch, out=parameters)


def adam_mini_step(
    parameters: Floats,
    m: Floats,
    v: Floats,
    gradients: Floats,
    beta1: float,
    beta2: float,
    epsilon: float,
    rate: float,
    bounds: Integers,
    scratch: Floats,
) -> None:
    """Adam-mini (Zhang et al. 2024): one `v` per part bounds[i] … bounds[i + 1], the running mean of its mean g²."""
    _follow(m, gradients, beta1, scratch)
    for first, last in itertools.pairwise(bounds.tolist()):
        g = gradients[first:last]
        before = float(v[first])
        part = before + (float(np.dot(g, g)) / (last - first) - before) * (1 - beta2)
        v[first:last] = part
        np.multiply(m[first:last], rate / (math.sqrt(v[first]) + epsilon), out=scratch[first:last])
    np.subtract(parameters, scratch, out=parameters)


def _follow(m: Floats, gradients: Floats, beta: float, scratch: Floats) -> None:
    np.subtract(gradients, m, out=scratch)
    np.multiply(scratch, 1 - beta, out=scratch)
    np.add(m, scratch, out=m)


def decayed(learning_rate: float, half_life: float, games: int) -> float:
    """The learning rate after `games` games: learning_rate / (1 + games / half_life), at least a tenth of it."""
    return learning_rate * max(1 / (1 + games / half_life), LEAST_STEP) if half_life else learning_rate


def clip_global_norm(gradients: Floats, max_norm: float) -> float:
    """Scale `gradients` (P,) in place to the norm `max_norm` if theirs is larger (0 = never); returns their norm."""
    norm = math.sqrt(np.dot(gradients, gradients))
    if 0 < max_norm < norm < math.inf:
        np.multiply(gradients, max_norm / norm, out=gradients)
    return norm
