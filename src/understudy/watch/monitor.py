"""`understudy monitor RUN_DIR`: a run on one screen of a terminal, 80 x 24 or larger, looked at every two seconds."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import time
from collections import deque
from typing import Any

from rich.console import Console, Group
from rich.live import Live

from understudy.errors import RunDirError
from understudy.files.printable import in_one_line
from understudy.rundir import RunDir
from understudy.watch.health import judge
from understudy.watch.history import RunHistory, read_history
from understudy.watch.ledger_reading import open_ledger
from understudy.watch.monitor_rows import ROOMY, frame
from understudy.watch.progress import judge_progress
from understudy.watch.snapshot import RunSnapshot, read_run
from understudy.watch.update_history import with_updates

REFRESH_SECONDS = 2.0
_COMPARED = 5  # looks: what changed stays on the screen for ten seconds
_POINTS = 60


def monitor(run: RunDir, *, once: bool = False, as_json: bool = False) -> int:
    """Show a run until Ctrl-C, or once; return an exit code: 1 where there is no run, else 0."""
    seen = read_run(run, log_lines=3 * ROOMY)
    if as_json:
        print(json.dumps(report(run, seen), indent=1))
        return 0 if seen.exists else 1
    console = Console(highlight=False)
    if not seen.exists:
        console.print(judge(seen).sentence, soft_wrap=True)
        return 1
    if once:
        for line in frame(seen, seen, look_back(run), console, ROOMY + 6):
            console.print(line, soft_wrap=True)
        return 0
    with contextlib.suppress(KeyboardInterrupt):
        _watch(run, console)
    return 0


def status_line(run: RunDir) -> tuple[str, int]:
    """A run in one line of `name=value` for scripts, and an exit code: 1 if something is wrong with it, else 0."""
    seen, history = read_run(run), look_back(run)
    health = judge(seen)
    rate = history.win_rate.value
    facts = {
        "state": health.phase.word,
        "health": health.light,
        "progress": judge_progress(history).verdict,
        "version": seen.model.version,
        "games": history.games or (seen.learner.stats.get("selfplay") or {}).get("games", 0),
        "waiting": seen.buffer.count,
        "win_rate": f"{rate[-1]:.3f}" if rate else None,
        "detail": health.phase.detail,
        "message": health.sentence,
    }
    values = ((name, "" if value is None else str(value)) for name, value in facts.items())
    line = " ".join(f"{name}={value if value and ' ' not in value else json.dumps(value)}" for name, value in values)
    return in_one_line(line), 1 if health.light == "red" else 0


def report(run: RunDir, seen: RunSnapshot) -> dict[str, Any]:
    """Everything that the monitor knows, as plain values."""
    history = look_back(run)
    health = judge(seen)
    return {
        "health": dataclasses.asdict(health),
        "progress": judge_progress(history).sentence,
        **seen.as_dict(),
        "history": dataclasses.asdict(history),
    }


def look_back(run: RunDir) -> RunHistory:
    """The history, or an empty one where the ledger cannot be read (the snapshot says why)."""
    history = RunHistory()
    if run.ledger.exists():
        with contextlib.suppress(RunDirError), open_ledger(run.ledger) as ledger:
            history = read_history(ledger, points=_POINTS)
    return with_updates(history, run.updates, _POINTS)


def _watch(run: RunDir, console: Console) -> None:
    looks: deque[RunSnapshot] = deque(maxlen=_COMPARED)
    note, started = f"every {REFRESH_SECONDS:g} s, Ctrl+C ends", time.time()
    with Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            seen = read_run(run, log_lines=100)
            looks.append(seen)
            history = look_back(run)
            lines = frame(seen, looks[0], history, console, console.height, note, started)
            live.update(Group(*lines), refresh=True)
            time.sleep(REFRESH_SECONDS)
