"""Choosing an action from a network's logits, with the probability it was chosen with."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Legal = Sequence[bool] | NDArray[np.bool_] | None
_Numbers = TypeVar("_Numbers", float, NDArray[Any])

# Below this many actions, Python's own arithmetic beats the fixed cost of NumPy calls.
_FEW = 64
KEPT = 0.85  # share of the decisions of a trial that take its action


class Choice(NamedTuple):
    """An action and its probability under the policy that chose it."""

    action: int
    probability: float


def draw(
    logits: NDArray[np.float32], legal: Legal, exploration: float, uniform: float, kept: int | None = None
) -> Choice:
    """Draw an action with one number from [0, 1).

    The policy is a softmax over the legal actions, mixed with `exploration` parts of the uniform policy on them. In a
    trial, `KEPT` parts of the decisions take the action `kept`, which must be legal, and the policy draws the others.
    """
    actions, weights = _softmax_weights(logits, legal)
    if kept is None:
        drawn, probability = _draw_from(weights, exploration, uniform)
        return Choice(drawn if actions is None else actions[drawn], probability)
    # Every way of being drawn takes its share of [0, 1): first the trial, then the policy.
    place = kept if actions is None else actions.index(kept)
    if uniform < KEPT:
        drawn, probability = place, mixed(weights[place] / sum(weights), exploration, len(weights))
    else:
        drawn, probability = _draw_from(weights, exploration, (uniform - KEPT) / (1.0 - KEPT))
    action = drawn if actions is None else actions[drawn]
    return Choice(action, (1.0 - KEPT) * probability + KEPT * (drawn == place))


def _draw_from(weights: list[float], exploration: float, uniform: float) -> tuple[int, float]:
    count = len(weights)
    # Again by shares of [0, 1): first the uniform policy, then the softmax.
    if uniform < exploration:
        drawn = min(int(uniform / exploration * count), count - 1)
        total = sum(weights)
    else:
        cumulative = list(accumulate(weights))
        total = cumulative[-1]
        drawn = min(bisect_right(cumulative, (uniform - exploration) / (1.0 - exploration) * total), count - 1)
        while not weights[drawn]:  # rounding led past the last action that is possible
            drawn -= 1
    return drawn, mixed(weights[drawn] / total, exploration, count)


def mixed(probability: _Numbers, exploration: float, choices: _Numbers) -> _Numbers:
    """The probability that an action is drawn with: its own in the policy, mixed with that of a uniform choice."""
    return (1.0 - exploration) * probability + exploration / choices


def best(logits: NDArray[np.float32], legal: Legal) -> Choice:
    """The most probable legal action, the first of equals, and its probability under the softmax."""
    actions, weights = _softmax_weights(logits, legal)
    highest = max(weights)
    place = weights.index(highest)
    return Choice(place if actions is None else actions[place], highest / sum(weights))


def _softmax_weights(logits: NDArray[np.float32], legal: Legal) -> tuple[list[int] | None, list[float]]:
    """The legal actions (None: all) and what their probabilities are proportional to; the largest is 1."""
    actions: list[int] | None = None
    if len(logits) > _FEW:
        if legal is not None:
            actions = np.flatnonzero(legal).tolist()
            _check_mask(len(actions), len(legal), len(logits))
            logits = logits[actions]
        return actions, np.exp(np.subtract(logits, logits.max(), dtype=np.float64)).tolist()
    values = logits.tolist()
    if legal is not None:
        mask = legal.tolist() if isinstance(legal, np.ndarray) else legal
        actions = [action for action, allowed in enumerate(mask) if allowed]
        _check_mask(len(actions), len(mask), len(values))
        values = [values[action] for action in actions]
    top = max(values)
    return actions, [math.exp(value - top) for value in values]


def _check_mask(legal: int, length: int, actions: int) -> None:
    if not legal or length != actions:
        raise ValueError(f"The mask allows {legal} of {length} actions; there are {actions}, and one must be legal.")
