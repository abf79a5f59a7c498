"""Every number of an update is checked: what is not finite is an error, and the update is undone."""

from __future__ import annotations

import numpy as np

from understudy.errors import NonFiniteError
from understudy.networks.network import Floats


def quiet() -> np.errstate:
    """Overflow is not worth a warning here: every result is checked, and a bad one is refused."""
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")


def require_finite(what: str, *arrays: Floats) -> None:
    """Raise NonFiniteError, naming `what`, unless all numbers are finite."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise non_finite(what)


def non_finite(what: str) -> NonFiniteError:
    """The error to raise."""
    return NonFiniteError(
        f"NaN or infinity in {what}: the update is undone, the model is as it was. "
        "Look at the states and rewards of these games, or lower training.learning_rate."
    )
