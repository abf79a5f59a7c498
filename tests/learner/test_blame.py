"""Who is blamed when an update is not finite: the model or the games."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from game_files import STATE_DIM, make_model, put_game
from runs import drained, outcomes
from understudy.experience.episode import Episode
from understudy.experience.spool import Spool
from understudy.learner.loop import LearnerLoop
from understudy.learner.model_check import newest_sound_version, trouble_with
from understudy.learning.trainer import Trainer
from understudy.learning.update_stats import UpdateStats
from understudy.models.live import LiveModel
from understudy.models.state import read_model, to_bytes
from understudy.models.store import ModelStore
from understudy.run.status import read_status
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, Settings


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    run = RunDir.at(tmp_path / "run")
    run.create()
    store = ModelStore(run.model, run.ledger)
    head = store.create(make_model())
    store.publish(head, head, publisher="somebody")
    return run


def learn_all(run: RunDir, training: dict[str, Any] | None = None) -> bool:
    return LearnerLoop(run, Settings(learner=LearnerSettings(verbose=False)), training).run(drained())


def waiting(run: RunDir) -> int:
    return len(list(run.buffer.glob("*.npz")))


def put_bad_game(run: RunDir, number: int) -> None:
    huge = np.full((12, STATE_DIM), 1e30, np.float32)
    path = run.buffer / f"game_20200101_0000{number:02d}_Victory_{number:016x}.npz"
    np.savez(path, states=huge, actions=np.full(12, number % 3), rewards=np.full(12, 3e38 - number * 1e36))


def spoil(run: RunDir, weight: float) -> None:
    """Make weights of the published model what no update could have made them."""
    state = read_model(run.model)
    parameters = state.arrays["parameters"].copy()
    parameters[:20] = weight
    content = to_bytes(dataclasses.replace(state, arrays={**state.arrays, "parameters": parameters}))
    for path in (run.model, ModelStore(run.model, run.ledger).version_path(state.version)):
        path.write_bytes(content)


@pytest.mark.parametrize("weight", [np.nan, 1e38])
def test_with_a_broken_model_games_wait_until_somebody_rolls_back(run: RunDir, weight: float) -> None:
    for seed in range(5):
        put_game(run.buffer, seed)
    spoil(run, weight)
    assert learn_all(run) is False
    assert (waiting(run), outcomes(run)["rejected"]) == (5, 0)
    status = read_status(run.status)
    assert status["model_trouble"]["what"].startswith("Model version 2 is broken: ")
    assert f"understudy models {run.root} --rollback 1`" in status["model_trouble"]["advice"]
    assert "] Model Broken\n" in run.log.read_text()
    ModelStore(run.model, run.ledger).rollback(1)
    assert learn_all(run) is True
    assert (waiting(run), outcomes(run)["learned"]) == (0, 5)
    assert read_status(run.status)["model_trouble"] is None


def test_a_running_learner_goes_on_by_itself_with_a_healthy_model(run: RunDir) -> None:
    put_game(run.buffer)
    spoil(run, np.nan)
    loop = LearnerLoop(run, Settings(learner=LearnerSettings(verbose=False)))
    request = drained()
    assert loop._pass(request, 1) is False
    assert str(loop.stats.state).startswith("waiting: Model version 2 is broken")
    ModelStore(run.model, run.ledger).rollback(1)
    assert loop._pass(request, 1) is True
    assert (loop.stats.model_trouble, outcomes(run)["learned"]) == (None, 1)
    assert "] Model Recovered\n" in run.log.read_text()


def test_a_setting_that_no_update_survives_is_not_the_fault_of_the_games(run: RunDir) -> None:
    for seed in range(5):
        put_game(run.buffer, seed)
    assert learn_all(run, {"learning_rate": 1e38}) is False
    assert (waiting(run), outcomes(run)["rejected"]) == (5, 0)


def test_when_several_games_in_a_row_fail_they_are_left_until_one_that_can_be_learned_shows_who_is_to_blame(
    run: RunDir,
) -> None:
    for number in range(5):
        put_bad_game(run, number)
    assert learn_all(run) is False
    assert (waiting(run), outcomes(run)["rejected"]) == (5, 0)
    assert "Several games in a row gave no finite update" in read_status(run.status)["model_trouble"]["what"]
    for seed in range(3):
        put_game(run.buffer, seed)
    assert learn_all(run) is True
    assert (waiting(run), outcomes(run)["learned"], outcomes(run)["rejected"]) == (0, 3, 5)


def test_games_that_come_one_by_one_count_in_a_row_too(run: RunDir) -> None:
    loop = LearnerLoop(run, Settings(learner=LearnerSettings(verbose=False)))
    request = drained()
    for number in range(4):
        put_bad_game(run, number)
        while loop._pass(request, 1):
            loop._spool.scan()
        if number < 2:  # a game or two: their own fault
            assert (waiting(run), outcomes(run)["rejected"]) == (0, number + 1)
    assert (waiting(run), outcomes(run)["rejected"]) == (2, 2)
    put_game(run.buffer)
    loop._spool.scan()
    while loop._pass(request, 1):
        loop._spool.scan()
    assert (waiting(run), outcomes(run)["learned"], outcomes(run)["rejected"]) == (0, 1, 4)
    reasons = [json.loads(note.read_text())["reason"] for note in run.rejected.glob("*.reason.json")]
    assert all("Training on this game fails" in reason for reason in reasons)


def _too_much(*_: object) -> NoReturn:
    raise MemoryError("Unable to allocate 100 GiB")


def test_games_wait_while_there_is_not_enough_memory_to_learn_from_them(
    run: RunDir, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for seed in range(4):
        put_game(run.buffer, seed)
    with monkeypatch.context() as short:
        loop = LearnerLoop(run, Settings(learner=LearnerSettings(verbose=False)))
        assert loop._has_model()
        short.setattr(Trainer, "update", _too_much)
        assert loop._pass(drained(), 1)
        assert "not enough memory" in str(loop._board._state())
        assert loop.run(drained()) is False
    assert (waiting(run), outcomes(run)["rejected"]) == (4, 0)
    assert "not enough memory" in read_status(run.status)["last_error"]
    assert "needs more memory than there is now; it is tried again in 10 s" in caplog.text
    assert learn_all(run) is True
    assert (waiting(run), outcomes(run)["learned"]) == (0, 4)


def test_a_game_that_is_too_large_for_the_memory_does_not_keep_others_from_being_learned(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    def update(trainer: Trainer, episodes: Sequence[Episode], *more: Any, **options: Any) -> UpdateStats:
        if any(len(episode) > 20 for episode in episodes):
            _too_much()
        return real(trainer, episodes, *more, **options)

    real = Trainer.update
    monkeypatch.setattr(Trainer, "update", update)
    arrays = {"states": np.zeros((21, STATE_DIM)), "actions": np.arange(21) % 3, "rewards": np.ones(21)}
    np.savez(run.buffer / "long.npz", **arrays)  # type: ignore[arg-type]
    for seed in range(3):
        put_game(run.buffer, seed)
    assert learn_all(run) is True
    assert (waiting(run), outcomes(run)["learned"], outcomes(run)["rejected"]) == (1, 3, 0)


def test_a_lack_of_memory_anywhere_does_not_end_the_learner(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    put_game(run.buffer)
    loop = LearnerLoop(run, Settings(learner=LearnerSettings(verbose=False)))
    monkeypatch.setattr("understudy.learner.loop._TROUBLE_SECONDS", 0.0)
    with monkeypatch.context() as short:
        short.setattr("understudy.experience.spool.read_episode", _too_much)
        assert not loop._pass(drained(), 1)  # the game rests
        short.setattr(Spool, "salvage", _too_much)
        assert not loop._pass(drained(), 1)
        assert "not enough memory" in (loop._board.trouble or "")
    loop._spool._resting.clear()  # ten seconds later
    assert loop.run(drained()) is True
    assert waiting(run) == 0


def test_a_sound_model_is_as_it_was_after_it_was_examined() -> None:
    model = LiveModel(make_model())
    before = model.export()
    assert trouble_with(model) is None
    after = model.export()
    assert all(np.array_equal(before.arrays[name], after.arrays[name]) for name in before.arrays)
    assert before.counters == after.counters


def test_the_newest_version_that_can_learn_is_found_beyond_broken_ones(run: RunDir) -> None:
    store = ModelStore(run.model, run.ledger)
    head = store.load()
    for _ in range(2):
        head = store.publish(head, head, publisher="somebody")
    assert newest_sound_version(store, 4) == 3
    store.version_path(3).write_bytes(b"no model")
    assert newest_sound_version(store, 4) == 2
    assert newest_sound_version(store, 1) is None
