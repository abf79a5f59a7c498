"""What bots count about their opponents is added up across machines."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from remote.machines import Clock, Machine
from understudy.errors import RemoteError
from understudy.remote.counts import SharedCounts, checked_names, summed
from understudy.remote.memory import MemoryStore

NAME = "opponents.json"


def content(one: Machine) -> Any:
    return json.loads((one.run.root / NAME).read_text())


def count(one: Machine, opponent: str, games: float, points: float) -> None:
    """What a bot does after some games."""
    path = one.run.root / NAME
    found = json.loads(path.read_text()) if path.exists() else {"opponents": {}}
    record = found["opponents"].setdefault(opponent, {"games": 0.0, "openings": {"pool": [0.0, 0.0]}})
    record["games"] += games
    record["openings"]["pool"] = [record["openings"]["pool"][0] + games, record["openings"]["pool"][1] + points]
    path.write_text(json.dumps(found))


@pytest.fixture
def machines(tmp_path: Path, shared: MemoryStore) -> Any:
    made = [Machine(tmp_path / str(n), shared, Clock(), role="player") for n in range(3)]
    yield made
    for one in made:
        one.sync.close()


def test_sums_of_trees() -> None:
    assert summed({"a": 5, "b": 1}, {"a": 4, "c": 2}, {"a": 3}) == {"a": 6, "b": 1, "c": 2}
    assert summed({"x": [1, 2]}, {"x": [3, 3]}, {"x": [2, 2]}) == {"x": [2, 3]}
    assert summed({"x": [1, 2]}, {"x": [3, 3]}, None) == {"x": [4, 5]}
    assert summed({"a": 1}, {"a": 0}, {"a": 3}) == {"a": 0}
    assert summed({"text": "old"}, {"text": "new"}, None) == {"text": "new"}
    assert summed({"a": 1}, None, None) == {"a": 1}


def test_every_game_is_in_the_memory_of_every_machine_once(machines: list[Machine], shared: MemoryStore) -> None:
    for round_ in range(3):
        for number, one in enumerate(machines):
            count(one, "shared opponent", 2.0, 1.0)
            count(one, f"own {number} {round_}", 1.0, 1.0)
            one.step()
            one.sync._counts._next_look = 0.0
    for one in machines * 2:
        one.sync._counts._next_look = 0.0
        one.step()
    found = [content(one) for one in machines]
    assert found[0] == found[1] == found[2]
    assert found[0]["opponents"]["shared opponent"] == {"games": 18.0, "openings": {"pool": [18.0, 9.0]}}
    assert len(found[0]["opponents"]) == 10


@pytest.mark.parametrize("at", range(4))
def test_a_kill_at_any_step_counts_nothing_twice(
    at: int, machines: list[Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, _ = machines
    count(first, "x", 3.0, 1.0)
    steps = iter(range(10))

    def killed(method: Any) -> Any:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            result = method(*arguments, **named)
            if next(steps) == at:
                raise KeyboardInterrupt
            return result

        return wrapped

    with monkeypatch.context() as patch:
        patch.setattr(SharedCounts, "_remember", killed(SharedCounts._remember))
        patch.setattr(MemoryStore, "create", killed(MemoryStore.create))
        with contextlib.suppress(KeyboardInterrupt):
            first.sync._counts.exchange()
    count(second, "x", 2.0, 0.0)
    for _ in range(2):
        for one in (second, first):
            one.restart()
            one.sync._counts.exchange()
    assert content(first) == content(second)
    assert content(first)["opponents"]["x"]["games"] == 5.0


def test_only_files_of_the_run_directory_are_shared() -> None:
    assert checked_names([NAME]) == (NAME,)
    for name in ("../x", ".hidden", "a/b"):
        with pytest.raises(RemoteError):
            checked_names([name])
