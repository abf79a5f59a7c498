"""Writes files so that readers see either the whole file or none: temporary name, fsync, rename."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

# Windows refuses to replace or remove a file that is open in another process. Readers here are quick, so waiting helps.
# On other systems a PermissionError is permanent.
_RETRY_SECONDS = 2.0 if sys.platform == "win32" else 0.0
_TEMPORARY = re.compile(r"\..+\.\d+-[0-9a-f]{8}\.tmp")


def write_atomically(path: Path, write: Callable[[BinaryIO], object], *, durable: bool = True) -> None:
    """Write `path` atomically: `write` fills a temporary file that then gets the name. On an error, `path` is
    unchanged.

    When this returns, the file survives a power cut; `durable=False` guarantees only whole files, and is faster.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "Something other than a file has this name", str(path))
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{os.urandom(4).hex()}.tmp")
    try:
        with temporary.open("xb") as stream:
            write(stream)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        move(temporary, path)
        if durable:
            _sync_folder(path.parent)
    except BaseException as error:
        # What cannot be removed now, remove_stale_temporaries removes later; the original error matters more.
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, str(temporary)):
            raise OSError(error.errno, error.strerror, str(path)) from error
        error.add_note(f"while writing {path}")
        raise


def write_content(path: Path, content: bytes) -> None:
    """Write a file with this content atomically."""
    write_atomically(path, lambda stream: stream.write(content))


def move(source: Path, target: Path) -> None:
    """Rename, replacing `target`. On Windows, wait a little for readers to close it.

    If `target` is on another disk (a folder may be a link), the file is copied completely before the source is removed.
    """
    try:
        _patiently(lambda: source.replace(target))
    except OSError as error:
        if error.errno != errno.EXDEV or not source.is_file():
            raise
        with source.open("rb") as stream:
            write_atomically(target, lambda copy: shutil.copyfileobj(stream, copy))
        remove_if_there(source)


def free_name(target: Path) -> Path:
    """`target`, or the first free one of name~1, name~2 … (before the suffix)."""
    candidate, number = target, 0
    while os.path.lexists(candidate):
        number += 1
        candidate = target.with_name(f"{target.stem}~{number}{target.suffix}")
    return candidate


def make_folder(folder: Path) -> None:
    """Create a folder and its parents so that they survive a power cut; an existing folder is kept."""
    if not folder.is_dir():
        if not folder.parent.is_dir():
            make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync_folder(folder.parent)


def remove_if_there(path: Path) -> bool:
    """Remove a file; False if it did not exist."""
    try:
        _patiently(path.unlink)
    except FileNotFoundError:
        return False
    return True


def remove_stale_temporaries(folder: Path, older_than_seconds: float) -> int:
    """Remove half-written files of killed processes in `folder`; return how many there were."""
    oldest_kept = time.time() - older_than_seconds
    removed = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if not _TEMPORARY.fullmatch(entry.name):
                continue
            # Another process may be removing them too, or still be writing one; neither is an error.
            with contextlib.suppress(FileNotFoundError, PermissionError):
                if entry.stat(follow_symlinks=False).st_mtime < oldest_kept:
                    os.unlink(entry.path)  # noqa: PTH108 - scandir gives strings
                    removed += 1
    return removed


def _patiently(action: Callable[[], object]) -> None:
    deadline = time.monotonic() + _RETRY_SECONDS
    pause = 0.001
    while True:
        try:
            action()
        except PermissionError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(pause)
            pause = min(2 * pause, 0.1)
        else:
            return


def _sync_folder(folder: Path) -> None:
    """Force a rename to disk. Windows has no such call; there the journal of NTFS orders renames."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot sync folders
            raise
    finally:
        os.close(descriptor)
