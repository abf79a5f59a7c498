"""Kill a self-play run at random moments, and compare what it ends with to a run that nobody disturbed.

python tools/selfplay_kills.py --kills 20

With --workers, synchronous worker processes play in the run that is killed, and none in the other one.

After every kill the model on disk must load. In the end all arrays and counters must be the same bit for bit: so every
game was counted once, and learned from once.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from understudy.machine.priority import ONE_BLAS_THREAD
from understudy.models.state import ModelState, read_model
from understudy.models.store import ModelStore
from understudy.rundir import RunDir

SMALL = [
    *("--parallel.games-per-worker", "8", "--parallel.batch-size", "128", "--parallel.checkpoint-updates", "2"),
    *("--parallel.learner-threads", "1"),
]
TINY_TOWER = ["--network.blocks", "1", "--network.channels", "8"]


def start(run: RunDir, game: str, updates: int, workers: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """The command that people use, for `updates` more updates."""
    command = [sys.executable, "-m", "understudy", "selfplay", game, "--run-dir", str(run.root)]
    return subprocess.Popen(
        [*command, "--updates", str(updates), *SMALL, *workers, *(TINY_TOWER if game == "shogi" else ())],
        env={**os.environ, **ONE_BLAS_THREAD},
        stdout=subprocess.DEVNULL,
    )


def done(run: RunDir) -> int:
    """Updates that the model on disk has had; it must load, whenever it is looked at."""
    return read_model(run.model).counters["updates"] if run.model.exists() else 0


def published(run: RunDir) -> int:
    """Updates that the next start begins with: a kill between publishing and replacing the file left that to others."""
    state = ModelStore(run.model, run.ledger).recover() if run.model.exists() else None
    return state.counters["updates"] if state else 0


def finish(run: RunDir, game: str, updates: int) -> ModelState:
    """Let the run have all its updates, undisturbed from here on."""
    if left := updates - published(run):
        assert start(run, game, left).wait() == 0, "the run failed"
    return ModelStore(run.model, run.ledger).load()


def kill_at_random(
    run: RunDir, game: str, updates: int, kills: int, chance: random.Random, workers: Sequence[str]
) -> int:
    """Kill the run again and again at a random moment, early enough to leave updates for the later kills."""
    killed = 0
    while killed < kills and (before := published(run)) < updates:
        process = start(run, game, updates - before, workers)
        wanted = before + chance.choice((0, 0, 1, 3))
        latest = before + (updates - before) // (kills - killed + 1)
        deadline = time.monotonic() + chance.uniform(0, 4)
        while process.poll() is None and (now := done(run)) < latest:
            if now >= wanted and time.monotonic() >= deadline:
                break
            time.sleep(0.01)
        if process.poll() is None:
            process.kill()
            killed += 1
        process.wait()
        print(f"kill {killed}: the model loads, after {published(run)} of {updates} updates", flush=True)
    return killed


def differences(one: ModelState, other: ModelState) -> list[str]:
    """The arrays and counters in which two models differ."""
    names = [name for name in one.counters if one.counters[name] != other.counters.get(name)]
    return names + [name for name in one.arrays if not np.array_equal(one.arrays[name], other.arrays[name])]


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--game", default="shogi")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--updates", type=int, default=100, help="an even number (default: 100)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", action="store_true", help="let worker processes play in the run that is killed")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        whole, parts = RunDir.at(Path(folder) / "whole"), RunDir.at(Path(folder) / "parts")
        chance = random.Random(options.seed)
        workers = ["--workers", "2", "--parallel.max-staleness", "0"] if options.workers else []
        killed = kill_at_random(parts, options.game, options.updates, options.kills, chance, workers)
        disturbed = finish(parts, options.game, options.updates)
        undisturbed = finish(whole, options.game, options.updates)
    found = differences(undisturbed, disturbed)
    print(f"{killed} kills; {undisturbed.counters}; differences: {', '.join(found) or 'none'}")
    return 1 if found or killed < options.kills else 0


if __name__ == "__main__":
    sys.exit(main())
