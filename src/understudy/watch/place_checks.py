"""Possible problems of a run's place: its disk, its file system, and the clocks of its machines.

Pure functions of a `RunSnapshot`, for `health_checks.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from understudy.ledger.reading import too_long
from understudy.watch.formats import duration
from understudy.watch.snapshot import RunSnapshot
from understudy.watch.trouble import Trouble

NO_SPACE = 5_000_000
FULL_DISK = 50_000_000
LITTLE_SPACE = 500_000_000
CLOCKS_AGREE_SECONDS = 60.0


def _disk(seen: RunSnapshot) -> Iterator[Trouble]:
    refused = "No space left" in f"{seen.learner.state} {seen.learner.last_error}" and seen.learner.alive
    free = seen.disk_free
    full = refused or (free is not None and free < NO_SPACE)
    if full or (free is not None and free < FULL_DISK):
        left = "" if free is None else f" ({free / 1e6:.0f} MB are free)"
        yield Trouble(
            "disk full",
            "red",
            f"The disk is full{left}: games and models cannot be saved."
            if full
            else f"The disk is almost full{left}: soon games and models cannot be saved.",
            "Make room on it, or lower storage.archive_games and storage.archive_bytes; learning then resumes.",
        )
    elif free is not None and free < LITTLE_SPACE:
        yield Trouble(
            "disk nearly full",
            "amber",
            f"Only {free / 1e6:.0f} MB are free on the disk.",
            "Make room on it, or lower storage.archive_games and storage.archive_bytes.",
        )


def _clocks(seen: RunSnapshot) -> Iterator[Trouble]:
    newest = max((note.at for note in seen.buffer.recent), default=0.0)
    if newest > seen.at + CLOCKS_AGREE_SECONDS:
        yield Trouble(
            "clocks differ",
            "amber",
            f"A game in the buffer is dated {duration(newest - seen.at)} in the future.",
            "The clock was set back, or another machine's clock is wrong; the game is used anyway.",
        )
    ahead = seen.learner.clock_ahead
    if abs(ahead) > CLOCKS_AGREE_SECONDS:
        yield Trouble(
            "clocks differ",
            "amber",
            f"The learner's clock is {duration(abs(ahead))} {'ahead of' if ahead > 0 else 'behind'} "
            "the clock of this machine.",
            "Set both clocks (NTP). Games and heartbeats still work; times in charts are wrong.",
        )


def _read_only(seen: RunSnapshot) -> Iterator[Trouble]:
    """A copy for viewing may be read-only; a run in use may not."""
    if seen.read_only:
        used = seen.learner.alive or seen.in_progress
        yield Trouble(
            "read-only",
            "red" if used else "green",
            f"{', '.join(seen.read_only)} in {seen.run_dir} cannot be written to.",
            "It can be read. To record games and to learn, allow writing there.",
        )


def _place(seen: RunSnapshot) -> Iterator[Trouble]:
    """A network drive or a synchronised folder works for one machine, with limits."""
    if seen.network is not None:
        yield Trouble(
            "network drive",
            "green",
            f"The run directory is on a network file system ({seen.network}).",
            "One machine may use it: bots, learner and monitor on the same one. SQLite's write-ahead log does not work "
            "between machines, and locks may not. For several machines keep the run on a local disk and use "
            "`understudy sync`.",
        )
    if seen.synchronised is not None:
        yield Trouble(
            "synchronised folder",
            "green",
            f"The run directory is inside {seen.synchronised}, which is synchronised with other machines.",
            "Reading there works; bots and a learner should use a folder outside of it, since half-synchronised files "
            "and it makes conflict copies. For several machines use `understudy sync`.",
        )
    if seen.conflict_copies:
        yield Trouble(
            "conflict copies",
            "amber",
            f"{len(seen.conflict_copies)} conflict copies of a synchronising program are in the run directory, such as "
            f"{seen.conflict_copies[0]}. Nothing reads them.",
            f"`understudy doctor --fix {seen.run_dir}` sets them aside.",
        )


def _path(seen: RunSnapshot) -> Iterator[Trouble]:
    if too_long(Path(seen.run_dir, "understudy.sqlite")):
        yield Trouble(
            "path too long",
            "red",
            f"The path of the run is too long for SQLite: {len(os.fsencode(seen.run_dir))} bytes. Nothing is learned.",
            "Move the run to a folder with a shorter path.",
        )


CHECKS = (_path, _disk, _clocks, _read_only, _place)
