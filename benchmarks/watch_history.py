"""How long a monitor needs to open a long history: a million versions, and a million games, from a fresh process.

    python benchmarks/watch_history.py [--versions 1000000] [--keep FOLDER]

The ledger is filled the way the learner fills it, in large transactions. Then a new process opens it: imports, one look
at the run (`read_run`, `judge`) and every time series of it (`read_history`), as the dashboard and the monitor do. The
target of 2 s is for all of that, in wall time; CPU time is shown as well, for machines that have other things to do.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from understudy.ledger import history
from understudy.ledger.connection import Ledger, LedgerGame
from understudy.ledger.tables import insert_games
from understudy.rundir import RunDir

LIMIT_SECONDS = 2.0
_AT_A_TIME = 20_000
_RACES, _LEVELS = ("Terran", "Zerg", "Protoss"), ("Easy", "Medium", "Hard", "VeryHard")


def fill(run: RunDir, versions: int) -> None:
    """A run of `versions` versions, each from one game."""
    rng = random.Random(1)
    run.create()
    began = time.time() - 10.0 * versions
    with Ledger(run.ledger) as ledger:
        for start in range(0, versions, _AT_A_TIME):
            numbers = range(start, min(start + _AT_A_TIME, versions))
            with ledger.transaction() as db:
                rows = [(i + 1, began + 10.0 * i, _stats(i / versions, rng)) for i in numbers]
                db.executemany(
                    "INSERT INTO versions VALUES (?, ?, 'learner', ?, 1, 40, 0.01, ?, ?)",
                    [(version, version - 1, at, stats["loss"], _json(stats)) for version, at, stats in rows],
                )
                history.add_versions(db, rows)
                games = [_game(i, began + 10.0 * i, i / versions, rng) for i in numbers]
                insert_games(db, games, "learned", None, time.time())


def _stats(progress: float, rng: random.Random) -> dict[str, float]:
    names = ("policy_loss", "value_loss", "kl", "clip_fraction", "explained_variance", "grad_norm", "mean_return")
    noise = {name: rng.random() for name in names}
    return noise | {
        "loss": math.exp(-3 * progress) + 0.1 * rng.random(),
        "entropy": 1.4 * (1 - progress),
        "staleness": float(rng.randrange(5)),
        "effective_sample_size": 0.9,
    }


def _game(number: int, at: float, progress: float, rng: random.Random) -> LedgerGame:
    won = rng.random() < 0.2 + 0.6 * progress
    name = f"game_20260125_143022_{'Victory' if won else 'Defeat'}_{number:016x}.npz"
    race, level = rng.choice(_RACES), rng.choice(_LEVELS)
    chosen = {"EXPAND": rng.randrange(20), "ATTACK": rng.randrange(20), "DEFEND": 10}
    return LedgerGame(
        f"{number:016x}", name, "Victory" if won else "Defeat", 40, 1.0, 2000, "zerg", "Map", "bot",
        number, at - 300, at, chosen, {"opponent_race": race, "difficulty": level},
    )  # fmt: skip


def _json(stats: dict[str, float]) -> str:
    return json.dumps({name: value for name, value in stats.items() if name != "loss"})


_OPEN = """
import time; began = time.perf_counter()
from understudy.rundir import RunDir
from understudy.watch.health import judge
from understudy.watch.history import read_history
from understudy.watch.snapshot import read_run
from understudy.watch.ledger_reading import open_ledger
imported = time.perf_counter()
def look():
    run = RunDir.at(sys.argv[1])
    judge(read_run(run))
    with open_ledger(run.ledger) as ledger:
        return read_history(ledger)
import sys
history = look()
opened, cpu = time.perf_counter(), time.process_time()
look()
points = sum(len(series.x) for series in history.metrics.values())
print(imported - began, opened - began, cpu, time.process_time() - cpu, history.versions, history.games, points)
"""


def main() -> int:
    """Fill, open, and say how long it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", type=int, default=1_000_000)
    parser.add_argument("--keep", type=Path, help="keep the ledger in this folder, or use the one that is there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = RunDir.at(options.keep or folder)
        if not run.ledger.exists():
            began = time.perf_counter()
            fill(run, options.versions)
            print(f"filled in {time.perf_counter() - began:.0f} s, {run.ledger.stat().st_size / 1e6:.0f} MB")
        command = [sys.executable, "-c", _OPEN, str(run.root)]
        answer = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ).stdout.split()
    imports, opened, cpu, again = map(float, answer[:4])
    print(f"{answer[4]} versions and {answer[5]} games, drawn with {answer[6]} points of metrics")
    print(f"opened after {opened:.2f} s, {imports:.2f} s of them imports (limit {LIMIT_SECONDS:g} s)")
    print(f"CPU time: {cpu:.2f} s from the start of the process; {again:.3f} s for the next look")
    return 0 if opened < LIMIT_SECONDS else 1


if __name__ == "__main__":
    sys.exit(main())
