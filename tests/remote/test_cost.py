"""What the bucket costs: requests do not grow with history; clocks do not matter; a week offline is caught up."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from remote.machines import LEASE, Clock, Machine, learned_times
from understudy.remote.bucket import Bucket
from understudy.remote.head import Consumed, read_head
from understudy.remote.layout import HEAD, GameKey, from_json, to_json
from understudy.remote.memory import MemoryStore

HISTORY = 100_000


def learner_with_history(tmp_path: Path, store: MemoryStore, clock: Clock, games: int) -> Machine:
    """A bucket whose head has learned `games` games of a machine called `old`."""
    learner = Machine(tmp_path / f"learner-{games}", store, clock, role="learner")
    learner.create_model()
    learner.step()
    keys = [GameKey("old", f"2026-01-{1 + n // 5000:02d}", n, f"id{n}", "0" * 32).key for n in range(1, games + 1)]
    store._objects.update(dict.fromkeys(keys, b""))
    document = from_json(store._objects[HEAD], HEAD)
    if games:
        document["consumed"] = {"old": Consumed([[1, games]], keys[-1])}
        store.put("machines/old.json", to_json({"machine": "old", "complete": games, "role": "player"}))
    store.put(HEAD, to_json(document))
    learner.step()
    return learner


@pytest.mark.slow
@pytest.mark.parametrize("history", [0, HISTORY])
def test_requests_do_not_grow_with_history(history: int, tmp_path: Path) -> None:
    store, clock = MemoryStore(), Clock()
    learner = learner_with_history(tmp_path, store, clock, history)
    player = Machine(tmp_path / "player", store, clock, role="player")
    player.step()
    before = learner.sync.bucket.traffic.total + player.sync.bucket.traffic.total
    began = time.monotonic()
    player.play(100)
    player.step()
    for _ in range(5):
        learner.step()
        learner.learn()
    learner.step()
    assert len(learner.learned()) == 100
    assert time.monotonic() - began < 30
    requests = learner.sync.bucket.traffic.total + player.sync.bucket.traffic.total - before
    assert requests <= 300  # of 100 games, with models, claims and heartbeats
    assert learner.sync.facts()["requests_per_game"] is not None
    idle = learner.sync.bucket.traffic.total
    for _ in range(10):
        learner.step()
    assert learner.sync.bucket.traffic.total - idle <= 60


@pytest.mark.parametrize("skew", [-600.0, 600.0, 86_400.0 * 400])
def test_clocks_that_differ_do_no_harm(skew: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, clock = MemoryStore(), Clock()
    learner = learner_with_history(tmp_path, store, clock, 0)
    player = Machine(tmp_path / "player", store, clock, role="player")
    real = time.time
    for round_ in range(4):
        shift = skew if round_ % 2 else 0.0  # the player's clock is also set back and forth
        monkeypatch.setattr(time, "time", lambda shift=shift: real() + shift)
        monkeypatch.setattr(time, "gmtime", lambda at=None, shift=shift: time.localtime(real() + shift))
        player.play(5)
        player.step()
        monkeypatch.undo()
        learner.step()
        learner.learn()
        learner.step()
    assert len(learned_times(Bucket(store))) == 20
    assert set(learned_times(Bucket(store)).values()) == {1}


@pytest.mark.slow
def test_a_week_offline_is_caught_up(tmp_path: Path) -> None:
    store, clock = MemoryStore(), Clock()
    learner = learner_with_history(tmp_path, store, clock, 0)
    away = Machine(tmp_path / "away", store, clock, role="player")
    away.step()
    other = Machine(tmp_path / "other", store, clock, role="player")
    ids = []
    for _ in range(14):  # half a day at a time
        clock.now += 43_200
        ids += away.play(20)
        ids += other.play(5)
        other.step()
        learner.step()
        learner.learn()
        learner.step()
    assert clock.now > 7 * 86_400
    while away.sync.once(push=True):
        pass
    for _ in range(8):
        learner.step()
        learner.learn()
    learner.step()
    away.step()
    assert learner.learned() == set(ids)
    head = read_head(Bucket(store))
    assert head is not None
    assert away.models.load().version == head.model.version
    assert set(learned_times(Bucket(store)).values()) == {1}
    assert LEASE < 86_400
