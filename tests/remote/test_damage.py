"""What a bucket may hold besides what Understudy wrote, and how a store may answer."""

from __future__ import annotations

from typing import Any

import pytest

from remote.machines import LEASE, Clock, Machine, learned_times
from understudy.errors import RemoteError, RemoteUnavailable, SettingsError
from understudy.remote.bucket import Bucket
from understudy.remote.head import read_head
from understudy.remote.layout import CLAIMS, COMMITS, EXCLUDED, HEAD, RUN, STAGE, to_json
from understudy.remote.machines import load_machines
from understudy.remote.memory import MemoryStore
from understudy.remote.objects import Found
from understudy.remote.store import open_store
from understudy.remote.work import game_of
from understudy.settings import GateSettings

FOREIGN = [
    "readme.txt",
    "games/holiday.jpg",
    "games/x/2026-01-01/0000000001-notes.txt",
    "machines/list.csv",
    "claims/list.csv",
    "claims/x/1.json",
    "models/0000000000.npz",
    "commits/0000000000.json",
    "stage/0000000000.npz",
]
DAMAGE = [b"", b"garbage", b"[1]", b'{"schema": null, "games": 5, "owner": [3], "complete": {}, "at": "x", "seen": 3}']


def test_objects_of_others_are_left_alone(
    player: Machine, learner: Machine, clock: Clock, shared: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.remote.head._CLEAN_EVERY", 2)
    for module, name in (("head", "_KEPT_MODELS"), ("head", "_KEPT_COMMITS"), ("stage", "_KEPT_MODELS")):
        monkeypatch.setattr(f"understudy.remote.{module}.{name}", 1)
    before = dict.fromkeys(FOREIGN, b"of somebody else")
    shared._objects |= before
    for _ in range(4):
        clock.now += 2 * LEASE
        player.play(2)
        player.step()
        learner.step()
        learner.learn()
        learner.step()
    assert {key: shared._objects.get(key) for key in FOREIGN} == before
    assert learner.models.load().counters["games"] == 8


@pytest.mark.parametrize("content", DAMAGE)
def test_a_damaged_claim_or_heartbeat_stops_nobody(
    content: bytes, player: Machine, learner: Machine, clock: Clock, shared: MemoryStore
) -> None:
    player.play(3)
    player.step()
    shared._objects[f"{CLAIMS}{player.sync.machine}/0000000001.json"] = content
    shared._objects["machines/broken.json"] = content
    (broken,) = [one.name for one in load_machines(learner.sync.bucket) if one.notes == ["heartbeat is damaged"]]
    assert broken == "broken"
    learner.step()
    clock.now += LEASE
    learner.step()  # the damaged claim has ended
    learner.learn()
    learner.step()
    assert list(learned_times(learner.sync.bucket).values()) == [1] * 3


@pytest.mark.parametrize("content", DAMAGE)
@pytest.mark.parametrize(
    ("key", "repair"),
    [(HEAD, "Copy the newest object of commits/"), (STAGE, "Delete it"), (RUN, "--game"), (EXCLUDED, "exclude the")],
)
def test_a_damaged_document_is_named_with_what_to_do(
    key: str, repair: str, content: bytes, learner: Machine, shared: MemoryStore
) -> None:
    if key == EXCLUDED and content.startswith(b"{"):
        return  # any object can be read
    shared._objects[key] = content
    with pytest.raises(RemoteError, match=f"{key} in the bucket is damaged: .*{repair}"):
        game_of(learner.sync.bucket, None) if key == RUN else learner.step()


def test_a_newer_version_of_the_program_is_told_apart_from_damage(learner: Machine, shared: MemoryStore) -> None:
    shared._objects[HEAD] = to_json({"schema": 2})
    with pytest.raises(RemoteError, match=r"newer version of Understudy .* upgrade"):
        learner.step()


def test_the_newest_commit_restores_the_head(player: Machine, learner: Machine, shared: MemoryStore) -> None:
    for _ in range(2):
        player.play(3)
        player.step()
        learner.step()
        learner.learn()
        learner.step()
    shared._objects[HEAD] = shared._objects[[entry.key for entry in shared.list(COMMITS, "")][-1]]
    player.play(3)
    for one in (player, learner):
        one.step()
    learner.learn()
    learner.step()
    assert list(learned_times(learner.sync.bucket).values()) == [1] * 9


def test_a_stage_that_was_deleted_is_made_again(learner: Machine, shared: MemoryStore) -> None:
    from understudy.models.gate import Gate  # noqa: PLC0415

    Gate(learner.run.ledger, learner.models).use(GateSettings())
    learner.step()
    shared.delete(STAGE)
    learner.step()
    assert shared.get(STAGE, 10**6) is not None


def test_a_bucket_that_was_emptied_is_filled_again(player: Machine, learner: Machine, shared: MemoryStore) -> None:
    player.play(3)
    player.step()
    learner.step()
    learner.learn()
    learner.step()
    shared._objects.clear()
    player.play(2)
    for one in (player, learner, player):
        one.step()
    learner.learn()
    learner.step()
    player.step()
    head = read_head(learner.sync.bucket)
    assert head is not None
    assert head.model.version == player.models.load().version
    assert player.models.load().counters["games"] == 5
    assert learned_times(learner.sync.bucket)[player.sync.machine, 5] == 1


def test_the_game_of_a_bucket_that_was_emptied_is_named_again() -> None:
    bucket = Bucket(MemoryStore())
    with pytest.raises(RemoteError, match="add --game"):
        game_of(bucket, None)
    assert game_of(bucket, None, known="tictactoe") == "tictactoe"
    assert game_of(bucket, None) == "tictactoe"


def test_what_fails_after_a_good_pass_is_tried_again(player: Machine, shared: MemoryStore) -> None:
    player.play(2)
    player.step()
    head = shared._objects.get(HEAD)
    shared._objects[HEAD] = b"garbage"
    with pytest.raises(RemoteError, match="damaged"):
        player.sync.run()
    states: list[str] = []

    def told(facts: dict[str, Any]) -> None:
        states.append(facts["state"])
        if len(states) == 1:
            shared._objects[HEAD] = b"garbage"
        elif len(states) == 2:
            shared._objects.pop(HEAD)
            if head is not None:
                shared._objects[HEAD] = head
        elif states[-1] == "synchronised":
            player.sync._stop.set()

    shared._objects.pop(HEAD)
    player.sync._told = told
    player.sync._settings = player.settings.remote.__class__(role="player", poll_seconds=0.1)
    player.sync.run()
    assert states[0] == states[2] == "synchronised"
    assert states[1].startswith(f"offline: {HEAD} in the bucket is damaged")


def test_a_body_that_is_cut_on_the_way_is_loaded_again(
    player: Machine, learner: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    player.play(2)
    player.step()
    seen: set[str] = set()
    get = MemoryStore.get

    def cut(store: MemoryStore, key: str, most: int) -> Found | None:
        found = get(store, key, most)
        if found is None or key in seen or not key.endswith(".npz"):
            return found
        seen.add(key)
        return Found(found.data[: len(found.data) // 2], found.tag)

    monkeypatch.setattr(MemoryStore, "get", cut)
    learner.step()
    assert learner.waiting() == 2
    assert not learner.sync.rejected
    learner.learn()
    learner.step()
    with pytest.raises(RemoteUnavailable, match="did not arrive whole"):
        player.step()
    player.step()
    assert player.models.load().version == learner.models.load().version


def test_a_run_directory_is_no_bucket(learner: Machine) -> None:
    with pytest.raises(SettingsError, match="is a run directory"):
        open_store(str(learner.run.root))
