"""The buffer: which games wait, in which order, and which exceed its limits."""

from __future__ import annotations

import contextlib
import heapq
import os
import re
import time
from collections.abc import Container, Iterator
from pathlib import Path
from typing import NamedTuple

from understudy.ledger.connection import LedgerGame
from understudy.settings import StorageSettings

_TIMED_NAME = re.compile(r"game_(\d{8}_\d{6})_")
_OWN_NAME = re.compile(r"game_\d{8}_\d{6}_([A-Za-z0-9-]+)_([0-9a-f]{16})\.npz")
_ROOM = 0.9  # share of a limit that stays in use after it was exceeded, so that it is not exceeded again at once


class WaitingFile(NamedTuple):
    """A file in the buffer."""

    key: tuple[str, str]
    """Sorts by age, and by random id within a second. Sorted by result, a batch would hold only one kind of result."""
    name: str
    bytes: int
    at: float

    @property
    def record(self) -> LedgerGame | None:
        """What the file name says about the game; None if a foreign program named it. Cheaper than reading the file."""
        match = _OWN_NAME.fullmatch(self.name)
        return match and LedgerGame(match[2], self.name, match[1], 0, 0.0, self.bytes, ended=self.at)


def list_games(folder: Path, most: int, *, newest_first: bool, without: Container[str] = ()) -> tuple[int, list[str]]:
    """The number of waiting games, and the names of the oldest (or newest) `most` of them. Memory is bounded by `most`.

    `without` names files to ignore for now.
    """
    count = 0

    def keys() -> Iterator[tuple[tuple[str, str], str]]:
        nonlocal count
        with os.scandir(folder) as entries:
            for entry in entries:
                if is_game(entry.name) and entry.name not in without:
                    count += 1
                    yield _age_key(entry), entry.name

    chosen = (heapq.nlargest if newest_first else heapq.nsmallest)(most, keys())
    return count, [name for _, name in chosen]


def surplus(folder: Path, storage: StorageSettings) -> list[WaitingFile]:
    """The oldest games beyond the buffer's limits, oldest first; [] if it is within them."""
    count = size = 0
    for _, stat in _measured(folder):
        count, size = count + 1, size + stat.st_size
    if count <= storage.buffer_games and size <= storage.buffer_bytes:
        return []
    files = sorted(WaitingFile(_age_key(e), e.name, stat.st_size, stat.st_mtime) for e, stat in _measured(folder))
    count, size = len(files), sum(file.bytes for file in files)
    leaving = 0
    while leaving < len(files) and (count > _ROOM * storage.buffer_games or size > _ROOM * storage.buffer_bytes):
        count, size = count - 1, size - files[leaving].bytes
        leaving += 1
    return files[:leaving]


def _measured(folder: Path) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_game(entry.name):
                with contextlib.suppress(OSError):  # removed, or a dangling link
                    yield entry, entry.stat()


def is_game(name: str) -> bool:
    """Whether a file of this name is a game; temporary files are not."""
    return name.endswith(".npz") and not name.startswith(".")


def _age_key(entry: os.DirEntry[str]) -> tuple[str, str]:
    """The time a game ended, as sortable text, and its id. The file's modification time is used if the name has no
    time."""
    name = entry.name
    if match := _TIMED_NAME.match(name):
        return match[1], name[name.rfind("_") :]
    try:
        return time.strftime("%Y%m%d_%H%M%S", time.localtime(max(entry.stat().st_mtime, 0.0))), name
    except OSError:  # removed, or a dangling link
        return "", name
