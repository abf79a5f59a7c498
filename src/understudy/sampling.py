"""Choosing an action from a network's logits, with the probability it was chosen with."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, compress
from math import exp
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

# Below this many actions, Python's own arithmetic beats the fixed cost of NumPy calls.
_FEW = 64


class Choice(NamedTuple):
    """An action and its probability under the policy that chose it."""

    action: int
    probability: float


def policy(
    logits: NDArray[np.float32], legal: Sequence[bool] | NDArray[np.bool_] | None, exploration: float
) -> Sequence[float]:
    """Probabilities: a softmax over the legal actions, mixed with `exploration` parts of the uniform policy on them."""
    if len(logits) > _FEW:
        return _policy_of_many(logits, legal, exploration)
    values = logits.tolist()
    if legal is None:
        top = max(values)
        weights = [exp(value - top) for value in values]
        count = len(weights)
    else:
        mask = legal.tolist() if isinstance(legal, np.ndarray) else legal
        possible = list(compress(values, mask))
        top = max(possible)
        weights = [exp(value - top) if allowed else 0.0 for value, allowed in zip(values, mask, strict=True)]
        count = len(possible)
    scale = (1.0 - exploration) / sum(weights)
    if not exploration:
        return [weight * scale for weight in weights]
    share = exploration / count
    if legal is None:
        return [weight * scale + share for weight in weights]
    return [weight * scale + share if allowed else 0.0 for weight, allowed in zip(weights, mask, strict=True)]


def sample(probabilities: Sequence[float], uniform: float) -> Choice:
    """Draw an action with a number from [0, 1); an action of probability 0 is never drawn."""
    if isinstance(probabilities, np.ndarray):
        possible = np.flatnonzero(probabilities)
        cumulative = np.cumsum(probabilities[possible])
        drawn = min(int(np.searchsorted(cumulative, uniform, side="right")), len(possible) - 1)
        return Choice(int(possible[drawn]), float(probabilities[possible[drawn]]))
    cumulative = list(accumulate(probabilities))
    drawn = bisect_right(cumulative, uniform)
    if drawn == len(cumulative):  # rounding has left the sum below `uniform`: the last possible action
        drawn = bisect_left(cumulative, cumulative[-1])
    return Choice(drawn, probabilities[drawn])


def best(probabilities: Sequence[float]) -> Choice:
    """The most probable action, the first of equals."""
    if isinstance(probabilities, np.ndarray):
        action = int(probabilities.argmax())
        return Choice(action, float(probabilities[action]))
    highest = max(probabilities)
    return Choice(probabilities.index(highest), highest)


def _policy_of_many(
    logits: NDArray[np.float32], legal: Sequence[bool] | NDArray[np.bool_] | None, exploration: float
) -> Sequence[float]:
    values = logits.astype(np.float64)
    if legal is not None:
        values[~np.asarray(legal, bool)] = -np.inf
    weights = np.exp(values - values.max())
    weights *= (1.0 - exploration) / weights.sum()
    if exploration:
        weights += (
            exploration / len(weights) if legal is None else np.asarray(legal, bool) * (exploration / np.sum(legal))
        )
    return cast(Sequence[float], weights)
