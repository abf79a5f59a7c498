"""A dashboard in a separate process, and runs for it to show."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from game_files import make_model, put_game
from runs import drained
from understudy.learner.loop import LearnerLoop
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, Settings

RESULTS = ("Victory", "Victory", "Defeat", "Tie", "Victory", "Victory")
RACES = ("Terran", "Zerg", "Protoss")


@contextmanager
def dashboard(*arguments: str, **environment: str) -> Iterator[str]:
    """The address of a dashboard that runs with these arguments, on its own port."""
    command = [sys.executable, "-m", "understudy", "dashboard", *arguments]
    command += ["--dashboard.port", "0", "--dashboard.refresh-seconds", "0.2"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment}
    )
    assert process.stdout is not None
    try:
        yield _address(process.stdout)
    finally:
        process.terminate()
        process.wait(20)


def _address(said: IO[str]) -> str:
    """Where it listens, which it says first; what it says later is read as well, so that it never has to wait."""
    lines = []
    for line in said:
        lines.append(line)
        if found := re.search(r"http://\S+", line):
            threading.Thread(target=lambda: (said.read(), said.close()), daemon=True).start()
            return found[0]
    raise AssertionError(f"The dashboard did not start: {''.join(lines)}")


def learned_run(root: Path) -> RunDir:
    """A run with six games, learned from two at a time by a real learner, and one file that it had to reject."""
    run = RunDir.at(root)
    run.create()
    ModelStore(run.model, run.ledger).create(make_model())
    for number, result in enumerate(RESULTS):
        about = {"opponent_race": RACES[number % 3], "extra": {"difficulty": "Hard"}, "model_version": 1}
        put_game(run.buffer, number, age=60.0 - number, result=result, **about)
    (run.buffer / "game_20260101_000000_Defeat_ffff.npz").write_bytes(b"not a game")
    learn(run)
    return run


def learn(run: RunDir) -> None:
    """Learn from everything that waits, and end."""
    LearnerLoop(run, Settings(learner=LearnerSettings(batch_games=2, verbose=False))).run(drained())
