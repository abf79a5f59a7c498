"""Opens the ledger's file for reading, also in places that cannot be written to."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

_NO_FILES_BESIDE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)


_MOST_BYTES = 512  # of a path, including SQLite's suffixes; Windows has its own limit


def too_long(path: Path) -> bool:
    """Whether a path is too long for SQLite on Unix."""
    return os.name == "posix" and len(os.fsencode(path.absolute())) + len("-journal") >= _MOST_BYTES


def open_to_read(path: Path) -> sqlite3.Connection:
    """A read-only connection.

    With a write-ahead log, SQLite creates files beside the ledger even for reading. On a read-only disk or folder, the
    ledger is read as an immutable file; if it has a log, a copy in memory is read.
    """
    try:
        return _connected(path, "mode=ro")
    except sqlite3.OperationalError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in _NO_FILES_BESIDE or not path.exists():
            raise
    wal = path.with_name(f"{path.name}-wal")
    if not wal.exists() or not wal.stat().st_size:
        return _connected(path, "mode=ro&immutable=1")
    memory = sqlite3.connect(":memory:", isolation_level=None)
    with tempfile.TemporaryDirectory() as folder, _opened(copy_files(path, Path(folder))) as copy:
        copy.backup(memory)
    return memory


def copy_files(path: Path, folder: Path) -> Path:
    """Copy the ledger's file and its write-ahead log to another folder; returns the path of the copy."""
    for suffix in ("", "-wal"):
        with contextlib.suppress(FileNotFoundError):
            shutil.copyfile(f"{path}{suffix}", folder / f"ledger{suffix}")
    return folder / "ledger"


def _opened(path: Path) -> contextlib.closing[sqlite3.Connection]:
    return contextlib.closing(sqlite3.connect(path))


def _connected(path: Path, how: str) -> sqlite3.Connection:
    db = sqlite3.connect(f"{path.absolute().as_uri()}?{how}", uri=True, timeout=10, isolation_level=None)
    try:
        db.execute("PRAGMA user_version")  # opens the files
    except sqlite3.Error:
        db.close()
        raise
    return db
