"""Conflict copies: files that synchronisation programs create when two versions of one file exist."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

# How Dropbox, Syncthing, Nextcloud and OneDrive name the second of two versions. Names of games never contain this.
_CONFLICT = re.compile(r"(?:conflicted copy|sync-conflict|\(conflict|_conflict-|\bconflict\b.*\d{4})", re.I)


def conflict_copies(folders: Iterable[Path]) -> Iterator[Path]:
    """Files that a synchronisation program created because two versions of one file exist."""
    for folder in folders:
        try:
            yield from sorted(path for path in folder.iterdir() if is_conflict_copy(path.name))
        except OSError:
            continue


def is_conflict_copy(name: str) -> bool:
    """Whether a file's name is that of a conflict copy."""
    return _CONFLICT.search(name) is not None
