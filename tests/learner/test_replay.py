"""The learner learns from recent games again, and counts each once all the same."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from game_files import make_model, put_game
from runs import drained, outcomes
from understudy.learner.loop import LearnerLoop
from understudy.ledger.connection import Ledger
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, Settings


def replayed(run: RunDir, share: float) -> Counter[str]:
    """Learn 12 games, two at a time; how often each was learned from again."""
    run.create()
    ModelStore(run.model, run.ledger).create(make_model())
    for seed in range(12):
        put_game(run.buffer, seed, id=f"game-{seed}", age=100 - seed)
    settings = LearnerSettings(verbose=False, min_batch_games=2, batch_games=2, replay_share=share)
    assert LearnerLoop(run, Settings(learner=settings)).run(drained())
    with Ledger(run.ledger, read_only=True) as ledger:
        rows = ledger.query("SELECT stats FROM versions ORDER BY version")
        count = Counter(game for (stats,) in rows for game in json.loads(stats).get("replayed", ()))
        assert {game: ledger.times_replayed(game) for game in count} == count
    return count


def test_replayed_games_are_counted_as_learned_once_and_how_often_they_were_replayed_is_recorded(
    tmp_path: Path,
) -> None:
    run = RunDir.at(tmp_path / "run")
    count = replayed(run, 1.0)
    assert sum(count.values()) == 10  # two in each batch but the first
    assert outcomes(run) == {"learned": 12, "online": 0, "rejected": 0, "skipped": 0}
    head = read_model(run.model)
    assert (head.counters["games"], head.counters["steps"]) == (12, 144)
    assert head.arrays["normalizer_count"] == 144


def test_a_share_of_0_replays_nothing(tmp_path: Path) -> None:
    assert not replayed(RunDir.at(tmp_path / "run"), 0.0)
