"""Writes files so that readers see all of a file or none of it: temporary name, fsync, rename."""

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

# Windows refuses to replace or remove a file that somebody has open; readers here are quick, so waiting helps.
# Elsewhere a PermissionError is the truth, and waiting would only delay it.
_RETRY_SECONDS = 2.0 if sys.platform == "win32" else 0.0
_TEMPORARY = re.compile(r"\..+\.\d+-[0-9a-f]{8}\.tmp")


def write_atomically(path: Path, write: Callable[[BinaryIO], object], *, durable: bool = True) -> None:
    """Make `path` appear whole, or leave it as it was: `write` fills a temporary file that then takes the name.

    When this returns, the file survives a power cut; `durable=False` promises only whole files, and is faster.
    """
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "There is something else than a file with this name", str(path))
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
        # Whatever cannot be removed now is swept by remove_stale_temporaries later; the cause matters more.
        with contextlib.suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, str(temporary)):
            raise OSError(error.errno, error.strerror, str(path)) from error
        error.add_note(f"while writing {path}")
        raise


def write_content(path: Path, content: bytes) -> None:
    """Make a file with this content appear whole, or leave it as it was."""
    write_atomically(path, lambda stream: stream.write(content))


def move(source: Path, target: Path) -> None:
    """Rename, replacing `target`; on Windows, wait a little until readers close it.

    To another disk (a folder may be a link) the file is copied whole before it is removed here.
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
    """`target`, or the first of name~1, name~2 … (before the suffix) that no file has."""
    candidate, number = target, 0
    while os.path.lexists(candidate):
        number += 1
        candidate = target.with_name(f"{target.stem}~{number}{target.suffix}")
    return candidate


def make_folder(folder: Path) -> None:
    """Make a folder and its parents so that they survive a power cut; one that is there already stays."""
    if not folder.is_dir():
        if not folder.parent.is_dir():
            make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        _sync_folder(folder.parent)


def remove_if_there(path: Path) -> bool:
    """Remove a file; False if there was none."""
    try:
        _patiently(path.unlink)
    except FileNotFoundError:
        return False
    return True


def remove_stale_temporaries(folder: Path, older_than_seconds: float) -> int:
    """Remove what killed processes left half-written in `folder`; return how many files that was."""
    oldest_kept = time.time() - older_than_seconds
    removed = 0
    with os.scandir(folder) as entries:
        for entry in entries:
            if not _TEMPORARY.fullmatch(entry.name):
                continue
            # Another process may be sweeping too, or still be writing: both are fine, and neither is an error.
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
    """Force a rename to disk. Windows has no such call: there NTFS's own journal orders renames."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that cannot do this for folders
            raise
    finally:
        os.close(descriptor)
