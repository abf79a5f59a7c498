"""Machines that share a bucket: games go up and down once, models go both ways."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from remote.machines import LEASE, Clock, Machine, Make, commits, learned_times
from runs import outcomes
from understudy.errors import RemoteError
from understudy.files.locks import FileLock
from understudy.models.state import rebase
from understudy.remote.bucket import Bucket
from understudy.remote.head import read_head
from understudy.remote.layout import CLAIMS, EXCLUDED, GAMES, to_json
from understudy.remote.memory import MemoryStore
from understudy.run.status import read_status


def parameters(machine: Machine) -> Any:
    return machine.models.load().arrays["parameters"]


def test_games_go_up_and_down_and_the_model_comes_back(player: Machine, learner: Machine) -> None:
    ids = player.play(5)
    player.step()
    assert player.waiting() == 0
    learner.step()
    assert learner.waiting() == 5
    learner.learn()
    assert learner.learned() == set(ids)
    learner.step()
    player.step()
    assert np.array_equal(parameters(player), parameters(learner))
    assert player.models.load().version == learner.models.load().version
    assert len(learned_times(player.sync.bucket)) == 5


@pytest.mark.slow
def test_two_learners_learn_each_game_once(
    machine: Make, player: Machine, learner: Machine, shared: MemoryStore
) -> None:
    other = machine(role="learner", ahead_games=8, claim_games=4)
    ids = player.play(40)
    player.step()
    for _ in range(12):
        for one in (other, learner):
            one.step()
            one.learn()
            one.step()
    assert learner.learned() & other.learned() == set()
    assert learner.learned() | other.learned() == set(ids)
    times = learned_times(Bucket(shared))
    assert len(times) == 40
    assert set(times.values()) == {1}
    learner.step()
    assert np.array_equal(parameters(learner), parameters(other))


def test_a_silent_machine_loses_its_claims_after_the_lease(
    machine: Make, player: Machine, learner: Machine, clock: Clock
) -> None:
    ids = player.play(6)
    player.step()
    learner.step()  # claims, and is heard of no more
    other = machine(role="learner")
    for _ in range(3):
        other.step()
        clock.now += LEASE / 2 - 1
        assert other.waiting() == 0
    clock.now += LEASE
    other.step()
    other.step()
    assert other.waiting() == 6
    other.learn()
    other.step()
    assert other.learned() == set(ids)


def test_a_machine_that_wakes_after_its_claims_were_taken_over_drops_what_it_learned_twice(
    machine: Make, player: Machine, learner: Machine, clock: Clock, shared: MemoryStore
) -> None:
    ids = player.play(6)
    player.step()
    learner.step()
    own = learner.play(2)
    other = machine(role="learner")
    for _ in range(4):
        other.step()
        clock.now += LEASE
    other.learn()
    other.step()
    assert other.learned() == set(ids)
    learner.learn()  # it does not know
    assert learner.learned() == {*ids, *own}
    learner.step()
    assert learner.sync.facts()["updates_dropped"] == 8
    assert learner.waiting() == 2  # its own games are learned again
    learner.learn()
    learner.step()
    other.step()
    assert np.array_equal(parameters(learner), parameters(other))
    times = learned_times(Bucket(shared))
    assert len(times) == 6
    assert set(times.values()) == {1}
    assert sorted(game for commit in commits(Bucket(shared)) for game in commit["own"]) == sorted(own)


def test_a_machine_that_wakes_before_it_learns_leaves_the_games_to_the_other(
    machine: Make, player: Machine, learner: Machine, clock: Clock
) -> None:
    player.play(6)
    player.step()
    learner.step()
    other = machine(role="learner")
    for _ in range(4):
        other.step()
        clock.now += LEASE
    learner.step()
    assert learner.waiting() == 0
    assert other.waiting() == 6


def test_a_learner_that_joins_does_not_claim_what_is_claimed(machine: Make, player: Machine, learner: Machine) -> None:
    player.play(10)
    player.step()
    learner.step()
    names = sorted(path.name for path in learner.run.buffer.glob("*.npz"))
    kept = [(learner.run.buffer / name, learner.run.root / name) for name in names[5:]]
    for path, away in kept:
        path.rename(away)
    learner.learn()  # half of its claim
    for path, away in kept:
        away.rename(path)
    learner.step()
    other = machine(role="learner")
    other.step()
    assert other.waiting() == 0
    assert len(other.sync.bucket.list(CLAIMS)) == 1


def test_a_killed_process_claims_nothing_twice(player: Machine, learner: Machine, shared: MemoryStore) -> None:
    player.play(3)
    player.step()
    learner.restart()
    learner.step()
    learner.restart()
    player.restart()
    player.step()
    learner.step()
    learner.learn()
    learner.restart()
    learner.step()
    assert set(learned_times(Bucket(shared)).values()) == {1}
    assert len(list(shared.list(GAMES, ""))) == 3


def test_updates_made_on_several_machines_at_a_time_are_all_kept(machine: Make, learner: Machine) -> None:
    other = machine(role="learner")
    other.step()
    learner.play(3)
    other.play(4)  # the first three are those of the other machine
    learner.learn()
    other.learn()
    base, first, second = learner.models.load_version(1), learner.models.load(), other.models.load()
    learner.step()
    other.step()
    learner.step()
    expected = rebase(second, base, first)  # as when both work on one run
    assert np.allclose(parameters(learner), expected.arrays["parameters"], atol=1e-6)
    assert learner.models.load().counters["games"] == 7
    assert np.array_equal(parameters(learner), parameters(other))


def test_the_oldest_games_are_not_sent_where_more_wait_than_the_disk_may_hold(machine: Make, learner: Machine) -> None:
    player = machine(role="player", outbox_bytes=20_000)
    player.play(50)
    player.step()
    sent = player.sync.up
    dropped = player.sync.facts()["games_dropped_unsent"]
    assert sent + dropped == 50
    sizes = [entry.size for entry in learner.sync.bucket.list(GAMES)]
    assert 20_000 - max(sizes) < sum(sizes) <= 20_000
    learner.step()
    assert learner.waiting() == sent  # numbers that are missing stop nobody


@pytest.mark.parametrize("damage", ["cut", "changed", "huge", "other id", "gone"])
def test_what_is_downloaded_is_checked(
    damage: str, player: Machine, learner: Machine, shared: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    player.play(3)
    player.step()
    key = next(iter(shared.list(GAMES, ""))).key
    data = shared._objects[key]
    if damage == "gone":
        learner.sync._claims.take(learner.sync._model_sync.head, 10)  # type: ignore[arg-type]
        shared.delete(key)
    elif damage == "huge":
        monkeypatch.setattr("understudy.remote.games._HEADERS", -learner.settings.storage.episode_bytes + 10)
    elif damage == "other id":
        others = [entry.key for entry in shared.list(GAMES, "")][1]
        moved = key[:-36] + others[-36:]  # with the hash of its content
        shared.delete(key)
        shared._objects[moved] = shared._objects[others]
    else:
        shared._objects[key] = data[:-10] if damage == "cut" else bytes([*data[:50], data[50] ^ 1, *data[51:]])
    learner.step()
    bad = 3 if damage == "huge" else 1
    assert learner.sync.rejected == bad
    assert learner.waiting() == 3 - bad
    assert len(list(learner.run.rejected.glob("*.reason.json"))) == bad
    assert outcomes(learner.run)["rejected"] == bad
    learner.learn()
    learner.step()
    head = read_head(learner.sync.bucket)
    assert head is not None
    assert head.consumed[player.sync.machine].ranges == [[1, 3]]  # nobody tries it again
    assert len(learned_times(learner.sync.bucket)) == 3 - bad


def test_excluded_machines_are_not_learned_from(player: Machine, machine: Make, learner: Machine) -> None:
    second = machine(role="player")
    player.play(2)
    second.play(3)
    player.step()
    second.step()
    learner.sync.bucket.put(EXCLUDED, to_json({second.sync.machine: "strange results"}))
    learner.step()
    assert learner.waiting() == 2
    learner.sync.bucket.put(EXCLUDED, to_json({}))
    learner.step()
    assert learner.waiting() == 5


def test_a_run_learns_while_a_learner_holds_it(machine: Make, learner: Machine) -> None:
    auto = machine()
    auto.step()
    assert auto.sync.facts()["role"] == "player"
    with FileLock(auto.run.learner_lock):
        auto.play(1)
        auto.step()
        assert auto.sync.facts()["role"] == "learner"
        assert auto.waiting() == 1
    auto.step()
    assert auto.waiting() == 0
    assert auto.sync.up == 1


def test_claims_are_given_back_when_the_learner_has_ended(
    machine: Make, player: Machine, learner: Machine, clock: Clock
) -> None:
    player.play(4)
    player.step()
    auto = machine()
    with FileLock(auto.run.learner_lock):
        auto.step()
        assert auto.waiting() == 4
    clock.now += LEASE + 1
    auto.step()
    assert auto.waiting() == 0
    learner.step()
    assert learner.waiting() == 4


def test_a_second_synchroniser_of_a_run_is_refused(learner: Machine) -> None:
    with pytest.raises(RemoteError, match="Another process"):
        learner._started()


def test_a_run_belongs_to_the_first_bucket_that_answers(machine: Make) -> None:
    learner = machine(role="learner")
    learner.sync.state.join("memory://mistyped")  # nothing was ever sent there
    learner.step()
    with pytest.raises(RemoteError, match="Use another run directory"):
        learner.sync.state.join("memory://other")


def test_a_copy_of_a_run_directory_is_noticed(player: Machine, learner: Machine, shared: MemoryStore) -> None:
    player.play(1)
    player.step()
    key = next(iter(shared.list(GAMES, ""))).key
    with player.sync.state.transaction() as db:  # as in a copy that was made before the game was sent
        db.execute("UPDATE remote_facts SET value = '0' WHERE name = 'number'")
    player.play(1)
    player.sync._outbox.collect()
    ((_, new, _),) = player.sync.state.outbox()
    shared._objects[new] = b"another"
    with pytest.raises(RemoteError, match="is this run directory a copy"):
        player.step()
    assert shared.get(key, 10**6) is not None


def test_the_loop_survives_an_outage_and_reports(player: Machine, shared: MemoryStore) -> None:
    stop = threading.Event()
    player.sync.close()

    class Gone(MemoryStore):
        def get(self, key: str, most: int) -> Any:
            stop.set()
            raise ConnectionError("no route")

    player.play(2)
    player._store = Gone()
    player.sync = player._started()
    player.sync._stop = player.sync.bucket._stop = stop
    player.sync.run()
    assert read_status(player.run.sync_status)["state"] == "stopped"
    assert read_status(player.run.sync_status)["games_unsent"] == 2


def test_old_models_and_commits_are_deleted(
    learner: Machine, shared: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.remote.head._KEPT_MODELS", 3)
    monkeypatch.setattr("understudy.remote.head._KEPT_COMMITS", 5)
    monkeypatch.setattr("understudy.remote.head._CLEAN_EVERY", 4)
    shared._objects[f"models/0000000000-{'0' * 32}.npz"] = b""  # left by a killed process
    for _ in range(11):
        learner.play(1)
        learner.learn()
        learner.step()
    head = read_head(learner.sync.bucket)
    assert head is not None
    assert head.number == 12
    assert [entry.key for entry in shared.list("models/", "")] == list(head.recent)
    assert len(list(shared.list("commits/", ""))) == 6
