"""Opens the ledger of a run for reading, whatever its version and wherever it is."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from understudy.errors import RunDirError
from understudy.ledger.connection import Ledger
from understudy.ledger.gate import GateLedger

_Kind = TypeVar("_Kind", bound=Ledger)


@contextmanager
def open_ledger(path: Path) -> Iterator[Ledger]:
    """The ledger, opened for reading; a copy of it if it is of an earlier version or on a read-only disk."""
    with _open(Ledger, path) as ledger:
        yield ledger


@contextmanager
def open_gate_ledger(path: Path) -> Iterator[GateLedger]:
    """The same, with the gate's tables."""
    with _open(GateLedger, path) as ledger:
        yield ledger


@contextmanager
def _open(kind: type[_Kind], path: Path) -> Iterator[_Kind]:
    ledger = _opened(kind, path)
    if ledger is not None:
        with ledger:
            yield ledger
    else:
        wal = path.with_name(f"{path.name}-wal")
        copy = _copied(kind is GateLedger, path, stamp_of(path), stamp_of(wal), threading.get_ident())
        assert isinstance(copy, kind)
        yield copy


def _opened(kind: type[_Kind], path: Path) -> _Kind | None:
    try:
        ledger = kind(path, read_only=True)
        if ledger.up_to_date:
            return ledger
        ledger.close()
    except RunDirError:  # if no copy can be made either, its error says what is wrong
        pass
    return None


@functools.lru_cache(maxsize=4)
def _copied(gate: bool, path: Path, _when: object, _wal_when: object, _thread: int) -> Ledger:
    return (GateLedger if gate else Ledger).copy_of(path)


def stamp_of(path: Path) -> tuple[int, int] | None:
    """A value that changes with the file; None if it cannot be determined."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size
