"""Checks that numbers are finite. In states and rewards, broken numbers count as 0; in an update, they are an error."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.errors import NonFiniteError
from understudy.networks.network import Floats

LARGEST_REWARD = 1e30
"""A sum of many rewards of this size still fits into float32."""


def zero_broken_features(states: NDArray[np.float32]) -> list[int]:
    """Set values of states (…, S) that are NaN or infinite to 0; returns the features they belong to."""
    finite = np.isfinite(states)
    if finite.all():
        return []
    states[~finite] = 0
    return np.flatnonzero(~finite.reshape(-1, states.shape[-1]).all(axis=0)).tolist()


def quiet() -> np.errstate:
    """Suppress overflow warnings: every result is checked, and a bad one is refused."""
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")


def require_finite(what: str, *arrays: Floats) -> None:
    """Raise NonFiniteError, naming `what`, unless all numbers are finite."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise non_finite(what)


def non_finite(what: str) -> NonFiniteError:
    """The NonFiniteError to raise."""
    return NonFiniteError(
        f"NaN or infinity in {what}: the update is undone, the model is as it was. "
        "Look at the states and rewards of these games, or lower training.learning_rate."
    )
