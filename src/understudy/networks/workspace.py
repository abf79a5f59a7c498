"""Memory for the arrays of one pass through a network, reused by the next pass."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from understudy.networks.network import Floats

ALIGNMENT = 64  # bytes: a cache line, and the widest vector register


def aligned(shape: tuple[int, ...], dtype: np.dtype[Any] | type[np.floating[Any]]) -> NDArray[Any]:
    """Zeros aligned to a cache line."""
    dtype = np.dtype(dtype)
    size = math.prod(shape)
    buffer = np.zeros(size + ALIGNMENT // dtype.itemsize, dtype)
    address: int = buffer.ctypes.data
    start = -address % ALIGNMENT // dtype.itemsize
    return buffer[start : start + size].reshape(shape)


class Workspace:
    """Allocates arrays from one buffer, which grows to the size of the largest pass.

    A pass then needs no system memory, so its time and peak memory are constant. An array is valid until the next
    `begin`, or the end of the `scratch` in which it was taken.
    """

    def __init__(self, dtype: np.dtype[Any] | type[np.floating[Any]]) -> None:
        self._buffer: Floats = np.empty(0, dtype)
        self._unit = ALIGNMENT // self._buffer.itemsize
        self._used = self._most = 0

    def begin(self) -> None:
        """Begin a pass: all earlier arrays become invalid."""
        if self._most > len(self._buffer):
            self._buffer = aligned((self._most,), self._buffer.dtype)
        self._used = 0

    def take(self, *shape: int) -> Floats:
        """An uninitialised array."""
        size = math.prod(shape)
        start = self._used
        self._used += -(-size // self._unit) * self._unit
        self._most = max(self._most, self._used)
        if self._used > len(self._buffer):  # larger than any pass before; the buffer grows before the next one
            return np.empty(shape, self._buffer.dtype)
        return self._buffer[start : start + size].reshape(shape)

    def zeros(self, *shape: int) -> Floats:
        """An array of zeros."""
        array = self.take(*shape)
        array.fill(0)
        return array

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """Arrays taken inside become invalid at the end."""
        used = self._used
        yield
        self._used = used
