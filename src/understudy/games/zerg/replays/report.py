"""`understudy replays DIR`: analyses a folder in the foreground with a progress bar, then prints a table."""

from __future__ import annotations

import signal
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from understudy.errors import RunDirError
from understudy.games.zerg.replays.jobs import ReplayJobs, replay_files, require_reader
from understudy.games.zerg.replays.ledger import ReplayTable
from understudy.jobs.dispatch import Dispatcher
from understudy.ledger.connection import Ledger
from understudy.rundir import RunDir
from understudy.settings import Settings

_BAR = 30
_LINE_SECONDS = 5.0  # seconds between two progress lines without a terminal


def analyse_folder(folder: Path, run: RunDir, settings: Settings) -> int:
    """Analyse every new replay of a folder and return an exit code; Ctrl-C keeps the results so far."""
    require_reader()
    if not run.ledger.exists() and next(replay_files(folder), None) is None:
        raise RunDirError(f"There is no replay (.SC2Replay) in {folder}.")
    run.create()
    began = time.perf_counter()
    with Ledger(run.ledger) as ledger:
        replays = ReplayJobs(folder, run, ledger, settings.replays, at_once=True)
        table = ReplayTable(ledger)
        before = table.ids()
        dispatcher = Dispatcher(run, settings, [replays], governed=False)
        with _stop_at_interrupt() as stop:
            try:
                _run(dispatcher, stop)
            finally:
                dispatcher.close()
        seconds = time.perf_counter() - began
        rows = [row for row in table.all() if row[0] not in before]
        if not (rows or before or replays.copies or stop.is_set()):
            raise RunDirError(f"There is no replay (.SC2Replay) in {folder}.")
        _show(rows, replays.copies, dispatcher.workers.deaths, seconds, settings.learner.max_workers, run)
    return 130 if stop.is_set() else 0


@contextmanager
def _stop_at_interrupt() -> Iterator[threading.Event]:
    """Ctrl-C sets the event, so that workers' results are still recorded; a second one stops at once."""
    stop = threading.Event()

    def note(number: int, _frame: object) -> None:
        signal.signal(number, before)
        stop.set()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


def _run(dispatcher: Dispatcher, stop: threading.Event) -> None:
    dispatcher.turn(0.0)
    progress = _Progress()
    while dispatcher.busy and not stop.is_set():
        dispatcher.turn(0.2)
        progress.show(dispatcher)
    progress.show(dispatcher, last=True)


class _Progress:
    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._next = 0.0
        self._began = time.monotonic()

    def show(self, dispatcher: Dispatcher, *, last: bool = False) -> None:
        now = time.monotonic()
        done = dispatcher.settled
        total = done + len(dispatcher.queue) + dispatcher.workers.running  # grows while more files are found
        if not total or (now < self._next and not last):
            return
        self._next = now + (0.1 if self._terminal else _LINE_SECONDS)
        share = done / total
        left = (now - self._began) * (1 - share) / share if share else 0.0
        text = f"{done}/{total} replays, {left:.0f} s left"
        if self._terminal:
            bar = "#" * round(share * _BAR)
            print(f"\r[{bar:<{_BAR}}] {text}   ", end="\n" if last else "", file=sys.stderr, flush=True)
        else:
            print(text, file=sys.stderr, flush=True)


def _show(rows: list[Any], copies: int, deaths: int, seconds: float, workers: int, run: RunDir) -> None:
    outcomes = Counter(row[2] for row in rows)
    observations = [facts for row in rows for facts in row[4]]
    silent = [row for row in rows if row[2] == "analysed" and row[3]]
    times = [row[5] for row in rows if row[2] == "analysed"]
    facts = {
        "Loaded": outcomes["analysed"],
        "  with observations": outcomes["analysed"] - len(silent),
        "  without observations": len(silent),
        "Rejected": outcomes["rejected"],
        "Set aside": outcomes["set aside"],
        "Known already": copies,
        "Zerg players observed": len(observations),
        "Milestones found": sum(len(o["milestones"]) for o in observations),
        "Median time per replay": f"{1000 * statistics.median(times):.0f} ms" if times else "-",
        "Total time": f"{seconds:.1f} s with {workers} workers ({deaths} died)",
    }
    print("\n".join(f"{name + ':':<24} {value}" for name, value in facts.items()))
    for title, found in (("Teach nothing", silent), ("Not usable", [r for r in rows if r[2] != "analysed"])):
        if found:
            print(f"\n{title}:")
            print("\n".join(f"  {row[1]}: {row[3]}" for row in sorted(found, key=lambda row: row[1])))
    milestones = Counter(name for o in observations for name in o["milestones"])
    if milestones:
        print("\nMilestones, by number of games:")
        cells = [f"{name} {count}" for name, count in sorted(milestones.items(), key=lambda item: (-item[1], item[0]))]
        width = max(map(len, cells)) + 2
        columns = max(118 // width, 1)
        for i in range(0, len(cells), columns):
            print("  " + "".join(f"{cell:<{width}}" for cell in cells[i : i + columns]).rstrip())
    if run.build_orders.exists():
        print(f"\nBuild orders: {run.build_orders}")
