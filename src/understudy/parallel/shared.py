"""Shared memory that is removed however its processes end; it holds rings of rollouts, and the weights.

No code here takes a lock, so no process can die while holding one. Every number has one writer. A slot or block belongs
to the writer until a counter says that it is complete, then to the reader until another counter says that it may be
reused.
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
_UNLOCKED_SECONDS = 1.0  # the creator of younger memory may not have locked it yet
logger = logging.getLogger(__name__)
_OPEN: list[SharedMemory] = []  # to be closed; a segment stays while arrays use it


class Segment:
    """A named block of shared memory, initially zero. Its creator removes it. If the creator is killed, the resource
    tracker of multiprocessing removes it once the workers have noticed and ended. If that was killed too, the next
    creator of a segment finds and removes it.
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
        """A view of part of the memory; all arrays made from it must be released before `close`."""
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
            with contextlib.suppress(BufferError):  # an array is still in use; tried again next time
                memory.close()
                _OPEN.remove(memory)


def _locked(name: str) -> FileLock | None:
    """A lock that shows others that the creator of this memory is alive; None if the memory has no file."""
    lock = FileLock(_LINUX_MEMORY / name, create=False)
    with contextlib.suppress(OSError):
        if lock.acquire(blocking=False):
            return lock
    return None


def remove_leftovers() -> int:
    """Remove the memory of creators that were killed with their resource trackers; returns the number of bytes.

    Only Linux lists shared memory; Windows removes it with the last process.
    """
    removed = 0
    for path in _LINUX_MEMORY.glob(f"{_PREFIX}*") if _LINUX_MEMORY.is_dir() else ():
        lock = FileLock(path, create=False)
        with contextlib.suppress(OSError):  # removed meanwhile, or another user's
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
    """The rollouts of one worker on their way to the learner: `slots` of fixed size, used in order.

    `put` and `released` are counters in shared memory: of rollouts handed over, which only the worker writes, and of
    those returned, which only the learner writes.
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
        """The number of rollouts that were put and not released yet."""
        return int(self._put[0] - self._released[0])

    @property
    def ready(self) -> int:
        """The number of rollouts that the learner can take."""
        return int(self._put[0]) - self._taken

    def next_slot(self) -> Rollout | None:
        """The slot for the worker's next rollout; None while the ring is full."""
        return None if self.waiting >= len(self.slots) else self.slots[int(self._put[0]) % len(self.slots)]

    def put(self) -> None:
        """Hand the slot from `next_slot` to the learner. If the worker dies before that, the slot is reused."""
        self._put[0] += 1

    def take(self) -> Rollout | None:
        """The oldest rollout that was not taken yet; it does not change until it is released."""
        if not self.ready:
            return None
        self._taken += 1
        return self.slots[(self._taken - 1) % len(self.slots)]

    def release(self) -> None:
        """Return the slots of all taken rollouts to the worker."""
        self._released[0] = self._taken

    def close(self) -> None:
        """Drop the views."""
        for rollout in self.slots:
            rollout.detach()
        del self._put, self._released


class WeightBoard:
    """The newest weights, for any number of readers: a sequence lock over two blocks.

    The writer fills the hidden block and then makes it visible; it never waits. A reader copies the visible block and
    then checks whether the writer has started to overwrite it meanwhile. A writer that dies leaves the last complete
    block.
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
        """Publish new weights; returns their number."""
        number = self.shown + 1
        self._numbers[self._BEGUN] = number
        self._blocks[number % 2][: len(content)] = content
        self._numbers[self._SIZE + number % 2] = len(content)
        self._numbers[self._SHOWN] = number
        return number

    def read(self, take: Callable[[Block], object]) -> int:
        """Let `take` copy the newest weights; returns their number.

        It gets the shared block itself. If the writer has overwritten the block meanwhile, `take` is called again with
        the next one, and the first result, including an error, does not count.
        """
        while True:
            number = self.shown
            block = self._blocks[number % 2][: int(self._numbers[self._SIZE + number % 2])]
            try:
                take(block)
            except Exception:  # a half-overwritten block may cause any error
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
