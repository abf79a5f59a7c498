"""Conflict copies: what programs for synchronising folders make of two versions of one file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

# What Dropbox, Syncthing, Nextcloud and OneDrive call the second of two versions. A game's name has no such part.
_CONFLICT = re.compile(r"(?:conflicted copy|sync-conflict|\(conflict|_conflict-|\bconflict\b.*\d{4})", re.I)


def conflict_copies(folders: Iterable[Path]) -> Iterator[Path]:
    """Files that a program for synchronising folders has made of two versions of one file."""
    for folder in folders:
        try:
            yield from sorted(path for path in folder.iterdir() if is_conflict_copy(path.name))
        except OSError:
            continue


def is_conflict_copy(name: str) -> bool:
    """Whether a file's name is that of a conflict copy."""
    return _CONFLICT.search(name) is not None
