"""Choosing an action from a network's logits, and the probability it was chosen with.

Every sampler of the package is here: `draw` and `best` decide in one state, `draw_all` and `best_all` in many at once.
The policy is always a softmax over the legal actions, mixed with a share `exploration` of the uniform policy on them.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from understudy.learning.losses import chosen, log_softmax, softmax
from understudy.networks.network import Floats

Legal = Sequence[bool] | NDArray[np.bool_] | None
_Numbers = TypeVar("_Numbers", float, NDArray[Any])

# Below this many actions, Python's own arithmetic beats the fixed cost of NumPy calls.
_FEW = 64
_LEAST_NOISE = np.float32(1e-30)  # its logarithm is finite
KEPT = 0.85  # share of the decisions of a trial that take its action


class Choice(NamedTuple):
    """An action and its probability under the policy that chose it."""

    action: int
    probability: float


def drawn_with(probability: _Numbers, exploration: float, choices: _Numbers) -> _Numbers:
    """The probability an action is drawn with: `probability` in the softmax, mixed with the uniform policy.

    `choices` is the number of legal actions.
    """
    return (1.0 - exploration) * probability + exploration / choices


def draw(logits: Floats, legal: Legal, exploration: float, uniform: float, kept: int | None = None) -> Choice:
    """Draw an action for logits (A,) with one number from [0, 1).

    In a trial, the share `KEPT` of the decisions takes the action `kept`, which must be legal; the policy draws the
    others.
    """
    actions, weights = _softmax_weights(logits, legal)
    if kept is None:
        drawn, probability = _draw_from(weights, exploration, uniform)
        return Choice(drawn if actions is None else actions[drawn], probability)
    # [0, 1) is divided between the ways of being drawn: first the trial, then the policy.
    place = kept if actions is None else actions.index(kept)
    if uniform < KEPT:
        drawn, probability = place, drawn_with(weights[place] / sum(weights), exploration, len(weights))
    else:
        drawn, probability = _draw_from(weights, exploration, (uniform - KEPT) / (1.0 - KEPT))
    action = drawn if actions is None else actions[drawn]
    return Choice(action, (1.0 - KEPT) * probability + KEPT * (drawn == place))


def best(logits: Floats, legal: Legal) -> Choice:
    """The most probable legal action (the first one in a tie) and its probability under the softmax."""
    actions, weights = _softmax_weights(logits, legal)
    highest = max(weights)
    place = weights.index(highest)
    return Choice(place if actions is None else actions[place], highest / sum(weights))


def draw_all(
    logits: Floats, legal: NDArray[np.bool_] | None, exploration: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For every row of logits (N, A), draw an action; returns the actions and their log-probabilities as drawn."""
    log_probs = log_softmax(logits, legal)
    # The Gumbel trick: the index of the largest log p + noise is distributed as p.
    noise = rng.standard_exponential(logits.shape, dtype=np.float32)
    np.log(np.maximum(noise, _LEAST_NOISE, out=noise), out=noise)
    actions = np.argmax(log_probs - noise, axis=1)
    if not exploration:
        return actions, chosen(log_probs, actions).astype(np.float32)
    allowed = _allowed(logits, legal)
    at_random = rng.random(len(actions)) < exploration
    random_actions = np.argmax(np.where(allowed, rng.random(logits.shape), -1.0), axis=1)
    actions = np.where(at_random, random_actions, actions)
    p = drawn_with(np.exp(chosen(log_probs, actions)), exploration, allowed.sum(axis=1))
    return actions, np.log(p).astype(np.float32)


def best_all(logits: Floats, legal: NDArray[np.bool_] | None) -> NDArray[np.int64]:
    """The most probable legal action for every row of logits (N, A), the first one in a tie."""
    actions: NDArray[np.int64] = np.argmax(np.where(_allowed(logits, legal), logits, -np.inf), axis=1)
    return actions


def probabilities(logits: Floats, legal: NDArray[np.bool_] | None, exploration: float) -> NDArray[np.float64]:
    """The probabilities (N, A) that actions are drawn with; 0 for illegal ones."""
    allowed = _allowed(logits, legal)
    policy = softmax(logits.astype(np.float64), allowed).probs
    drawn: NDArray[np.float64] = drawn_with(policy, exploration, allowed.sum(axis=1, keepdims=True)) * allowed
    return drawn


def _allowed(logits: Floats, legal: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
    """A mask in the shape of the logits. A given mask may lack the last actions if they are never legal."""
    return np.ones(logits.shape, np.bool_) if legal is None else legal[:, : logits.shape[1]]


def _draw_from(weights: list[float], exploration: float, uniform: float) -> tuple[int, float]:
    count = len(weights)
    # [0, 1) is divided again: first the uniform policy, then the softmax.
    if uniform < exploration:
        drawn = min(int(uniform / exploration * count), count - 1)
        total = sum(weights)
    else:
        cumulative = list(accumulate(weights))
        total = cumulative[-1]
        drawn = min(bisect_right(cumulative, (uniform - exploration) / (1.0 - exploration) * total), count - 1)
        while not weights[drawn]:  # rounding moved past the last action that can be drawn
            drawn -= 1
    return drawn, drawn_with(weights[drawn] / total, exploration, count)


def _softmax_weights(logits: Floats, legal: Legal) -> tuple[list[int] | None, list[float]]:
    """The legal actions (None: all) and unnormalised probabilities, the largest of which is 1."""
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
