"""Replay analysis as background jobs: finds replays, records results, and writes the build orders."""

from __future__ import annotations

import hashlib
import importlib.util
import logging
import math
import os
import stat as stat_module
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from understudy.errors import RunDirError, SettingsError
from understudy.files.atomic import move
from understudy.files.locks import FileLock
from understudy.games.zerg.replays.build_orders import read_evidence, summarize, write_build_orders
from understudy.games.zerg.replays.game_kinds import PROFESSIONALS, kind_of, names_in
from understudy.games.zerg.replays.ledger import ReplayTable
from understudy.games.zerg.replays.settings import ReplaySettings
from understudy.jobs.queue import JobOutcome
from understudy.ledger.connection import Ledger
from understudy.ledger.jobs import MOST_ATTEMPTS, Job, Kind
from understudy.rundir import RunDir
from understudy.sc2.errors import ReplayError
from understudy.settings import Settings

logger = logging.getLogger(__name__)

_FUNCTION = "understudy.games.zerg.replays.analysis:analyse"
_SUFFIX = ".sc2replay"
_SETTLED_SECONDS = 2.0  # a file changed more recently may still be written by the game
_SLICE_SECONDS = 0.1  # time limit of one scan of a large folder
_WRITE_SECONDS = 10.0  # least time between two writes of the file
_WRITE_SHARE = 0.05  # largest share of the time spent on writing it
_LAST_WRITE_SECONDS = 1.0  # a slower write is left to the next start


class ReplayJobs:
    """The replays of one folder, and what the ledger of a run knows about them.

    With `at_once`, for use in the foreground, recently changed files are read too, the folder is scanned once, and
    the file is written at the end.
    """

    kind: Kind = "analyse"

    def __init__(
        self,
        folder: Path,
        run: RunDir,
        ledger: Ledger,
        settings: ReplaySettings,
        *,
        at_once: bool = False,
    ) -> None:
        self.folder = folder
        self._at_once = at_once
        self._run = run
        self._ledger = ledger
        self._settings = settings
        self._table = ReplayTable(ledger)
        self._known = self._table.known_files()
        self._seen: set[str] = set()
        self._files: Iterator[Path] | None = None
        self._unwritten = True
        self._next_scan = self._next_write = 0.0
        self._write_seconds = 0.0  # duration of the last write
        self.copies = 0
        self.files_written = 0
        self.news: list[tuple[str, dict[str, str]]] = []
        outcomes = self._table.by_outcome()
        self.done = outcomes["analysed"]
        self.set_aside = outcomes["rejected"] + outcomes["set aside"]

    @property
    def looking(self) -> bool:
        """Whether the last `scan` ran out of time before it had seen all files."""
        return self._files is not None

    def look(self, *, idle: bool) -> list[Job]:
        """Scan for new replays when a scan is due; write the file when there are none, and at intervals."""
        jobs = []
        if time.monotonic() >= self._next_scan or self.looking:
            jobs = self.scan(_SLICE_SECONDS)
            self._next_scan = math.inf if self._at_once else time.monotonic() + self._settings.scan_seconds
        if not self._at_once and (time.monotonic() >= self._next_write or (idle and not jobs)):
            self.write()
        return jobs

    def scan(self, seconds: float = math.inf) -> list[Job]:
        """Scan for new replays within a time limit, one job for each; the next call continues."""
        until = time.monotonic() + seconds
        jobs = []
        self._files = self._files or replay_files(self.folder)
        for path in self._files:
            if job := self._job_for(path):
                jobs.append(job)
            if time.monotonic() >= until:
                return jobs
        self._files = None
        return jobs

    def _job_for(self, path: Path) -> Job | None:
        """The job for a file; None if it is known. Only workers open files, because files in a folder are untrusted."""
        try:
            stat = path.stat()
        except OSError:  # deleted or unreadable: the next scan tries again
            return None
        key = _key_of(path, stat)
        if key in self._seen or (stat_module.S_ISREG(stat.st_mode) and self._may_be_growing(stat.st_mtime)):
            return None
        self._seen.add(key)
        if key in self._known:
            self.copies += 1
            return None
        argument = {"path": str(path), "at_most": self._settings.file_bytes}
        limits = (self._settings.time_limit, self._settings.memory_limit)
        job = Job(self.kind, key, path.name, _FUNCTION, argument, *limits)
        if unusable := self._unusable(stat):
            self._record(job.key, job, "rejected", unusable, [], 0.0)
            return None
        return job

    def _unusable(self, stat: os.stat_result) -> str | None:
        """Why a file with this type and size needs no worker; None if it does."""
        if not stat_module.S_ISREG(stat.st_mode):
            return "It is not a file but a pipe, a device or a folder."
        if stat.st_size > self._settings.file_bytes:
            return f"The file is larger than {self._settings.file_bytes:,} bytes, the limit for a replay."
        return None

    def _may_be_growing(self, changed_at: float) -> bool:
        return not self._at_once and abs(time.time() - changed_at) < _SETTLED_SECONDS

    def settle(self, outcome: JobOutcome) -> bool:
        """Record the result of a job; False if it should be retried."""
        job, result = outcome.job, outcome.result
        if result is not None:
            refused, note, observations = result.get("refused"), result.get("note"), result.get("observations", [])
            kind = "analysed" if refused is None else "rejected"
            if not self._record(result["replay"], job, kind, refused or note, observations, outcome.seconds):
                self.copies += 1
        elif outcome.refusal is not None:
            self._record(job.key, job, "rejected", outcome.refusal, [], outcome.seconds)
        elif not Path(job.argument["path"]).exists():  # moved or deleted meanwhile
            self._seen.discard(job.key)  # the next scan finds it under its new name
        else:
            reason = outcome.failure or "It failed."
            times = self._ledger.record_failure(job.kind, job.key, reason)
            if times < MOST_ATTEMPTS:
                return False
            self._record(job.key, job, "set aside", f"{reason} Tried {times} times.", [], outcome.seconds)
        return True

    def close(self) -> None:
        """Write the file, unless that takes too long; then the next start writes it."""
        if self._at_once or self._write_seconds <= _LAST_WRITE_SECONDS:
            self.write()

    def write(self) -> bool:
        """Merge the ledger's observations into the file of build orders; returns whether it changed."""
        if not self._unwritten:
            return False
        began = time.monotonic()
        try:
            return self._write()
        finally:
            self._write_seconds = time.monotonic() - began
            self._next_write = time.monotonic() + max(_WRITE_SECONDS, self._write_seconds / _WRITE_SHARE)

    def _write(self) -> bool:
        with FileLock(self._run.build_orders_lock):  # another writer must not come between reading and writing
            rows = self._table.all()
            observations = {f"{row[0]}:{i}": self._known_as(facts) for row in rows for i, facts in enumerate(row[4])}
            self._unwritten = False
            if not observations:
                return False
            content = summarize(self._evidence_there() | observations, self._settings.starting_workers)
            changed = write_build_orders(self._run.build_orders, content)
            self.files_written += changed
            if changed:
                facts = {"Analyzed": f"{self.done} replays", "Rejected": f"{self.set_aside} replays"}
                self.news.append(("Build Orders Updated", facts))
            return changed

    def _known_as(self, facts: dict[str, Any]) -> dict[str, Any]:
        """The observation with its kind, which depends on the names in the settings and may change."""
        own = names_in(self._settings.own_players)
        professionals = PROFESSIONALS | names_in(self._settings.professionals)
        name, opponent = facts.get("name", ""), facts.get("opponent", "")
        return facts | {"kind": kind_of(facts["kind"], name, opponent, own, professionals)}

    def _evidence_there(self) -> dict[str, Any]:
        """The observations in the file. A file that cannot be read is renamed, not overwritten."""
        path = self._run.build_orders
        try:
            return read_evidence(path)
        except ReplayError as error:
            kept = path.with_name(f"{path.name}.{int(time.time())}.unreadable")
            move(path, kept)
            logger.warning("%s It is kept as %s.", error, kept.name)
            return {}

    def _record(
        self, replay: str, job: Job, outcome: str, reason: str | None, observations: list[object], seconds: float
    ) -> bool:
        """Record what a file holds; False if the same content was recorded before."""
        self._known.add(job.key)
        new = self._table.record(replay, job.name, outcome, reason, observations, seconds, file=job.key)
        if new:
            self._unwritten = True
            self.done += outcome == "analysed"
            self.set_aside += outcome != "analysed"
        return new


def start(run: RunDir, ledger: Ledger, settings: Settings, say: Callable[[str], None]) -> ReplayJobs | None:
    """The replays for a learner to analyse; None, with a message, if the folder is missing."""
    require_reader()
    try:
        folder = replay_folder(settings.replays.directory)
    except RunDirError as error:
        say(f"No replays are analysed. {error}")
        return None
    say(f"Watching {folder} for replays")
    return ReplayJobs(folder, run, ledger, settings.replays)


def require_reader() -> None:
    """Raise SettingsError if sc2reader is missing; otherwise every replay would be set aside."""
    if importlib.util.find_spec("sc2reader") is None:
        raise SettingsError("Replay analysis needs sc2reader. Install it with: pip install understudy[replays]")


def replay_folder(setting: str) -> Path:
    """The folder that the setting names, or the game's own; RunDirError if there is none."""
    if setting:
        folder = Path(setting).expanduser().absolute()
        if not folder.is_dir():
            raise RunDirError(f"There is no replay folder at {folder}. Set REPLAY_ARCHIVE_DIR or name one.")
        return folder
    home = Path.home()
    candidates = {
        "win32": [home / "Documents/StarCraft II/Accounts", home / "OneDrive/Documents/StarCraft II/Accounts"],
        "darwin": [home / "Library/Application Support/Blizzard/StarCraft II/Accounts"],
    }.get(sys.platform, [home / "StarCraftII/Replays"])
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise RunDirError(
        f"There is no replay folder of the game at {' or '.join(map(str, candidates))}. "
        "Set REPLAY_ARCHIVE_DIR or name a folder."
    )


def _key_of(path: Path, stat: os.stat_result) -> str:
    """The same for the same unchanged file, also after a restart."""
    return hashlib.sha256(os.fsencode(path) + f"\0{stat.st_size}\0{stat.st_mtime_ns}".encode()).hexdigest()


def replay_files(folder: Path) -> Iterator[Path]:
    """Every replay below the folder, in the order of names. Links to folders are not followed."""
    for root, folders, files in os.walk(folder):
        folders.sort()
        yield from (Path(root, name) for name in sorted(files) if name.lower().endswith(_SUFFIX))
