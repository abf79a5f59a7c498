"""The records of games in a run directory."""

from __future__ import annotations

from pathlib import Path

from understudy.rundir import RunDir

_SUFFIXES = (".csa", ".kif", ".kifu")
_PLACES = ("*.*", "games/*.*", "games/*/*.*", "data/games/*.*", "matches/*.*")
_MOST = 300


def records_of(run: RunDir) -> dict[str, Path]:
    """The records in a run (.csa, .kif, .kifu), newest first, by their path in the run directory."""
    found = []
    for pattern in _PLACES:
        for path in run.root.glob(pattern):
            if path.suffix.lower() in _SUFFIXES and path.is_file() and not path.is_symlink():
                found.append((path.stat().st_mtime, path))
    return {path.relative_to(run.root).as_posix(): path for _, path in sorted(found, reverse=True)[:_MOST]}


def wanted(run: RunDir, _snapshot: object) -> bool:
    """Whether the run has a record to show."""
    return bool(records_of(run))
