from __future__ import annotations

import dataclasses
import logging
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from game_files import STATE_DIM, make_episode, make_model
from understudy.errors import AlreadyLearned, ModelDamaged, ModelMismatch, ModelMissing, NonFiniteError, RunDirError
from understudy.files.locks import FileLock
from understudy.ledger.connection import Ledger, LedgerGame
from understudy.models.live import Interface, LiveModel, new_model
from understudy.models.state import ModelState, read_model, rebase, to_bytes
from understudy.models.store import ModelStore
from understudy.settings import NetworkSettings, TrainingSettings


@pytest.fixture
def store(tmp_path: Path) -> ModelStore:
    return ModelStore(tmp_path / "models" / "rl_agent_model.npz", tmp_path / "understudy.sqlite", keep=5)


def shifted(state: ModelState, slot: int, by: float) -> ModelState:
    parameters = state.arrays["parameters"].copy()
    parameters[slot] += by
    return dataclasses.replace(state, arrays={**state.arrays, "parameters": parameters})


def game(name: str) -> LedgerGame:
    return LedgerGame(name, f"{name}.npz", "Victory", 10, 1.0, 100)


def test_what_is_loaded_is_what_was_published(store: ModelStore) -> None:
    first = store.create(make_model())
    assert first.version == 1
    model = LiveModel(first)
    model.trainer.update([make_episode()])
    model.publish(store, publisher="learner")
    loaded = store.load()
    assert (loaded.version, loaded.parent, loaded.publisher) == (2, 1, "learner")
    assert loaded.spec == first.spec
    assert loaded.counters == model.trainer.counters()
    for name, array in model.trainer.state_arrays().items():
        np.testing.assert_array_equal(loaded.arrays[name], array)


def test_a_saved_model_is_really_in_the_file_of_that_name(store: ModelStore) -> None:
    store.create(make_model())
    assert store.model.exists()
    assert sorted(path.name for path in store.model.parent.iterdir()) == [
        "publish.lock",
        "rl_agent_model.npz",
        "versions",
    ]
    assert store.version_path(1).read_bytes() == store.model.read_bytes()


def test_creating_where_a_model_is_returns_that_model(store: ModelStore) -> None:
    first = store.create(make_model(seed=1))
    second = store.create(make_model(seed=2))
    np.testing.assert_array_equal(first.arrays["parameters"], second.arrays["parameters"])
    assert second.version == 1


def test_a_publish_on_an_old_base_loses_neither_update(store: ModelStore) -> None:
    base = store.create(make_model())
    store.publish(shifted(base, 0, 1.0), base, publisher="bot")
    head = store.publish(shifted(base, 1, 2.0), base, publisher="learner")
    difference = head.arrays["parameters"] - base.arrays["parameters"]
    assert head.version == 3
    np.testing.assert_allclose(difference[:3], [1.0, 2.0, 0.0], atol=1e-6)


def test_rebasing_adds_up_counters_normaliser_and_settings() -> None:
    base = dataclasses.replace(make_model(), version=1)
    one, two = LiveModel(base), LiveModel(base)
    one.trainer.update([make_episode(1, steps=5)])
    two.trainer.update([make_episode(2, steps=7)])
    faster = dataclasses.replace(two.export(), training=TrainingSettings(learning_rate=0.5))
    both = rebase(one.export(), base, faster)
    assert (both.counters["games"], both.counters["steps"], both.counters["updates"]) == (2, 12, 2)
    assert both.arrays["normalizer_count"].item() == 12
    assert both.training.learning_rate == 0.5
    assert (both.arrays["adam_v"] >= 0).all()


@pytest.mark.slow
def test_threads_that_publish_at_once_lose_nothing(store: ModelStore) -> None:
    base = store.create(make_model())

    def publish(slot: int) -> None:
        for _ in range(5):
            now = store.load()
            store.publish(shifted(now, slot, 1.0), now, publisher=f"p{slot}")

    before = base.arrays["parameters"][:4].round(6).copy()
    threads = [threading.Thread(target=publish, args=(slot,)) for slot in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    head = store.load()
    assert head.version == 21
    np.testing.assert_allclose(head.arrays["parameters"][:4] - before, 5.0, atol=1e-4)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_not_finite_are_refused(store: ModelStore, bad: float) -> None:
    base = store.create(make_model())
    with pytest.raises(NonFiniteError, match=r"1 of .* numbers in parameters"):
        store.publish(shifted(base, 0, bad), base, publisher="learner")
    assert store.load().version == 1


def test_a_game_cannot_be_consumed_twice(store: ModelStore) -> None:
    base = store.create(make_model())
    head = store.publish(base, base, publisher="bot", consumed=[game("a")], outcome="online")
    with pytest.raises(AlreadyLearned, match="a"):
        store.publish(head, head, publisher="learner", consumed=[game("a"), game("b")])
    assert store.load().version == 2
    with Ledger(store.model.parent.parent / "understudy.sqlite") as ledger:
        assert ledger.known(["a", "b"]) == {"a"}


def test_history_is_bounded_and_any_kept_version_can_come_back(store: ModelStore) -> None:
    state = store.create(make_model())
    for i in range(10):
        state = store.publish(shifted(state, 0, 1.0), state, publisher=f"{i}")
    assert store.kept_versions() == [7, 8, 9, 10, 11]
    back = store.rollback(8)
    assert (back.version, back.parent) == (12, 8)
    np.testing.assert_array_equal(store.load().arrays["parameters"], store.load_version(8).arrays["parameters"])
    with pytest.raises(ModelMissing, match=r"Version 3 is not kept .*kept: 8 to 12"):
        store.rollback(3)


def test_a_mean_is_of_the_versions_that_the_newest_came_from(store: ModelStore) -> None:
    with pytest.raises(ModelMissing, match="to average"):
        store.average(2)
    first = store.create(make_model())
    astray = store.publish(shifted(first, 0, 100.0), first, publisher="learner")
    back = store.rollback(1)
    newest = store.publish(shifted(back, 0, 3.0), back, publisher="learner")
    assert newest.version == 4
    mean, count = store.average(8)  # of versions 4, 3 and 1: 2 was given up
    assert count == 3
    assert (mean.version, mean.parent, mean.publisher) == (5, 4, "average")
    expected = first.arrays["parameters"].copy()
    expected[0] += 1.0
    np.testing.assert_allclose(store.load().arrays["parameters"], expected, rtol=1e-6)
    np.testing.assert_array_equal(store.load().arrays["adam_m"], newest.arrays["adam_m"])
    assert astray.arrays["parameters"][0] == pytest.approx(first.arrays["parameters"][0] + 100, rel=1e-6)
    np.testing.assert_allclose(store.average(2)[0].arrays["parameters"][0], expected[0] + 1.0, rtol=1e-6)


def test_a_publisher_killed_before_the_ledger_has_published_nothing(store: ModelStore) -> None:
    base = store.create(make_model())
    orphan = dataclasses.replace(shifted(base, 0, 9.0), version=2)
    store.version_path(2).write_bytes(to_bytes(orphan))
    head = store.recover()
    assert head is not None
    assert head.version == 1
    after = store.publish(shifted(base, 1, 1.0), base, publisher="learner")
    assert after.version == 2
    assert abs(store.load_version(2).arrays["parameters"][0] - base.arrays["parameters"][0]) < 1e-6


def test_a_publisher_killed_after_the_ledger_is_finished_by_the_next(store: ModelStore) -> None:
    base = store.create(make_model())
    old = store.model.read_bytes()
    new = store.publish(shifted(base, 0, 1.0), base, publisher="learner")
    store.model.write_bytes(old)  # as if the third step had not happened
    with Ledger(store._ledger_path) as ledger:
        ledger.record_placed(1)
    head = store.recover()
    assert head is not None
    assert head.version == 2
    np.testing.assert_array_equal(store.load().arrays["parameters"], new.arrays["parameters"])


def test_a_model_put_there_by_hand_becomes_the_newest_version(store: ModelStore) -> None:
    first = store.create(make_model())
    state = first
    for _ in range(3):
        state = store.publish(shifted(state, 0, 1.0), state, publisher="learner")
    store.model.write_bytes(store.version_path(1).read_bytes())
    head = store.recover()
    assert head is not None
    assert (head.version, head.parent, head.publisher) == (5, 1, "by hand")
    np.testing.assert_array_equal(head.arrays["parameters"], first.arrays["parameters"])


def test_the_version_just_before_put_there_by_hand_is_honoured_too(store: ModelStore) -> None:
    state = store.create(make_model())
    for _ in range(3):
        state = store.publish(shifted(state, 0, 1.0), state, publisher="learner")
    wanted = store.load_version(3)
    store.model.write_bytes(store.version_path(3).read_bytes())
    head = ModelStore(store.model, store._ledger_path).recover()
    assert head is not None
    assert (head.version, head.parent, head.publisher) == (5, 3, "by hand")
    np.testing.assert_array_equal(head.arrays["parameters"], wanted.arrays["parameters"])


def test_a_model_of_another_run_with_the_same_number_is_noticed(
    store: ModelStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = ModelStore(tmp_path / "other" / "model.npz", tmp_path / "other.sqlite")
    for one, amount in ((store, 1.0), (other, 2.0)):
        state = one.create(make_model())
        one.publish(shifted(state, 0, amount), state, publisher="learner")
    theirs = other.load()
    store.model.write_bytes(other.model.read_bytes())
    head = store.recover()
    assert head is not None
    assert (head.version, head.publisher) == (3, "by hand")
    assert "put there by hand" in caplog.text
    np.testing.assert_array_equal(head.arrays["parameters"], theirs.arrays["parameters"])
    again = store.recover()
    assert again is not None
    assert again.version == 3


def test_models_without_their_ledger_are_taken_in(store: ModelStore, tmp_path: Path) -> None:
    state = store.create(make_model())
    state = store.publish(state, state, publisher="learner")
    (tmp_path / "understudy.sqlite").unlink()
    head = store.recover()
    assert head is not None
    assert head.version == 2
    assert store.publish(state, state, publisher="learner").version == 3


def test_a_damaged_model_is_replaced_by_the_newest_sound_version(
    store: ModelStore, caplog: pytest.LogCaptureFixture
) -> None:
    state = store.create(make_model())
    store.publish(state, state, publisher="learner")
    store.model.write_bytes(store.model.read_bytes()[:-200])
    with caplog.at_level(logging.WARNING):
        assert store.load().version == 2
    assert "Version 2 is used in its place" in caplog.text
    head = store.recover()
    assert head is not None
    assert read_model(store.model).version == 2


def test_a_damaged_model_with_nothing_to_replace_it_is_an_error(tmp_path: Path) -> None:
    file = tmp_path / "model.npz"
    file.write_bytes(b"not a model")
    with pytest.raises(ModelDamaged, match=r"model\.npz"):
        read_model(file)
    with pytest.raises(ModelMissing):
        read_model(tmp_path / "none.npz")


def test_another_architecture_is_refused_with_what_differs() -> None:
    ours = make_model().spec
    other = new_model(Interface(STATE_DIM + 1, ("A", "B")), NetworkSettings(hidden=(9, 9)), TrainingSettings(), 0).spec
    with pytest.raises(
        ModelMismatch, match=r"state_dim: 5 there, 4 here; actions: .*; hidden: \(9, 9\) there, \(8,\) here"
    ):
        ours.require(other, "x.npz")
    with pytest.raises(ModelMismatch, match="features: b there, a here"):
        dataclasses.replace(ours, features_hash="a").require(dataclasses.replace(ours, features_hash="b"), "x.npz")


@pytest.mark.slow
def test_readers_in_other_processes_never_see_a_model_they_cannot_load(store: ModelStore) -> None:
    state = store.create(make_model())
    reader = (
        "import sys; from pathlib import Path; from understudy.models.state import read_model\n"
        "path, seen = Path(sys.argv[1]), 0\n"
        "while seen < 30:\n"
        "    version = read_model(path).version; assert version >= seen, (version, seen); seen = version\n"
    )
    children = [subprocess.Popen([sys.executable, "-c", reader, str(store.model)]) for _ in range(2)]
    try:
        while any(child.poll() is None for child in children):
            state = store.publish(shifted(state, 0, 1.0), state, publisher="learner")
        assert [child.returncode for child in children] == [0, 0]
    finally:
        for child in children:
            child.kill()
            child.wait()


def test_a_publisher_that_hangs_does_not_hang_the_others(store: ModelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    state = store.create(make_model())
    monkeypatch.setattr("understudy.models.publish_lock.LOCK_SECONDS", 0.05)
    with (
        FileLock(store.model.parent / "publish.lock", what="hanging"),
        pytest.raises(RunDirError, match=r"pid \d+ on .* has held"),
    ):
        store.publish(state, state, publisher="bot")
    assert store.publish(state, state, publisher="bot").version == 2
