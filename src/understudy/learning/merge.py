"""Merging updates: two trainers began from the same model, and one has published already.

`base` is what both began from, `head` what is published now, `trained` what the later one made of `base`. Every array
of a model has a rule in `RULES`. One that has none is blended, which is safe for whatever it holds: the result lies
between two values that training arrived at. Counters add up.

Adding up differences is right for sums only. Moments that are added up grow without bound as soon as updates overlap,
and steps that several trainers made in the same direction add up to one that none of them would have made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Learned(NamedTuple):
    """All that training changes in a model."""

    arrays: Mapping[str, Array]
    counters: Mapping[str, int]


class Change(NamedTuple):
    """The three states of one array, and how much was learned on either side."""

    head: Array
    base: Array
    trained: Array
    share: float
    """The later trainer's part of the decisions learned from since the base, 0 to 1."""
    kept: float
    """What the later trainer's update left of statistics that fade, 0 to 1."""


Rule = Callable[[Change], Array]


def merged(head: Learned, base: Learned, trained: Learned) -> Learned:
    """The head plus the changes that training made to `base`."""
    share = _share(head.counters, base.counters, trained.counters)
    kept = _kept(base, trained)
    arrays = dict(head.arrays)
    for name, mine in trained.arrays.items():
        theirs = head.arrays.get(name, mine)
        # A model of an earlier version of this program may lack an array.
        rule = RULES.get(name, blend) if name in base.arrays else blend
        arrays[name] = rule(Change(theirs, base.arrays.get(name, mine), mine, share, kept)).astype(mine.dtype)
    return Learned(arrays, _merged_counters(head.counters, base.counters, trained.counters, share))


def damped_sum(change: Change) -> Array:
    """Weights (P,): changes that the head does not have are added in full, changes that it has only in part.

    Let m and h be how far the later trainer and the head moved. m is added times |m|² / (|m|² + m·h): all of it where
    they learned different things, half of it where both made the same step, less where the head made several.
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
    """Sums over the decisions seen, old ones fading: the head's fade as the base's did, and the new ones are added."""
    return np.asarray(change.kept * change.head + (change.trained - change.kept * change.base))


def widest(change: Change) -> Array:
    """The larger of both sides, for largest values seen."""
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

_CLOCK = "adam_steps"  # says how far Adam's moments have warmed up, so it goes with them


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
    """How much of the normaliser's sums is left after an update; 1 until they have reached their horizon."""
    if "normalizer_count" not in base.arrays or not base.arrays["normalizer_count"].item():
        return 1.0
    new = trained.counters["steps"] - base.counters["steps"]
    left = (trained.arrays["normalizer_count"].item() - new) / base.arrays["normalizer_count"].item()
    return float(np.clip(left, 0.0, 1.0))
