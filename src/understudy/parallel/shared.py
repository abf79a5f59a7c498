"""Shared memory that is removed however its processes end, with rings of rollouts and the weights in it.

Nothing here takes a lock, so no process can die holding one. Every number has one writer; a slot or a block belongs
to the writer until a counter says that it is whole, and to the reader until another counter says that it is done with.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import secrets
import shutil
import time
from collections.abc import Callable
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.files.locks import FileLock
from understudy.parallel.rollout import Rollout, RolloutShape

Block = NDArray[np.uint8]

_LINUX_MEMORY = Path("/dev/shm")
_PREFIX = "understudy_"
_UNLOCKED_SECONDS = 1.0  # its maker may not have locked younger memory yet
logger = logging.getLogger(__name__)
_OPEN: list[SharedMemory] = []  # to be closed; those that arrays are kept of stay until the arrays are gone


class Segment:
    """A named block of shared memory, of zeros at first. Its maker removes it; should the maker be killed, the
    resource tracker of multiprocessing does, once the workers have noticed and ended. If that was killed too, the next
    maker of a segment finds and removes it.
    """

    def __init__(self, size: int, name: str | None = None) -> None:
        self._owner = name is None
        if name is None:
            remove_leftovers()
            _require_room(size)
            name = f"{_PREFIX}{secrets.token_hex(8)}"
        self._memory = SharedMemory(name, create=self._owner, size=size)
        self._lock = _locked(self._memory.name) if self._owner else None
        self.name = self._memory.name
        self.size = size

    def view(self, offset: int, size: int) -> memoryview:
        """A part of the memory; every array made of it must be gone before `close`."""
        assert self._memory.buf is not None, "the segment is closed"
        return self._memory.buf[offset : offset + size]

    def close(self) -> None:
        """Close the memory; its creator also removes it."""
        if self._owner:
            self._owner = False
            self._memory.unlink()
            if self._lock is not None:
                self._lock.release()
        _OPEN.append(self._memory)
        for memory in tuple(_OPEN):
            with contextlib.suppress(BufferError):  # an array is still in use: tried again next time
                memory.close()
                _OPEN.remove(memory)


def _locked(name: str) -> FileLock | None:
    """The lock by which others see that the maker of this memory is alive; None where memory has no file."""
    lock = FileLock(_LINUX_MEMORY / name, create=False)
    with contextlib.suppress(OSError):
        if lock.acquire(blocking=False):
            return lock
    return None


def remove_leftovers() -> int:
    """Remove the memory of makers that were killed together with their resource trackers; returns how much there was.

    Only Linux shows which memory there is; Windows removes it with the last process.
    """
    removed = 0
    for path in _LINUX_MEMORY.glob(f"{_PREFIX}*") if _LINUX_MEMORY.is_dir() else ():
        lock = FileLock(path, create=False)
        with contextlib.suppress(OSError):  # removed meanwhile, or of another user
            stat = path.stat()
            if time.time() - stat.st_mtime > _UNLOCKED_SECONDS and lock.acquire(blocking=False):
                path.unlink()
                lock.release()
                removed += stat.st_size
    if removed:
        logger.warning("Removed %.1f MB of shared memory that a killed process had left.", removed / 1e6)
    return removed


def _require_room(size: int) -> None:
    """Check first: Linux promises shared memory that it does not have, and kills the process that writes to it."""
    if _LINUX_MEMORY.exists() and (free := shutil.disk_usage(_LINUX_MEMORY).free) < size:
        raise OSError(errno.ENOSPC, f"only {free:,} bytes are free in {_LINUX_MEMORY}")


class Ring:
    """The rollouts of one worker on their way to the learner: `slots` of fixed size, taken in the order they are put.

    `put` and `released` are counters in shared memory: of rollouts handed over, which only the worker writes, and of
    those given back, which only the learner writes.
    """

    def __init__(
        self,
        shape: RolloutShape,
        slots: int,
        memory: memoryview,
        put: NDArray[np.int64],
        released: NDArray[np.int64],
    ) -> None:
        size = shape.nbytes
        self.slots = [Rollout(shape, memory[i * size : (i + 1) * size]) for i in range(slots)]
        self._put, self._released = put, released
        self._taken = int(released[0])

    @property
    def waiting(self) -> int:
        """Rollouts that were put and not released yet."""
        return int(self._put[0] - self._released[0])

    @property
    def ready(self) -> int:
        """Rollouts that can be taken; for the learner."""
        return int(self._put[0]) - self._taken

    def next_slot(self) -> Rollout | None:
        """Where the worker writes its next rollout; None while the ring is full."""
        return None if self.waiting >= len(self.slots) else self.slots[int(self._put[0]) % len(self.slots)]

    def put(self) -> None:
        """Hand the slot that `next_slot` gave to the learner; until then a death leaves no trace of it."""
        self._put[0] += 1

    def take(self) -> Rollout | None:
        """The oldest rollout not taken yet; it stays as it is until it is released."""
        if not self.ready:
            return None
        self._taken += 1
        return self.slots[(self._taken - 1) % len(self.slots)]

    def release(self) -> None:
        """Give the slots of all rollouts taken back to the worker."""
        self._released[0] = self._taken

    def close(self) -> None:
        """Drop the views."""
        for rollout in self.slots:
            rollout.detach()
        del self._put, self._released


class WeightBoard:
    """The newest weights, for any number of readers: a sequence lock over two blocks.

    The writer fills the block that is not shown and then shows it; it never waits. A reader copies the block shown and
    then looks whether the writer has come back to it meanwhile. A writer that dies leaves the last whole block.
    """

    _BEGUN, _SHOWN, _SIZE = 0, 1, 2

    def __init__(self, memory: memoryview) -> None:
        self._numbers = np.frombuffer(memory[:64], np.int64)
        half = (len(memory) - 64) // 2
        self._blocks = [np.frombuffer(memory[64 + i * half : 64 + (i + 1) * half], np.uint8) for i in range(2)]

    @staticmethod
    def nbytes(block: int) -> int:
        """The memory needed for blocks of this size."""
        return 64 + 2 * block

    @property
    def shown(self) -> int:
        """How often weights were written; 0 means never."""
        return int(self._numbers[self._SHOWN])

    def write(self, content: Block) -> int:
        """Show new weights; returns their number."""
        number = self.shown + 1
        self._numbers[self._BEGUN] = number
        self._blocks[number % 2][: len(content)] = content
        self._numbers[self._SIZE + number % 2] = len(content)
        self._numbers[self._SHOWN] = number
        return number

    def read(self, take: Callable[[Block], object]) -> int:
        """Have `take` copy the newest weights to where they belong; returns their number.

        It gets the shared block itself, and the next one whenever the writer has come back to it meanwhile: what it
        made of the first, an error included, does not count then.
        """
        while True:
            number = self.shown
            block = self._blocks[number % 2][: int(self._numbers[self._SIZE + number % 2])]
            try:
                take(block)
            except Exception:  # of a block half overwritten by another process anything may be made
                if not self._overtaken(number):
                    raise
            else:
                if not self._overtaken(number):
                    return number

    def _overtaken(self, number: int) -> bool:
        return bool(self._numbers[self._BEGUN] > number + 1)

    def close(self) -> None:
        """Drop the views."""
        del self._numbers, self._blocks
