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
from understudy.rundir import RunDir
from understudy.watch.frame import ROOMY, frame
from understudy.watch.health import judge, progress
from understudy.watch.history import History, read_history
from understudy.watch.readings import Snapshot, open_ledger, read_run

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


def report(run: RunDir, seen: Snapshot) -> dict[str, Any]:
    """Everything that the monitor knows, as plain values."""
    history = look_back(run)
    health = judge(seen)
    return {
        "health": dataclasses.asdict(health),
        "progress": progress(history.win_rate),
        **seen.as_dict(),
        "history": dataclasses.asdict(history),
    }


def look_back(run: RunDir) -> History:
    """The history, or an empty one where the ledger cannot be read (the snapshot says why)."""
    if not run.ledger.exists():
        return History()
    try:
        with open_ledger(run.ledger) as ledger:
            return read_history(ledger, points=_POINTS)
    except RunDirError:
        return History()


def _watch(run: RunDir, console: Console) -> None:
    looks: deque[Snapshot] = deque(maxlen=_COMPARED)
    note = f"every {REFRESH_SECONDS:g} s, Ctrl+C ends"
    with Live(console=console, screen=True, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            seen = read_run(run, log_lines=100)
            looks.append(seen)
            history = look_back(run)
            lines = frame(seen, looks[0], history, console, console.height, note)
            live.update(Group(*lines), refresh=True)
            time.sleep(REFRESH_SECONDS)
