"""One look at a run directory: everything that a monitor shows, as far as it can be read.

A part that is missing, damaged or locked leaves its figures empty and a sentence in `problems`; nothing raises, and
nothing is written.
"""

from __future__ import annotations

import dataclasses
import functools
import heapq
import itertools
import json
import os
import shutil
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.errors import ModelDamaged, RunDirError
from understudy.files.npz import read_npz
from understudy.games.spec import WorkSummary, all_work, resolve
from understudy.ledger.connection import Ledger
from understudy.ledger.history import finite_numbers, result_kind
from understudy.models.state import MAX_BYTES
from understudy.rundir import RunDir
from understudy.status import is_alive, read_status

_RECENT = 5
_LOG_LINES = 12
_LOG_BYTES = 20_000
_MEASURED_FILES = 20_000  # beyond so many a look would take too long to repeat every two seconds
_LATEST_FILES = 100  # dealt with, over which a share of rejected ones is counted


@dataclass(frozen=True, slots=True)
class FileNote:
    """One file: `result` is what its name says, '' if it says nothing."""

    name: str
    result: str
    bytes: int
    at: float


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder of games. Of more than 20,000 files only so many are measured: `bytes` is None then."""

    path: str
    count: int = 0
    bytes: int | None = 0
    recent: tuple[FileNote, ...] = ()
    oldest_at: float | None = None


@dataclass(frozen=True, slots=True)
class Rejection:
    """A file that could not be used."""

    name: str
    reason: str
    at: float


@dataclass(frozen=True, slots=True)
class ModelNote:
    """The model that bots load; None where there is none, or where its file does not say."""

    path: str
    exists: bool = False
    version: int | None = None
    publisher: str = ""
    bytes: int = 0
    at: float | None = None
    updates: int | None = None
    games: int | None = None
    actions: tuple[str, ...] = ()
    kept: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class LearnerNote:
    """What the learner last said of itself. `stats` is `status.json` as it is."""

    seen: bool = False
    alive: bool = False
    state: str = ""
    pid: int | None = None
    heartbeat: float | None = None
    started_at: float | None = None
    errors: int = 0
    last_error: str | None = None
    paused_by_request: bool = False
    stats: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A run at one moment."""

    run_dir: str
    at: float
    exists: bool = False
    problems: tuple[str, ...] = ()
    buffer: Folder = Folder("")
    in_progress: int = 0
    last_move_at: float | None = None
    """When a game in progress last wrote a decision."""
    archive: Folder = Folder("")
    rejected: Folder = Folder("")
    reasons: tuple[Rejection, ...] = ()
    latest_files: int = 0
    """How many of the last files dealt with are counted below."""
    latest_rejected: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    results: dict[str, int] = field(default_factory=dict)
    """Of the last hundred games: won, lost, tied, other."""
    last_game_at: float | None = None
    last_version_at: float | None = None
    metrics: dict[str, float] = field(default_factory=dict)
    """Of the newest version that was trained."""
    model: ModelNote = ModelNote("")
    learner: LearnerNote = LearnerNote()
    workers: tuple[str, ...] = ()
    resources: dict[str, float | None] = field(default_factory=dict)
    disk_free: int | None = None
    disk_total: int | None = None
    work: dict[str, WorkSummary] = field(default_factory=dict)
    """What the background work of games has done, by its name."""
    log: tuple[str, ...] = ()
    events: tuple[dict[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return dataclasses.asdict(self)


def read_run(run: RunDir, *, recent: int = _RECENT, log_lines: int = _LOG_LINES) -> Snapshot:
    """Look at a run directory. It need not exist, be whole, or be writable."""
    now = time.time()
    if not run.root.is_dir():
        return Snapshot(str(run.root), now)
    problems: list[str] = []
    status = read_status(run.status)
    if not status and run.status.exists():
        problems.append(f"{run.status.name} cannot be read.")
    buffer = _folder(run.buffer, recent, problems)
    journals = list(_files(run.live, ".journal", problems))
    usage = _disk(run.root)
    seen = Snapshot(
        run_dir=str(run.root),
        at=now,
        exists=True,
        buffer=buffer,
        in_progress=len(journals),
        last_move_at=max((note.at for note in journals), default=None),
        archive=_folder(run.archive, recent, problems),
        rejected=_folder(run.rejected, recent, problems),
        reasons=_reasons_beside(run.rejected, recent),
        model=_model(run, problems),
        learner=_learner(status),
        workers=tuple(map(str, status.get("workers") or ())),
        resources=_plain_numbers(status.get("resources")),
        disk_free=None if usage is None else usage.free,
        disk_total=None if usage is None else usage.total,
        log=tuple(_tail(run.log, log_lines)),
        events=tuple(_parsed(_tail(run.events, log_lines))),
    )
    if run.ledger.exists():
        try:
            with open_ledger(run.ledger) as ledger:
                seen = dataclasses.replace(seen, **_from_ledger(run, ledger, seen, recent))
        except RunDirError as error:
            problems.append(f"{error}")
    return dataclasses.replace(seen, problems=tuple(dict.fromkeys(problems)))


@contextmanager
def open_ledger(path: Path) -> Iterator[Ledger]:
    """The ledger to read from; a copy of it where it is of an earlier version, or on a disk that cannot be written."""
    ledger = _opened(path)
    if ledger is not None:
        with ledger:
            yield ledger
    else:
        wal = path.with_name(f"{path.name}-wal")
        yield _copied(path, stamp_of(path), stamp_of(wal), threading.get_ident())


def _opened(path: Path) -> Ledger | None:
    try:
        ledger = Ledger(path, read_only=True)
        if ledger.up_to_date:
            return ledger
        ledger.close()
    except RunDirError:  # the copy says what is wrong, if it cannot be made either
        pass
    return None


@functools.lru_cache(maxsize=4)
def _copied(path: Path, _when: object, _wal_when: object, _thread: int) -> Ledger:
    return Ledger.copy_of(path)


def stamp_of(path: Path) -> tuple[int, int] | None:
    """What changes when a file does; None if it cannot be asked."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def _from_ledger(run: RunDir, ledger: Ledger, seen: Snapshot, recent: int) -> dict[str, Any]:
    """What the ledger knows better than the folders."""
    outcomes = ledger.games_by_outcome()
    games = ledger.query("SELECT result, ended, at FROM games ORDER BY rowid DESC LIMIT ?", (_LATEST_FILES,))
    rejections = ledger.query("SELECT name, reason, at FROM rejected ORDER BY at DESC LIMIT ?", (_LATEST_FILES,))
    dealt_with = sorted([(at, False) for *_, at in games] + [(at, True) for *_, at in rejections], reverse=True)
    latest = dealt_with[:_LATEST_FILES]
    count, size = ledger.archive_size()
    versions = ledger.query("SELECT at FROM versions ORDER BY version DESC LIMIT 1")
    trained = ledger.query(
        "SELECT seconds, loss, stats FROM versions WHERE loss IS NOT NULL ORDER BY version DESC LIMIT 1"
    )
    kinds = Counter(result_kind(result) for result, *_ in games)
    return {
        "archive": dataclasses.replace(seen.archive, count=count, bytes=size) if count else seen.archive,
        "reasons": tuple(Rejection(*row) for row in rejections[:recent]) or seen.reasons,
        "latest_files": len(latest),
        "latest_rejected": sum(rejected for _, rejected in latest),
        "outcomes": outcomes,
        "results": {name: kinds[kind] for kind, name in enumerate(("won", "lost", "tied", "other"))},
        "last_game_at": max((ended for _, ended, _ in games), default=None),
        "last_version_at": versions[0][0] if versions else None,
        "metrics": _metrics(*trained[0]) if trained else {},
        "work": _work(run, ledger, seen.learner.stats),
    }


def _work(run: RunDir, ledger: Ledger, status: dict[str, Any]) -> dict[str, WorkSummary]:
    waiting = int(_plain_numbers(status.get("jobs")).get("analyse waiting") or 0)
    return {name: resolve(work.summary)(ledger, run, waiting) for name, work in all_work().items()}


def _metrics(seconds: float, loss: float, stats: str) -> dict[str, float]:
    return finite_numbers({**json.loads(stats), "seconds": seconds, "loss": loss})


def _learner(status: dict[str, Any]) -> LearnerNote:
    if not status:
        return LearnerNote()
    state = str(status.get("state", ""))
    return LearnerNote(
        seen=True,
        alive=is_alive(status),
        state=state,
        pid=status.get("pid"),
        heartbeat=_number(status.get("heartbeat")),
        started_at=_number(status.get("started_at")),
        errors=int(_number(status.get("errors")) or 0),
        last_error=status.get("last_error"),
        paused_by_request=state.startswith("paused by request"),
        stats=status,
    )


def _model(run: RunDir, problems: list[str]) -> ModelNote:
    note = ModelNote(str(run.model), kept=_kept_versions(run.versions))
    try:
        stat = run.model.stat()
    except OSError:
        return note
    note = dataclasses.replace(note, exists=True, bytes=stat.st_size, at=stat.st_mtime)
    try:
        arrays = read_npz(run.model, max_bytes=MAX_BYTES, error=ModelDamaged, wanted=("meta",))
        meta = json.loads(arrays["meta"].item())
        counters = meta["counters"]
        return dataclasses.replace(
            note,
            version=int(meta["version"]),
            publisher=str(meta["publisher"]),
            updates=int(counters["updates"]),
            games=int(counters["games"]),
            actions=tuple(map(str, meta["actions"])),
        )
    except (ModelDamaged, OSError, KeyError, TypeError, ValueError, AttributeError) as error:
        problems.append(f"The model {run.model.name} cannot be read: {error}")
        return note


def _kept_versions(folder: Path) -> tuple[int, ...]:
    try:
        return tuple(sorted(int(file.stem) for file in folder.glob("*.npz") if file.stem.isdecimal()))
    except OSError:
        return ()


def _folder(path: Path, recent: int, problems: list[str]) -> Folder:
    measured = list(itertools.islice(_files(path, ".npz", problems), _MEASURED_FILES))
    count = len(measured) if len(measured) < _MEASURED_FILES else sum(1 for _ in _names(path, ".npz", problems))
    return Folder(
        str(path),
        count,
        sum(file.bytes for file in measured) if count == len(measured) else None,
        tuple(heapq.nlargest(recent, measured, key=lambda file: (file.at, file.name))),
        min((file.at for file in measured), default=None),
    )


def _files(folder: Path, suffix: str, problems: list[str]) -> Iterator[FileNote]:
    for entry in _names(folder, suffix, problems):
        try:
            stat = entry.stat()
        except OSError:  # it has just been moved
            continue
        yield FileNote(entry.name, _result(entry.name), stat.st_size, stat.st_mtime)


def _names(folder: Path, suffix: str, problems: list[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry for entry in entries if entry.name.endswith(suffix) and not entry.name.startswith("."))
    except FileNotFoundError:
        return
    except OSError as error:
        problems.append(f"{folder} cannot be read: {error.strerror}.")


def _result(name: str) -> str:
    """What the name of a game's file says of its end: game_20260125_143022_Victory_<id>.npz."""
    parts = name.removesuffix(".npz").split("_")
    return parts[3] if len(parts) > 3 and parts[0] == "game" else ""


def _reasons_beside(folder: Path, recent: int) -> tuple[Rejection, ...]:
    """The latest reasons from the notes beside the files, for when the ledger cannot tell."""
    notes = heapq.nlargest(recent, _files(folder, ".reason.json", []), key=lambda note: note.at)
    found = []
    for note in notes:
        try:
            content = json.loads((folder / note.name).read_bytes())
            found.append(Rejection(str(content["file"]), str(content["reason"]), note.at))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return tuple(found)


def _tail(path: Path, lines: int) -> list[str]:
    """The last lines of a text file, without reading all of it."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(os.fstat(stream.fileno()).st_size - _LOG_BYTES, 0))
            text = stream.read().decode(errors="replace")
    except OSError:
        return []
    return list(deque(text.splitlines(), lines))


def _parsed(lines: list[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:  # the line was cut, or is being written
            continue
        if isinstance(event, dict):
            yield event


def _disk(root: Path) -> Any:
    try:
        return shutil.disk_usage(root)
    except OSError:
        return None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _plain_numbers(values: object) -> dict[str, Any]:
    return {str(key): _number(value) for key, value in values.items()} if isinstance(values, dict) else {}
