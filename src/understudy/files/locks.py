"""Locks between processes. The operating system holds them and releases them when the holder dies."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_NOTE_BYTES = 1024


class FileLock:
    """An exclusive lock between processes (and between two FileLocks of one process). It is released when its holder
    dies.

    It is not re-entrant: acquiring it again through the same object is an error. The lock file is never removed here,
    since another process may be about to lock it; its content is free for other use, unless `what` asks for a note
    about the holder. A child made by fork shares the lock for as long as it runs; a spawned one does not.
    """

    def __init__(self, path: Path, *, what: str | None = None, create: bool = True) -> None:
        self.path = path
        self._what = what
        self._create = create
        self._descriptor: int | None = None
        self._pid = 0

    @property
    def held(self) -> bool:
        """Whether this object holds the lock."""
        return self._descriptor is not None

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        """Take the lock. False if another holder kept it for `timeout` seconds, or has it now and `blocking` is False.

        With `create=False`, a lock file that does not exist or is removed while waiting raises FileNotFoundError.
        """
        if self._descriptor is not None:
            raise RuntimeError(f"{self.path} is already locked by this object; FileLock is not re-entrant.")
        deadline = None if timeout is None else time.monotonic() + timeout
        pause = 0.0005
        while not self._try():
            if not blocking or (deadline is not None and time.monotonic() >= deadline):
                return False
            time.sleep(pause)
            pause = min(2 * pause, 0.02)
        return True

    def release(self) -> None:
        """Release the lock. Releasing a lock that is not held does nothing; a forked child closes its copy."""
        if self._descriptor is None:
            return
        descriptor, self._descriptor = self._descriptor, None
        if self._pid != os.getpid():
            os.close(descriptor)
            return
        try:
            if self._what is not None:
                with contextlib.suppress(OSError):
                    _write_note(descriptor, b"")
        finally:
            _unlock_and_close(descriptor)

    def __del__(self) -> None:
        """Release a lock that no code can release any more."""
        with contextlib.suppress(OSError, AttributeError, TypeError):  # the last two while Python shuts down
            self.release()

    def __enter__(self) -> FileLock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def _try(self) -> bool:
        flags = os.O_RDWR | getattr(os, "O_BINARY", 0) | (os.O_CREAT if self._create else 0)
        while True:
            descriptor = os.open(self.path, flags, 0o666)  # Python opens it not inheritable
            try:
                if not _lock(descriptor):
                    return False
                if _is_at(descriptor, self.path):
                    if self._what is not None:
                        with contextlib.suppress(OSError):  # without room for a note, the lock still works
                            _write_note(descriptor, _note(self._what))
                    self._descriptor, self._pid = descriptor, os.getpid()
                    return True
            finally:
                if self._descriptor is None:
                    os.close(descriptor)


def read_holder(path: Path) -> dict[str, Any] | None:
    """What the holder of a FileLock wrote about itself: pid, host, since, what. None if there is no note.

    A killed holder leaves its note behind: only acquiring the lock shows whether it is still alive.
    """
    try:
        with path.open("rb") as stream:
            note = json.loads(stream.read(_NOTE_BYTES))
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    return note if isinstance(note, dict) else None


def _note(what: str) -> bytes:
    holder = {"pid": os.getpid(), "host": socket.gethostname()[:64], "since": time.time(), "what": what[:100]}
    return json.dumps(holder, ensure_ascii=False).encode(errors="replace")


def _write_note(descriptor: int, note: bytes) -> None:
    """Write with a fixed length in one call, so that readers never see the tail of a longer, older note."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    os.write(descriptor, note.ljust(_NOTE_BYTES))


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether `path` is still the file that was opened; a lock on a removed file would exclude nobody."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    # Windows locks are mandatory. This byte lies beyond any content, so readers and writers never touch it. It is also
    # the last one that msvcrt.locking, with its 32-bit position, can reach.
    _LOCKED_BYTE = 2**31 - 2

    def _lock(descriptor: int) -> bool:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EDEADLK):
                return False
            raise
        return True

    def _unlock_and_close(descriptor: int) -> None:
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        finally:
            os.close(descriptor)

else:

    def _lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock_and_close(descriptor: int) -> None:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # closing alone would leave the lock to a forked child
        finally:
            os.close(descriptor)
