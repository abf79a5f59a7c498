"""Memory for the arrays of one pass through a network, used again by the next pass."""

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
    """Zeros that begin where a cache line does."""
    dtype = np.dtype(dtype)
    size = math.prod(shape)
    buffer = np.zeros(size + ALIGNMENT // dtype.itemsize, dtype)
    address: int = buffer.ctypes.data
    start = -address % ALIGNMENT // dtype.itemsize
    return buffer[start : start + size].reshape(shape)


class Workspace:
    """Cuts arrays from one buffer, which grows to what the largest pass so far needed.

    So a pass asks the system for nothing, and its time and its peak of memory are those of the pass before. An array is
    valid until the next `begin`, or the end of the `scratch` it was taken in.
    """

    def __init__(self, dtype: np.dtype[Any] | type[np.floating[Any]]) -> None:
        self._buffer: Floats = np.empty(0, dtype)
        self._unit = ALIGNMENT // self._buffer.itemsize
        self._used = self._most = 0

    def begin(self) -> None:
        """Begin a pass: all arrays taken before are free for use."""
        if self._most > len(self._buffer):
            self._buffer = aligned((self._most,), self._buffer.dtype)
        self._used = 0

    def take(self, *shape: int) -> Floats:
        """An array whose content is arbitrary."""
        size = math.prod(shape)
        start = self._used
        self._used += -(-size // self._unit) * self._unit
        self._most = max(self._most, self._used)
        if self._used > len(self._buffer):  # larger than any pass before: the next one will find room
            return np.empty(shape, self._buffer.dtype)
        return self._buffer[start : start + size].reshape(shape)

    def zeros(self, *shape: int) -> Floats:
        """An array of zeros."""
        array = self.take(*shape)
        array.fill(0)
        return array

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """What is taken inside is free for use again at the end."""
        used = self._used
        yield
        self._used = used
