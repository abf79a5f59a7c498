"""Adam (Kingma & Ba 2015) and global-norm clipping, on flat vectors, in place."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from understudy.networks.network import Floats

BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-5
LEAST_STEP = 0.1  # share of the first step size that is always left: a learner of weeks still follows a new opponent


class Adam:
    """Adam for one vector of parameters. `m`, `v` and `steps` are all its state."""

    def __init__(self, parameters: Floats, learning_rate: float) -> None:
        self.parameters = parameters
        self.learning_rate = learning_rate
        self.m = np.zeros_like(parameters)
        self.v = np.zeros_like(parameters)
        self.steps = 0
        self.move: Callable[..., None] = functools.partial(adam_step, scratch=np.empty_like(parameters))
        """What a step does: `adam_step`, or the same compiled."""

    def step(self, gradients: Floats) -> None:
        """Move the parameters against the gradients."""
        self.steps += 1
        # lr · m̂ / (√v̂ + ε), with both bias corrections moved into the scalars
        root = math.sqrt(1 - BETA2**self.steps)
        rate = self.learning_rate * root / (1 - BETA1**self.steps)
        self.move(self.parameters, self.m, self.v, gradients, BETA1, BETA2, EPSILON * root, rate)


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
    """Let the running means `m` and `v` follow the gradients and their squares; then θ −= rate · m / (√v + ε)."""
    np.subtract(gradients, m, out=scratch)
    np.multiply(scratch, 1 - beta1, out=scratch)
    np.add(m, scratch, out=m)
    np.multiply(gradients, gradients, out=scratch)
    np.subtract(scratch, v, out=scratch)
    np.multiply(scratch, 1 - beta2, out=scratch)
    np.add(v, scratch, out=v)
    np.sqrt(v, out=scratch)
    np.add(scratch, epsilon, out=scratch)
    np.divide(m, scratch, out=scratch)
    np.multiply(scratch, rate, out=scratch)
    np.subtract(parameters, scratch, out=parameters)


def decayed(learning_rate: float, half_life: float, games: int) -> float:
    """The step size after so many games: learning_rate / (1 + games / half_life), and a tenth of it at least."""
    return learning_rate * max(1 / (1 + games / half_life), LEAST_STEP) if half_life else learning_rate


def clip_global_norm(gradients: Floats, max_norm: float) -> float:
    """Shorten `gradients` in place to `max_norm` if they are longer (0 = leave them); the norm they had."""
    norm = math.sqrt(np.dot(gradients, gradients))
    if 0 < max_norm < norm < math.inf:
        np.multiply(gradients, max_norm / norm, out=gradients)
    return norm
