"""RunSnapshot: everything that a monitor shows of a run at one moment, as far as it can be read.

If a part is missing, damaged or locked, its values stay empty and `problems` gets a sentence; no error is raised, and
nothing is written.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from understudy.errors import ModelDamaged, RunDirError
from understudy.files.conflicts import conflict_copies
from understudy.files.npz import read_npz
from understudy.games.spec import WorkSummary, all_work, resolve
from understudy.ledger.connection import Ledger
from understudy.ledger.history import PURPOSE, finite_numbers, result_kind
from understudy.machine.file_systems import network_kind, synchronised_by
from understudy.models.state import MAX_BYTES
from understudy.run.state import Activity, RunState
from understudy.run.status import is_alive, read_status
from understudy.rundir import RunDir
from understudy.watch import formats
from understudy.watch.content_checks import LEDGER_SECONDS, UNCHECKED, Contents, check_contents, learner_died
from understudy.watch.ledger_reading import open_ledger
from understudy.watch.run_files import NO_FOLDER, Folder, Rejection, files_in, parsed, read_folder, reasons_beside, tail

_RECENT = 5
_LOG_LINES = 12
_LATEST_FILES = 100  # processed files, over which the share of rejected ones is computed
_LATEST_GAMES = 100  # of the bot, whose results are counted


@dataclass(frozen=True, slots=True)
class ModelNote:
    """The model that bots load; a value is None if there is no model, or if its file does not have it."""

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
    settings: dict[str, Any] = field(default_factory=dict)
    """Settings of network and training, by full name."""


@dataclass(frozen=True, slots=True)
class LearnerNote:
    """The learner's last status. `stats` is the content of `status.json`."""

    seen: bool = False
    alive: bool = False
    state: str = ""
    pid: int | None = None
    heartbeat: float | None = None
    started_at: float | None = None
    state_since: float | None = None
    errors: int = 0
    last_error: str | None = None
    paused_by_request: bool = False
    died: bool = False
    """Whether it died: nobody holds its lock, although its last heartbeat is recent."""
    clock_ahead: float = 0.0
    """Seconds by which its clock is ahead of this machine's, while it is alive."""
    stats: dict[str, Any] = field(default_factory=dict)

    @property
    def run_state(self) -> RunState | None:
        """The parsed `state`; None if this version does not know it."""
        return RunState.parse(self.state)

    @property
    def activity(self) -> Activity | None:
        """What the learner is doing, without the detail."""
        return None if self.run_state is None else self.run_state.activity


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """A run at one moment."""

    run_dir: str
    at: float
    exists: bool = False
    problems: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """Missing folders."""
    buffer: Folder = NO_FOLDER
    in_progress: int = 0
    last_move_at: float | None = None
    """When a game in progress last wrote a decision."""
    archive: Folder = NO_FOLDER
    rejected: Folder = NO_FOLDER
    reasons: tuple[Rejection, ...] = ()
    latest_files: int = 0
    """The number of recent files of which the rejected ones are counted below."""
    latest_rejected: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)
    results: dict[str, int] = field(default_factory=dict)
    """Of the bot's own last hundred games: won, lost, tied, other."""
    last_game_at: float | None = None
    last_version_at: float | None = None
    ledger_version: int | None = None
    """The newest version in the ledger."""
    metrics: dict[str, float] = field(default_factory=dict)
    """The metrics of the newest trained version."""
    model: ModelNote = ModelNote("")
    learner: LearnerNote = LearnerNote()
    workers: tuple[str, ...] = ()
    resources: dict[str, float | None] = field(default_factory=dict)
    disk_free: int | None = None
    disk_total: int | None = None
    read_only: tuple[str, ...] = ()
    """Folders of the run that this process may not write to."""
    network: str | None = None
    """The kind of network file system that the run directory is on; None on a local disk."""
    synchronised: str | None = None
    """The parent folder that a program synchronises with other machines."""
    conflict_copies: tuple[str, ...] = ()
    inside: Contents = UNCHECKED
    work: dict[str, WorkSummary] = field(default_factory=dict)
    """Summaries of the games' background work, by name."""
    log: tuple[str, ...] = ()
    events: tuple[dict[str, Any], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return dataclasses.asdict(self)


def read_run(
    run: RunDir, *, recent: int = _RECENT, log_lines: int = _LOG_LINES, ledger_seconds: float = LEDGER_SECONDS
) -> RunSnapshot:
    """Read a run directory. It need not exist, be complete, or be writable.

    A ledger whose check by SQLite takes more than `ledger_seconds` counts as sound.
    """
    now = time.time()
    if not run.root.is_dir():
        return RunSnapshot(str(run.root), now)
    problems: list[str] = []
    status = read_status(run.status)
    if not status and run.status.exists():
        problems.append(f"{run.status} cannot be read; delete it, and a learner that runs writes it again.")
    buffer = read_folder(run.buffer, recent, problems)
    journals = list(files_in(run.live, ".journal", problems))
    usage = _disk(run.root)
    seen = RunSnapshot(
        run_dir=str(run.root),
        at=now,
        exists=True,
        missing=tuple(folder.relative_to(run.root).as_posix() for folder in run.folders if not folder.is_dir()),
        buffer=buffer,
        in_progress=len(journals),
        last_move_at=max((note.at for note in journals), default=None),
        archive=read_folder(run.archive, recent, problems),
        rejected=read_folder(run.rejected, recent, problems),
        reasons=reasons_beside(run.rejected, recent),
        model=_model(run),
        learner=_learner(status, learner_died(run, status, now)),
        workers=tuple(map(str, status.get("workers") or ())),
        resources=_plain_numbers(status.get("resources")),
        disk_free=None if usage is None else usage.free,
        disk_total=None if usage is None else usage.total,
        read_only=_read_only(run),
        network=network_kind(run.root),
        synchronised=synchronised_by(run.root),
        conflict_copies=tuple(path.name for path in conflict_copies((run.root, run.models, run.buffer))),
        inside=check_contents(run, ledger_seconds),
        log=tuple(tail(run.log, log_lines)),
        events=tuple(parsed(tail(run.events, log_lines))),
    )
    if run.ledger.exists():
        try:
            with open_ledger(run.ledger) as ledger:
                seen = dataclasses.replace(seen, **_from_ledger(run, ledger, seen, recent))
        except RunDirError as error:
            if not seen.inside.ledger_damage:
                problems.append(f"{error}")
    ended = [seen.last_game_at] if seen.last_game_at is not None else []
    ended += [formats.ended(note.name, note.at) for note in seen.buffer.recent]  # not in the ledger yet
    return dataclasses.replace(seen, last_game_at=max(ended, default=None), problems=tuple(dict.fromkeys(problems)))


def _from_ledger(run: RunDir, ledger: Ledger, seen: RunSnapshot, recent: int) -> dict[str, Any]:
    """Values that the ledger knows better than the folders."""
    outcomes = ledger.games_by_outcome()
    games = ledger.query("SELECT ended, at FROM games ORDER BY rowid DESC LIMIT ?", (_LATEST_FILES,))
    rejections = ledger.query("SELECT name, reason, at FROM rejected ORDER BY at DESC LIMIT ?", (_LATEST_FILES,))
    dealt_with = sorted([(at, False) for *_, at in games] + [(at, True) for *_, at in rejections], reverse=True)
    latest = dealt_with[:_LATEST_FILES]
    count, size = ledger.archive_size()
    versions = ledger.query("SELECT version, at FROM versions ORDER BY version DESC LIMIT 1")
    trained = ledger.query(
        "SELECT seconds, loss, stats FROM versions WHERE loss IS NOT NULL ORDER BY version DESC LIMIT 1"
    )
    own = f"SELECT result FROM games WHERE json_extract(axes, '$.{PURPOSE}') IS NULL ORDER BY rowid DESC LIMIT ?"
    kinds = Counter(result_kind(result) for (result,) in ledger.query(own, (_LATEST_GAMES,)))
    return {
        "archive": dataclasses.replace(seen.archive, count=count, bytes=size) if count else seen.archive,
        "reasons": tuple(Rejection(*row) for row in rejections[:recent]) or seen.reasons,
        "latest_files": len(latest),
        "latest_rejected": sum(rejected for _, rejected in latest),
        "outcomes": outcomes,
        "results": {name: kinds[kind] for kind, name in enumerate(("won", "lost", "tied", "other"))},
        "last_game_at": max((ended for ended, _ in games), default=None),
        "last_version_at": versions[0][1] if versions else None,
        "ledger_version": versions[0][0] if versions else None,
        "metrics": _metrics(*trained[0]) if trained else {},
        "work": _work(run, ledger, seen.learner.stats),
    }


def _work(run: RunDir, ledger: Ledger, status: dict[str, Any]) -> dict[str, WorkSummary]:
    waiting = int(_plain_numbers(status.get("jobs")).get("analyse waiting") or 0)
    return {name: resolve(work.summary)(ledger, run, waiting) for name, work in all_work().items()}


def _metrics(seconds: float, loss: float, stats: str) -> dict[str, float]:
    return finite_numbers({**json.loads(stats), "seconds": seconds, "loss": loss})


def _learner(status: dict[str, Any], died: bool) -> LearnerNote:
    if not status:
        return LearnerNote()
    state = RunState.parse(str(status.get("state", "")))
    alive, heartbeat = is_alive(status) and not died, _number(status.get("heartbeat"))
    return LearnerNote(
        seen=True,
        alive=alive,
        died=died,
        state=str(status.get("state", "")),
        pid=status.get("pid"),
        heartbeat=heartbeat,
        clock_ahead=heartbeat - time.time() if alive and heartbeat is not None else 0.0,
        started_at=_number(status.get("started_at")),
        state_since=_number(status.get("state_since")),
        errors=int(_number(status.get("errors")) or 0),
        last_error=status.get("last_error"),
        paused_by_request=state is not None and state.activity is Activity.PAUSED,
        stats=status,
    )


def _model(run: RunDir) -> ModelNote:
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
            settings={
                f"{part}.{name}": value for part in ("network", "training") for name, value in meta[part].items()
            },
        )
    except (ModelDamaged, OSError, KeyError, TypeError, ValueError, AttributeError):  # `inside` says what is wrong
        return note


def _kept_versions(folder: Path) -> tuple[int, ...]:
    try:
        return tuple(sorted(int(file.stem) for file in folder.glob("*.npz") if file.stem.isdecimal()))
    except OSError:
        return ()


def _read_only(run: RunDir) -> tuple[str, ...]:
    """The run itself, if it is read-only; otherwise each read-only folder."""
    closed = [folder for folder in run.folders if folder.is_dir() and not os.access(folder, os.W_OK)]
    if run.root in closed:
        return ("everything",)
    return tuple(folder.relative_to(run.root).as_posix() for folder in closed)


def _disk(root: Path) -> Any:
    try:
        return shutil.disk_usage(root)
    except OSError:
        return None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _plain_numbers(values: object) -> dict[str, Any]:
    return {str(key): _number(value) for key, value in values.items()} if isinstance(values, dict) else {}
