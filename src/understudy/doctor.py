"""`understudy doctor`: examines a run directory, reports problems and how to repair them.

It has the same checks as the monitor's light (`watch/health_checks.py`), without a time limit, and the repairs.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from understudy.errors import UnderstudyError
from understudy.experience.journal import orphans
from understudy.experience.skipped import summary
from understudy.files.atomic import move, remove_stale_temporaries
from understudy.files.conflicts import conflict_copies
from understudy.models.gate import Gate
from understudy.models.gate_report import gate_report
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.run.status import confirm_heartbeat, is_alive, read_status
from understudy.rundir import RunDir
from understudy.watch.health_checks import all_troubles
from understudy.watch.ledger_reading import open_ledger
from understudy.watch.snapshot import read_run


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem. `repair` fixes it without losing data; None if a person must fix it."""

    what: str
    advice: str
    repair: Callable[[], object] | None = None
    harmless: bool = False
    """No repair is needed."""


def examine(run: RunDir, *, fix: bool) -> int:
    """Print the problems of a run, repair them if asked to, and return an exit code: 0 if none is left."""
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
        print(f"  what to do: {finding.advice}")
    print("All is well." if not left else f"{left} problem(s) left.")
    return 1 if left else 0


def findings(run: RunDir) -> Iterator[Finding]:
    """All problems, in the order in which to repair them: those of the light, and leftovers."""
    confirm_heartbeat(run.status)
    seen = read_run(run, ledger_seconds=math.inf)
    troubles = list(all_troubles(seen))
    for trouble in troubles:
        repair = _REPAIRS.get(trouble.name)
        yield Finding(
            trouble.what,
            trouble.advice,
            None if repair is None else partial(repair, run),
            harmless=trouble.light == "green",
        )
    if not any(trouble.name in ("unfinished games", "ledger damaged") for trouble in troubles):
        yield from _unfinished_games(run)
    if not seen.inside.ledger_damage:
        if not seen.learner.alive:  # while the learner runs, the light reports these
            yield from _gate(run)
        yield from _leftovers(run)


def _put_ledger_aside(run: RunDir) -> None:
    move(run.ledger, run.ledger.with_name(f"{run.ledger.name}.damaged-{int(time.time())}"))
    for suffix in ("-wal", "-shm"):
        run.ledger.with_name(run.ledger.name + suffix).unlink(missing_ok=True)
    _put_models_right(run)


def _put_models_right(run: RunDir) -> None:
    store = ModelStore(run.model, run.ledger)
    store.recover()
    Gate(run.ledger, store).take_in()


def _put_conflict_copies_aside(run: RunDir) -> None:
    for path in conflict_copies(folder for folder in run.folders if folder != run.rejected):
        move(path, run.rejected / path.name)


_REPAIRS: dict[str, Callable[[RunDir], object]] = {
    "missing folders": RunDir.create,
    "ledger damaged": _put_ledger_aside,
    "model damaged": _put_models_right,
    "model missing": _put_models_right,
    "publication cut off": _put_models_right,
    "model by hand": _put_models_right,
    "conflict copies": _put_conflict_copies_aside,
}


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


def _unfinished_games(run: RunDir) -> Iterator[Finding]:
    dead = list(orphans(run.live)) if run.live.is_dir() else []
    if dead and not is_alive(read_status(run.status)):  # the light waits until it is certain that they died
        yield Finding(
            f"{len(dead)} game(s) of bots that died wait to be salvaged.",
            "`understudy learn` salvages them when it runs.",
            harmless=True,
        )


def _gate(run: RunDir) -> Iterator[Finding]:
    report = gate_report(run.ledger)
    if report is not None and (harm := report.last_harm) is not None:
        advice = f"Find out what changed before that. The evidence: `understudy gate {run.root}`."
        yield Finding(f"A worse model was taken off: {harm.sentence}", advice, harmless=True)
    if report is not None and report.blind is not None:
        what, _, advice = report.blind.partition(". ")
        yield Finding(f"The gate cannot compare models. {what}.", advice, harmless=True)


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
                f"{stale} half-written file(s) of killed processes are in {folder}.",
                f"`understudy doctor --fix {run.root}` removes them.",
                partial(remove_stale_temporaries, folder, 3600),
                harmless=True,
            )
