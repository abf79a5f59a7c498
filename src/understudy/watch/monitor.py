"""`understudy monitor RUN_DIR`: a run on one terminal screen, 80 × 24 or larger, updated every two seconds."""

from __future__ import annotations

import contextlib
import time
from collections import deque

from rich.console import Console, Group
from rich.live import Live

from understudy.rundir import RunDir
from understudy.watch.health import judge
from understudy.watch.monitor_rows import ROOMY, frame
from understudy.watch.report import LOG_LINES, look_back
from understudy.watch.snapshot import RunSnapshot, read_run

REFRESH_SECONDS = 2.0
_COMPARED = 5  # snapshots: changes stay highlighted for ten seconds


def monitor(run: RunDir, *, once: bool = False) -> int:
    """Show a run until Ctrl-C, or once if requested or if the output is not a terminal.

    Returns an exit code: 1 if there is no run, else 0.
    """
    seen = read_run(run, log_lines=LOG_LINES)
    console = Console(highlight=False)
    if not seen.exists:
        console.print(judge(seen).sentence, soft_wrap=True)
        return 1
    if once or not console.is_terminal:
        for line in frame(seen, seen, look_back(run), console, ROOMY + 6):
            console.print(line, soft_wrap=True)
        return 0
    with contextlib.suppress(KeyboardInterrupt):
        _watch(run, console)
    return 0


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
