"""How many games make a batch."""

from __future__ import annotations

from pathlib import Path

from game_files import make_episode, make_model
from understudy.experience.episode import file_name, write_episode
from understudy.experience.spool import Spool
from understudy.learner.training import Training
from understudy.learning.trust_region import worthwhile_batch
from understudy.ledger.connection import Ledger
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, StorageSettings


def test_games_are_counted_by_their_present_length_not_by_that_of_the_whole_history(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path / "run")
    run.create()
    store = ModelStore(run.model, run.ledger)
    store.create(make_model())
    with Ledger(run.ledger) as ledger:
        spool = Spool(run, ledger, StorageSettings())
        training = Training(store, spool, LearnerSettings(batch_games=20), None)
        assert training.refresh()
        for length in (10, 200):
            for seed in range(20):
                game = make_episode(seed, length)
                write_episode(run.buffer / file_name(game.meta), game, compress=False)
            spool.scan()
            training.learn(
                training.next_batch(), interrupted=lambda: False, published=lambda _: None, refused=lambda _: None
            )
        assert training._model is not None
        trainer = training._model.trainer
        assert (trainer.games, trainer.steps) == (40, 4200)
        assert training.worthwhile_games == -(-worthwhile_batch(4200, trainer.adjusted) // 200)
    assert read_model(run.model).counters["games"] == 40
