"""The displayed runs: found by name, read only while there is a visitor, and limited to their folders."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from understudy.errors import RunDirError
from understudy.games.spec import Page, all_pages, page_wanted
from understudy.machine.load_log import Load, read_loads
from understudy.rundir import RunDir
from understudy.watch.dashboard.opponents import latest_opponents
from understudy.watch.health import Health, judge
from understudy.watch.history import RunHistory, read_history
from understudy.watch.ledger_reading import open_ledger, stamp_of
from understudy.watch.snapshot import RunSnapshot, read_run
from understudy.watch.update_history import with_updates

T = TypeVar("T")
FOLDERS = ("buffer", "archive", "rejected")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}")

# All reading is done by one thread: this keeps the event loop free, and the disk load independent of the number of
# visitors.
_reader = ThreadPoolExecutor(1, thread_name_prefix="reads runs")


class Watched:
    """One run and its last snapshot."""

    def __init__(self, name: str, run: RunDir, refresh_seconds: float) -> None:
        self.name = name
        self.run = run
        self.snapshot = RunSnapshot(str(run.root), time.time())
        self.health = replace(judge(self.snapshot), light="grey", sentence="Not read yet.")
        self.history = RunHistory()
        self.loads: list[Load] = []
        self.remarks_stamp: object = None
        self.opponents: dict[str, str] = {}
        """Of the latest games, by file name."""
        self.pages: tuple[Page, ...] = ()
        """The pages of games that have something to show for this run."""
        self._refresh_seconds = refresh_seconds
        self._seen_at = -1e9
        self._known: object = None
        self._loads_known: object = None
        self._lock = asyncio.Lock()

    async def look(self, *, at_once: bool = False) -> None:
        """Read the run again, unless this was just done for another visitor."""
        async with self._lock:
            if not at_once and time.monotonic() - self._seen_at < self._refresh_seconds * 0.9:
                return
            self.snapshot, self.health, self.history = await in_reader(self._read)
            self._seen_at = time.monotonic()

    def file(self, folder: str, name: str) -> Path | None:
        """The file of a game; None unless it is a regular file with that name in that folder of this run."""
        if folder not in FOLDERS or not _FILE_NAME.fullmatch(name):
            return None
        root = self.run.root.resolve()
        path = (root / "data" / folder / name).resolve()
        inside = path.parent == root / "data" / folder and path.name == name
        return path if inside and path.is_file() else None

    def _read(self) -> tuple[RunSnapshot, Health, RunHistory]:
        snapshot = read_run(self.run, recent=8, log_lines=40)
        known = (snapshot.last_version_at, tuple(snapshot.outcomes.items()), stamp_of(self.run.updates))
        history = self.history
        if known != self._known and self.run.ledger.exists():
            try:
                with open_ledger(self.run.ledger) as ledger:
                    history = with_updates(read_history(ledger), self.run.updates)
                self._known = known
            except RunDirError:
                pass  # the snapshot reports this problem
        if (stamp := stamp_of(self.run.loads)) != self._loads_known:
            self.loads, self._loads_known = read_loads(self.run.loads), stamp
        self.remarks_stamp = stamp_of(self.run.remarks)
        folders = (snapshot.buffer, snapshot.archive, snapshot.rejected)
        latest = [Path(folder.path, note.name) for folder in folders for note in folder.recent]
        self.opponents = latest_opponents(self.run, latest, self.opponents)
        self.pages = tuple(page for page in all_pages() if page in self.pages or page_wanted(page, self.run, snapshot))
        return snapshot, judge(snapshot), history


class Runs:
    """The runs in the given order, each with a unique name."""

    def __init__(self, run_dirs: Sequence[RunDir], refresh_seconds: float) -> None:
        self.refresh_seconds = refresh_seconds
        self._runs: dict[str, Watched] = {}
        for run in run_dirs:
            base = re.sub(r"[^A-Za-z0-9._-]+", "-", run.root.name).strip(".-") or "run"
            taken = sum(name == base or name.startswith(f"{base}~") for name in self._runs)
            name = f"{base}~{taken + 1}" if taken else base
            self._runs[name] = Watched(name, run, refresh_seconds)

    def __iter__(self) -> Iterator[Watched]:
        return iter(self._runs.values())

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def names(self) -> list[str]:
        """The names of the runs."""
        return list(self._runs)

    def get(self, name: str) -> Watched | None:
        """The run with this name."""
        return self._runs.get(name)


async def in_reader(read: Callable[[], T]) -> T:
    """Read from disk without blocking the pages."""
    return await asyncio.get_running_loop().run_in_executor(_reader, read)
