"""`understudy doctor`: looks at a run directory and says what is wrong and how to mend it."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from understudy.errors import ModelDamaged, ModelMissing, NonFiniteError, RunDirError, UnderstudyError
from understudy.experience import outliers
from understudy.experience.journal import orphans
from understudy.experience.skipped import advice, summary
from understudy.files.atomic import move, remove_stale_temporaries
from understudy.files.locks import FileLock, read_holder
from understudy.ledger.connection import Ledger
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.run.status import is_alive, read_status
from understudy.rundir import RunDir

_LITTLE_SPACE = 500_000_000
_RECENT_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be. `mend` puts it right without losing anything; None where a person must."""

    what: str
    advice: str
    mend: Callable[[], object] | None = None


def examine(run: RunDir, *, fix: bool) -> int:
    """Print what is wrong with a run, mend it if asked to, and return an exit code: 0 if all is well in the end."""
    if not run.root.is_dir():
        print(
            f"There is no run directory at {run.root}. RLAgent(run_dir=...) makes one, and so does `understudy learn`."
        )
        return 1
    print(f"Examining {run.root}")
    for line in _summary(run):
        print(f"  {line}")
    left = 0
    for finding in findings(run):
        print(f"PROBLEM  {finding.what}")
        if fix and finding.mend is not None:
            finding.mend()
            print("  repaired")
            continue
        left += 1
        how = "`understudy doctor --fix` mends this: " if finding.mend is not None else ""
        print(f"  what to do: {how}{finding.advice}")
    print("All is well." if not left else f"{left} problem(s) left.")
    return 1 if left else 0


def findings(run: RunDir) -> Iterator[Finding]:
    """Everything that is wrong, in the order in which to repair it."""
    yield from _folders(run)
    ledger_findings = list(_ledger(run))
    yield from ledger_findings
    if not ledger_findings:
        yield from _model(run)
        yield from _files(run)
    yield from _learner(run)
    yield from _skipped(run)
    yield from _outliers(run)
    yield from _machine(run)


def _summary(run: RunDir) -> Iterator[str]:
    for name, folder in (("waiting", run.buffer), ("archived", run.archive), ("rejected", run.rejected)):
        count = sum(entry.name.endswith(".npz") for entry in os.scandir(folder)) if folder.is_dir() else 0
        yield f"{count} games {name}"
    if why := summary(read_status(run.status).get("skipped") or {}):
        yield f"games archived unlearned: {why}"
    try:
        state = read_model(run.model)
        yield f"model version {state.version}, {state.counters['games']} games learned from, made by {state.publisher}"
    except UnderstudyError as error:
        yield f"model: {error}"


def _folders(run: RunDir) -> Iterator[Finding]:
    for folder in run.folders:
        if not folder.is_dir():
            yield Finding(f"The folder {folder} is missing.", "it is made again.", run.create)
        elif not os.access(folder, os.W_OK):
            yield Finding(f"{folder} is read-only.", "Allow writing there; until then nothing is recorded or learned.")


def _ledger(run: RunDir) -> Iterator[Finding]:
    if not run.ledger.exists():
        return
    aside = run.ledger.with_name(f"{run.ledger.name}.damaged-{int(time.time())}")

    def start_anew() -> None:
        move(run.ledger, aside)
        for suffix in ("-wal", "-shm"):
            run.ledger.with_name(run.ledger.name + suffix).unlink(missing_ok=True)

    try:
        with Ledger(run.ledger, read_only=True) as ledger:
            problems = ledger.problems()
    except RunDirError as error:
        if isinstance(error.__cause__, sqlite3.OperationalError):  # nothing that a new ledger would mend
            yield Finding(f"{error}", "Make room on the disk and allow writing to the run directory; then look again.")
            return
        problems = [str(error)]
    if problems:
        yield Finding(
            f"The ledger {run.ledger} is damaged: {problems[0]}",
            f"it is put aside as {aside.name}; the learner makes a new one from the model and the archive.",
            start_anew,
        )


def _model(run: RunDir) -> Iterator[Finding]:
    store = ModelStore(run.model, run.ledger)
    try:
        model = read_model(run.model)
        found = model.version
        model.require_finite()
    except NonFiniteError as error:
        yield Finding(
            f"Model version {found} is broken: {error}".partition(";")[0] + ".",
            f"Go back to an earlier one: `understudy models {run.root} --rollback VERSION`.",
        )
    except ModelMissing:
        if store.kept_versions():
            yield Finding(
                f"{run.model} is missing, but versions of it are kept.", "the newest is put back.", store.recover
            )
        return
    except ModelDamaged as error:
        yield Finding(f"{error}", "the newest version that can be read is put back.", store.recover)
        return
    recorded = None
    if run.ledger.exists():
        with Ledger(run.ledger, read_only=True) as ledger:
            recorded = ledger.head()
    if recorded != found:
        yield Finding(
            f"The model is version {found}, but the ledger's newest is {recorded}.",
            "a publication that was cut off is finished, or a model put there by hand is taken in.",
            store.recover,
        )


def _files(run: RunDir) -> Iterator[Finding]:
    dead = list(orphans(run.live)) if run.live.is_dir() else []
    if dead and not is_alive(read_status(run.status)):
        yield Finding(
            f"{len(dead)} game(s) of bots that died wait to be salvaged.",
            "`understudy learn` salvages them when it runs.",
        )
    if not run.ledger.exists() or not run.buffer.is_dir():
        return
    with Ledger(run.ledger, read_only=True) as ledger:
        names = [e.name for e in os.scandir(run.buffer) if e.name.endswith(".npz")]
        ids = {name.removesuffix(".npz").rpartition("_")[2]: name for name in names}
        known = ledger.known(ids)
        rejections = ledger.rejections(newest=3)
        outcomes = ledger.games_by_outcome()
    rejected, dealt_with = outcomes["rejected"], sum(outcomes.values())
    if known:
        yield Finding(
            f"{len(known)} game(s) in the buffer were learned from already.",
            "`understudy learn` archives them when it runs.",
        )
    if rejected > 10 and rejected > dealt_with / 10:
        last = "; ".join(reason for _, reason in rejections)
        yield Finding(f"{rejected} files were rejected. The last: {last}", "Look at what the bot records.")
    for folder in filter(Path.is_dir, run.folders):
        stale = sum(
            e.name.endswith(".tmp") and e.name.startswith(".") and time.time() - e.stat().st_mtime > 3600
            for e in os.scandir(folder)
        )
        if stale:
            yield Finding(
                f"{stale} half-written file(s) of killed processes lie in {folder}.",
                "they are removed.",
                partial(remove_stale_temporaries, folder, 3600),
            )


def _learner(run: RunDir) -> Iterator[Finding]:
    status = read_status(run.status)
    if not status or status.get("state") == "stopped" or not run.learner_lock.exists():
        return
    lock = FileLock(run.learner_lock)
    if lock.acquire(blocking=False):
        lock.release()
        yield Finding(
            f"The learner (pid {status.get('pid')}) died without saying goodbye. Nothing is lost.",
            "Start it again: `understudy learn`, or the bot that has it.",
        )
    elif not is_alive(status):
        holder = read_holder(run.learner_lock) or {}
        silent = time.time() - float(status.get("heartbeat", 0))
        yield Finding(
            f"The learner (pid {holder.get('pid')} on {holder.get('host')}) has been silent for {silent:.0f} s.",
            "End that process; killing it loses nothing. Then start it again.",
        )
    elif trouble := status.get("model_trouble"):
        yield Finding(trouble["what"], trouble["advice"])
    elif status.get("last_error"):
        yield Finding(f"The learner reports: {status['last_error']}", "It goes on by itself once that is put right.")


def _skipped(run: RunDir) -> Iterator[Finding]:
    """Nothing is dropped silently; what was dropped long ago is in the summary."""
    status = read_status(run.status)
    skipped, at = status.get("skipped") or {}, status.get("skipped_at")
    if at is not None and time.time() - at < _RECENT_SECONDS and (why := summary(skipped)):
        yield Finding(f"Games were archived unlearned: {why}.", advice(skipped))


def _outliers(run: RunDir) -> Iterator[Finding]:
    status = read_status(run.status)
    at = status.get("outliers_at")
    if at is not None and time.time() - at < _RECENT_SECONDS:
        what = outliers.summary(status.get("outliers") or [])
        yield Finding(f"A value far outside of the range of its feature was learned from: {what}.", outliers.ADVICE)


def _machine(run: RunDir) -> Iterator[Finding]:
    free = shutil.disk_usage(run.root).free
    if free < _LITTLE_SPACE:
        yield Finding(
            f"Only {free / 1e6:.0f} MB are free on the disk of {run.root}.",
            "Make room, or lower storage.archive_games and storage.archive_bytes.",
        )
    newest = max((e.stat().st_mtime for e in os.scandir(run.buffer)), default=0.0) if run.buffer.is_dir() else 0.0
    if newest > time.time() + 60:
        yield Finding(
            f"A game in the buffer is dated {newest - time.time():.0f} s in the future.",
            "The clock was set back, or another machine's clock is wrong; the game is learned from all the same.",
        )
