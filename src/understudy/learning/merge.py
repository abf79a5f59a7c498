"""Merging updates: two trainers started from the same model, and one of them has already published.

`base` is what both started from, `head` what is published now, `trained` what the later trainer made of `base`. Every
array of a model has a rule in `RULES`. An array without a rule is blended, which is always safe: the result lies
between two values that training produced. Counters are added.

Adding differences is right only for sums. Added moments would grow without bound as soon as updates overlap, and steps
of several trainers in the same direction would add up to a step that none of them would have taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Learned(NamedTuple):
    """Everything that training changes in a model."""

    arrays: Mapping[str, Array]
    counters: Mapping[str, int]


class Change(NamedTuple):
    """The three states of one array, and how much was learned on each side."""

    head: Array
    base: Array
    trained: Array
    share: float
    """The later trainer's share of the decisions learned from since the base, 0 to 1."""
    kept: float
    """The factor by which the later trainer's update faded the statistics, 0 to 1."""


Rule = Callable[[Change], Array]


def merged(head: Learned, base: Learned, trained: Learned) -> Learned:
    """The head plus the changes that training made to `base`."""
    share = _share(head.counters, base.counters, trained.counters)
    kept = _kept(base, trained)
    arrays = dict(head.arrays)
    for name, mine in trained.arrays.items():
        theirs = head.arrays.get(name, mine)
        # A model of an earlier version of Understudy may lack an array.
        rule = RULES.get(name, blend) if name in base.arrays else blend
        arrays[name] = rule(Change(theirs, base.arrays.get(name, mine), mine, share, kept)).astype(mine.dtype)
    return Learned(arrays, _merged_counters(head.counters, base.counters, trained.counters, share))


def damped_sum(change: Change) -> Array:
    """Weights (P,): changes that the head does not have are added in full, changes that it has already only in part.

    Let m and h be the movements of the later trainer and the head. m is multiplied by |m|² / (|m|² + m·h): 1 if they
    learned different things, 1/2 if both made the same step, less if the head made several.
    """
    mine = np.subtract(change.trained, change.base, dtype=np.float64)
    theirs = np.subtract(change.head, change.base, dtype=np.float64)
    length, overlap = float(np.vdot(mine, mine)), float(np.vdot(mine, theirs))
    scale = length / (length + overlap) if overlap > 0 else 1.0
    return np.asarray(change.head + scale * mine)


def blend(change: Change) -> Array:
    """Moments and unknown arrays: the mean, weighted by the decisions that each side learned from."""
    return np.asarray((1 - change.share) * change.head + change.share * change.trained)


def faded_sum(change: Change) -> Array:
    """Fading sums over decisions: the head's sums fade as the base's did, and the new decisions are added."""
    return np.asarray(change.kept * change.head + (change.trained - change.kept * change.base))


def widest(change: Change) -> Array:
    """The elementwise maximum, for arrays of largest values."""
    return np.asarray(np.maximum(change.head, change.trained))


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "parameters": damped_sum,
        "adam_m": blend,
        "adam_v": blend,
        "normalizer_count": faded_sum,
        "normalizer_sums": faded_sum,
        "normalizer_squares": faded_sum,
        "reward_range": widest,
        "value_peaks": widest,
    }
)

_CLOCK = "adam_steps"  # how far Adam's moments have warmed up, so it is merged like them


def _merged_counters(
    head: Mapping[str, int], base: Mapping[str, int], trained: Mapping[str, int], share: float
) -> dict[str, int]:
    merged = dict(head)
    for name, count in trained.items():
        theirs = head.get(name, 0)
        merged[name] = (
            int((1 - share) * theirs + share * count) if name == _CLOCK else theirs + count - base.get(name, 0)
        )
    return merged


def _share(head: Mapping[str, int], base: Mapping[str, int], trained: Mapping[str, int]) -> float:
    mine, theirs = trained["steps"] - base["steps"], head["steps"] - base["steps"]
    if mine <= 0:
        return 0.0
    return mine / (mine + max(theirs, 0))


def _kept(base: Learned, trained: Learned) -> float:
    """The factor by which an update faded the normaliser's sums; 1 until they have reached their horizon."""
    if "normalizer_count" not in base.arrays or not base.arrays["normalizer_count"].item():
        return 1.0
    new = trained.counters["steps"] - base.counters["steps"]
    left = (trained.arrays["normalizer_count"].item() - new) / base.arrays["normalizer_count"].item()
    return float(np.clip(left, 0.0, 1.0))
