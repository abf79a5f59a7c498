"""A run for programs: one line for scripts, and everything as JSON. Needs only NumPy."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from typing import Any

from understudy.errors import RunDirError
from understudy.files.printable import in_one_line
from understudy.rundir import RunDir
from understudy.watch.health import judge
from understudy.watch.history import RunHistory, read_history
from understudy.watch.ledger_reading import open_ledger
from understudy.watch.progress import judge_progress
from understudy.watch.snapshot import RunSnapshot, read_run
from understudy.watch.update_history import with_updates

LOG_LINES = 102  # the last lines of the log that are shown or included
_POINTS = 60


def status_line(run: RunDir) -> tuple[str, int]:
    """A run in one line of `name=value` for scripts, and an exit code: 1 if something is wrong, else 0."""
    seen, history = read_run(run), look_back(run)
    health = judge(seen)
    rate = history.win_rate.value
    facts = {
        "state": health.phase.word,
        "health": health.light,
        "progress": judge_progress(history).verdict,
        "version": seen.model.version,
        "games": (seen.learner.stats.get("selfplay") or {}).get("games") or history.games,
        "waiting": seen.buffer.count,
        "win_rate": f"{rate[-1]:.3f}" if rate else None,
        "detail": health.phase.detail,
        "message": health.sentence,
    }
    values = ((name, "" if value is None else str(value)) for name, value in facts.items())
    line = " ".join(f"{name}={value if value and ' ' not in value else json.dumps(value)}" for name, value in values)
    return in_one_line(line), 1 if health.light == "red" else 0


def as_json(run: RunDir) -> tuple[str, int]:
    """All data of the monitor, for programs, and an exit code: 1 if there is no run, else 0."""
    seen = read_run(run, log_lines=LOG_LINES)
    return json.dumps(_report(run, seen), indent=1), 0 if seen.exists else 1


def _report(run: RunDir, seen: RunSnapshot) -> dict[str, Any]:
    history = look_back(run)
    health = judge(seen)
    return {
        "health": dataclasses.asdict(health),
        "progress": judge_progress(history).sentence,
        **seen.as_dict(),
        "history": dataclasses.asdict(history),
    }


def look_back(run: RunDir) -> RunHistory:
    """The history; an empty one if the ledger cannot be read (the snapshot says why)."""
    history = RunHistory()
    if run.ledger.exists():
        with contextlib.suppress(RunDirError), open_ledger(run.ledger) as ledger:
            history = read_history(ledger, points=_POINTS)
    return with_updates(history, run.updates, _POINTS)
