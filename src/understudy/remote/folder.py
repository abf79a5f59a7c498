"""A folder as an object store: on one machine, or a network share that several machines mount.

`create` makes a hard link to a finished temporary file, which fails if the name exists. `replace` compares and renames
while it holds a lock of the operating system, which is released when its holder dies: a killed process blocks nobody.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from understudy.files.atomic import move, remove_if_there, write_atomically
from understudy.files.locks import FileLock
from understudy.remote.objects import Entry, Found, TooLarge, checked_key, content_tag

_LOCK = ".understudy.lock"
_LOCK_SECONDS = 30.0
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV, errno.EACCES)


class FolderStore:
    """Objects as files below a folder; names that begin with a dot are not objects."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __str__(self) -> str:
        return str(self.root)

    def get(self, key: str, most: int) -> Found | None:
        """See Store."""
        try:
            with self._path(key).open("rb") as stream:
                size = os.fstat(stream.fileno()).st_size
                if size > most:
                    raise TooLarge(key, size, most)
                data = stream.read(most + 1)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return None
        if len(data) > most:
            raise TooLarge(key, len(data), most)
        return Found(data, content_tag(data))

    def put(self, key: str, data: bytes) -> None:
        """See Store."""
        write_atomically(self._made(key), lambda stream: stream.write(data))

    def create(self, key: str, data: bytes) -> bool:
        """See Store."""
        path = self._made(key)
        if path.exists():
            return False
        whole = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.new")
        try:
            write_atomically(whole, lambda stream: stream.write(data))
            return self._link(whole, path)
        finally:
            remove_if_there(whole)

    def replace(self, key: str, data: bytes, tag: str) -> bool:
        """See Store."""
        path = self._made(key)
        with self._locked():
            try:
                there = content_tag(path.read_bytes())
            except FileNotFoundError:
                return False
            if there != tag:
                return False
            write_atomically(path, lambda stream: stream.write(data))
            return True

    def list(self, prefix: str, after: str) -> Iterator[Entry]:
        """See Store."""
        return self._walk(self.root / prefix, prefix, after)

    def delete(self, key: str) -> None:
        """See Store."""
        with self._locked():  # otherwise a concurrent `replace` could restore it
            remove_if_there(self._path(key))

    def _walk(self, folder: Path, prefix: str, after: str) -> Iterator[Entry]:
        """Visit the files in the order of their keys; folders that sort before `after` are not opened."""
        try:
            with os.scandir(folder) as entries:
                found = [
                    (f"{prefix}{e.name}{'/' if e.is_dir() else ''}", e) for e in entries if not e.name.startswith(".")
                ]
        except (FileNotFoundError, NotADirectoryError):
            return
        for key, entry in sorted(found, key=lambda pair: pair[0]):
            if key.endswith("/"):
                if key > after or after.startswith(key):
                    yield from self._walk(Path(entry.path), key, after)
            elif key > after:
                try:
                    stat = entry.stat()
                except FileNotFoundError:  # deleted meanwhile
                    continue
                yield Entry(key, stat.st_size, f"{stat.st_mtime_ns}-{stat.st_size}-{stat.st_ino}")

    def _path(self, key: str) -> Path:
        return self.root / checked_key(key)

    def _made(self, key: str) -> Path:
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def _link(self, whole: Path, path: Path) -> bool:
        try:
            path.hardlink_to(whole)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            with self._locked():  # a file system without hard links
                if path.exists():
                    return False
                move(whole, path)
        return True

    def _locked(self) -> _Lock:
        self.root.mkdir(parents=True, exist_ok=True)
        return _Lock(self.root / _LOCK)


class _Lock(FileLock):
    """The lock of one folder, with a limit on waiting."""

    def __enter__(self) -> _Lock:
        if not self.acquire(timeout=_LOCK_SECONDS):
            raise TimeoutError(f"{self.path} has been locked for over {_LOCK_SECONDS:g} s.")
        return self
