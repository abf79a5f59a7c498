"""Run directories in known states, for tests of what watches them."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

from game_files import make_model, put_game
from runs import drained
from understudy.learner.loop import LearnerLoop
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, Settings


def new_run(root: Path) -> RunDir:
    """A run with a model and nothing else."""
    run = RunDir.at(root)
    run.create()
    ModelStore(run.model, run.ledger).create(make_model())
    return run


def learn_all(run: RunDir) -> None:
    """Learn everything that waits, and stop."""
    LearnerLoop(run, Settings(learner=LearnerSettings(min_batch_games=1))).run(drained())


def learned_run(root: Path, games: int = 40) -> RunDir:
    """A run whose learner has learned from some games, of which the later half is mostly won, and has stopped."""
    run, rng = new_run(root), random.Random(5)
    for number in range(games):
        won = rng.random() < (0.2 if number < games / 2 else 0.8)
        put_game(
            run.buffer,
            seed=number,
            age=10.0 * (games - number),
            result="Victory" if won else "Defeat",
            opponent_race=("Zerg", "Terran")[number % 2],
            model_version=1,
            opponent_id="rival",
            map="Loop",
            extra={"difficulty": "Hard"},
        )
    learn_all(run)
    return run


def set_status(run: RunDir, heartbeat_age: float = 0.0, **changes: Any) -> None:
    """Change the learner's status; by default it has just sent a heartbeat."""
    status = (
        json.loads(run.status.read_bytes()) if run.status.exists() else {"pid": 4711, "started_at": time.time() - 60}
    )
    status |= {"state": "running", **changes, "heartbeat": time.time() - heartbeat_age}
    run.status.write_text(json.dumps(status), encoding="utf-8")
