"""`understudy doctor`: examines a run directory, reports problems and how to repair them.

It has the checks of the monitor's light (`watch/health_checks.py`), and looks into the files, which takes longer.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from understudy.errors import ModelDamaged, ModelMissing, NonFiniteError, RunDirError, UnderstudyError
from understudy.experience.journal import orphans
from understudy.experience.skipped import summary
from understudy.files.atomic import move, remove_stale_temporaries
from understudy.files.conflicts import conflict_copies
from understudy.files.locks import FileLock
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.run.status import confirm_heartbeat, is_alive, read_status
from understudy.rundir import RunDir
from understudy.watch.health_checks import all_troubles
from understudy.watch.ledger_reading import open_ledger
from understudy.watch.snapshot import read_run


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem. `repair` fixes it without losing data; None where a person must fix it."""

    what: str
    advice: str
    repair: Callable[[], object] | None = None
    harmless: bool = False
    """It need not be put right."""


def examine(run: RunDir, *, fix: bool) -> int:
    """Print what is wrong with a run, repair it if asked to, and return an exit code: 0 if nothing is left."""
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
        print(f"{'NOTE   ' if finding.harmless else 'PROBLEM'}  {finding.what}")
        if fix and finding.repair is not None:
            finding.repair()
            print("  repaired")
            continue
        left += not finding.harmless
        how = "`understudy doctor --fix` repairs this: " if finding.repair is not None else ""
        print(f"  what to do: {how}{finding.advice}")
    print("All is well." if not left else f"{left} problem(s) left.")
    return 1 if left else 0


def findings(run: RunDir) -> Iterator[Finding]:
    """Everything that is wrong, in the order in which to repair it."""
    confirm_heartbeat(run.status)
    for trouble in all_troubles(read_run(run)):
        if trouble.name == "missing folders":
            yield Finding(trouble.what, trouble.advice, run.create, harmless=trouble.light == "green")
    damage = list(_ledger(run))
    yield from damage
    unfinished: list[Finding] = []
    if not damage:
        damage = list(_model(run))
        yield from damage
        unfinished = list(_unfinished_games(run))
        yield from unfinished
        yield from _leftovers(run)
    named_above = {"missing folders", "conflict copies", *(["unfinished games"] if unfinished else [])}
    if damage:
        named_above |= {"unreadable", "model missing", "publication cut off"}
    dead = list(_dead_learner(run))
    yield from dead
    yield from _conflict_copies(run)
    if dead:
        named_above.add("stale heartbeat")
    for trouble in all_troubles(read_run(run)):
        if trouble.name not in named_above:
            again = trouble.name == "unreadable"
            advice = "The next learner writes it again." if again else trouble.advice
            yield Finding(trouble.what, advice, harmless=trouble.light == "green")


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


def _ledger(run: RunDir) -> Iterator[Finding]:
    if not run.ledger.exists():
        return
    aside = run.ledger.with_name(f"{run.ledger.name}.damaged-{int(time.time())}")

    def start_anew() -> None:
        move(run.ledger, aside)
        for suffix in ("-wal", "-shm"):
            run.ledger.with_name(run.ledger.name + suffix).unlink(missing_ok=True)

    try:
        with open_ledger(run.ledger) as ledger:
            problems = ledger.problems()
    except RunDirError as error:
        if isinstance(error.__cause__, sqlite3.OperationalError):  # a new ledger would not help
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
        with open_ledger(run.ledger) as ledger:
            recorded = ledger.head()
    if recorded != found:
        yield Finding(
            f"The model is version {found}, but the ledger's newest is {recorded}.",
            "a publication that was cut off is finished, or a model put there by hand is taken in.",
            store.recover,
            harmless=is_alive(read_status(run.status)),  # the learner does so by itself
        )


def _unfinished_games(run: RunDir) -> Iterator[Finding]:
    dead = list(orphans(run.live)) if run.live.is_dir() else []
    if dead and not is_alive(read_status(run.status)):
        yield Finding(
            f"{len(dead)} game(s) of bots that died wait to be salvaged.",
            "`understudy learn` salvages them when it runs.",
            harmless=True,
        )


def _leftovers(run: RunDir) -> Iterator[Finding]:
    if not run.ledger.exists() or not run.buffer.is_dir():
        return
    with open_ledger(run.ledger) as ledger:
        names = [e.name for e in os.scandir(run.buffer) if e.name.endswith(".npz")]
        ids = {name.removesuffix(".npz").rpartition("_")[2]: name for name in names}
        known = ledger.known(ids)
    if known:
        yield Finding(
            f"{len(known)} game(s) in the buffer were learned from already.",
            "`understudy learn` archives them when it runs.",
            harmless=True,
        )
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
                harmless=True,
            )


def _dead_learner(run: RunDir) -> Iterator[Finding]:
    """The lock of a learner is free as soon as it dies; its heartbeat is missed only later."""
    status = read_status(run.status)
    if not status or status.get("state") == "stopped" or not run.learner_lock.exists():
        return
    lock = FileLock(run.learner_lock)
    try:
        free = lock.acquire(blocking=False)
    except OSError:  # on a read-only disk
        return
    if free:
        lock.release()
        yield Finding(
            f"The learner (pid {status.get('pid')}) died without saying goodbye. Nothing is lost.",
            "Start it again: `understudy learn`, or the bot that has it.",
        )


def _conflict_copies(run: RunDir) -> Iterator[Finding]:
    for path in conflict_copies(folder for folder in run.folders if folder != run.rejected):

        def set_aside(path: Path = path) -> None:
            move(path, run.rejected / path.name)

        yield Finding(
            f"{path} is a conflict copy, made by a program that synchronises folders. Nothing reads it.",
            "it is moved to the rejected folder. Keep the run directory outside of synchronised folders.",
            set_aside,
        )
