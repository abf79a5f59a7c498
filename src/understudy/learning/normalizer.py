"""Running normalisation of states, made of sums that processes can add up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.networks.network import Floats

LIMIT = 10.0
_LOW, _HIGH = np.array(-LIMIT, np.float32), np.array(LIMIT, np.float32)


class StateNormalizer:
    """Brings every feature to mean 0 and spread 1 over all states seen, within ±10. Disabled, it changes nothing.

    The state is `count`, `sums` and `squares`. They are plain sums, so what two processes saw can be added. States
    are float32, whose squares are exact in float64: the 53 bits suffice for any spread that float32 can express.
    """

    def __init__(self, state_dim: int, enabled: bool = True) -> None:
        self.enabled = enabled
        self.restore(np.zeros(1), np.zeros(state_dim), np.zeros(state_dim))

    def update(self, states: Floats) -> None:
        """Take the rows of `states` (N, S) into account."""
        if not self.enabled:
            return
        wide = states.astype(np.float64)
        ones = np.ones(len(wide))
        self.restore(self.count + len(wide), self.sums + ones @ wide, self.squares + ones @ np.square(wide, out=wide))

    def restore(self, count: NDArray[np.float64], sums: NDArray[np.float64], squares: NDArray[np.float64]) -> None:
        """Go on from these sums; `count` has shape (1,)."""
        self.count, self.sums, self.squares = count, sums, squares
        mean = sums / np.maximum(count, 1)
        variance = squares / np.maximum(count, 1) - np.square(mean)
        # Below a millionth of the mean, a spread is rounding: such a feature is constant, and keeps its unit.
        varies = variance > 1e-12 * np.square(mean)
        self.mean = mean.astype(np.float32)
        self.scale = (1 / np.sqrt(np.where(varies, variance, 1))).astype(np.float32)

    def apply(self, states: Floats, out: Floats | None = None) -> Floats:
        """The normalised states, (N, S) or (S,), in `out` or a new array; disabled, the states themselves."""
        if not self.enabled:
            return states
        out = np.subtract(states, self.mean, out)
        np.multiply(out, self.scale, out)
        return out.clip(_LOW, _HIGH, out)
