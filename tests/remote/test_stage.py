"""Machines that share a bucket have one champion, and one body of evidence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from remote.machines import Machine, Make
from understudy.ledger.gate import GateLedger
from understudy.models.evidence import Played
from understudy.models.gate import Gate
from understudy.models.gate_state import GateState
from understudy.remote.layout import STAGE, from_json
from understudy.remote.memory import MemoryStore
from understudy.remote.stage import SharedStage, digest_of
from understudy.settings import GateSettings

Score = Callable[[str], float]


def line_is_better(role: str) -> float:
    return 1.0 if role in ("line", "challenger") else 0.0


def line_is_worse(role: str) -> float:
    return 1.0 - line_is_better(role)


@pytest.fixture
def learner(machine: Make) -> Machine:
    """A learner whose gate compares version 2 with version 1."""
    made = machine(role="learner")
    made.create_model()
    Gate(made.run.ledger, made.models).use(GateSettings())
    made.play(1)
    made.learn()
    made.step()
    return made


def gate_of(one: Machine) -> Gate:
    return Gate(one.run.ledger, one.models)


def state_of(one: Machine) -> GateState:
    found = gate_of(one).look()
    assert found is not None
    return found


def champion_of(one: Machine) -> str:
    return digest_of(one.models.load_version(state_of(one).champion))


def play(one: Machine, games: int, score: Score, opponent: str = "somebody") -> None:
    gate = gate_of(one)
    for number in range(games):
        name = f"{one.run.root.name}-{opponent}-{number}-{state_of(one).number}-{id(score)}"
        part = gate.assign(name, opponent)
        gate.record(name, Played(score(part.role)))


def comparisons(one: Machine) -> int:
    contest = state_of(one).contest
    return 0 if contest is None else contest.seen


def completed(*machines: Machine) -> int:
    total = 0
    for one in machines:
        with GateLedger(one.run.ledger) as ledger:
            total += len(ledger.differences(state_of(one).number))
    return total


def sync(*machines: Machine) -> None:
    for _ in range(2):
        for one in machines:
            one.step()


def test_a_machine_that_joins_has_the_champion_of_the_others(machine: Make, learner: Machine) -> None:
    player = machine(role="player")
    sync(player)
    assert champion_of(player) == champion_of(learner)
    assert state_of(player).champion == 1
    assert player.models.load().version == 2


def test_the_evidence_of_all_machines_adds_up(machine: Make, learner: Machine) -> None:
    players = [machine(role="player") for _ in range(3)]
    sync(learner, *players)
    for one in players:
        play(one, 20, line_is_better)
        assert state_of(one).champion == 1, "one machine alone has too little evidence"
    for _ in range(3):
        sync(*players, learner)
    assert len({champion_of(one) for one in (learner, *players)}) == 1
    assert {state_of(one).champion for one in (learner, *players)} == {2}


def test_comparisons_count_once_whatever_fails(
    machine: Make, learner: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = machine(role="player"), machine(role="player")
    sync(learner, first, second)
    fair = iter([1.0, 0.0, 0.5] * 100)
    play(first, 15, lambda _: next(fair))
    play(second, 10, lambda _: next(fair))
    real, calls = SharedStage._remember, []

    def killed_after_the_push(stage: SharedStage, memory: Any) -> None:
        calls.append(memory)
        if len(calls) == 2:  # the first one is before the push
            raise KeyboardInterrupt
        real(stage, memory)

    with monkeypatch.context() as patch:
        patch.setattr(SharedStage, "_remember", killed_after_the_push)
        with pytest.raises(KeyboardInterrupt):
            first.step()
    second.step()
    first.restart()
    play(first, 10, lambda _: next(fair))
    for _ in range(3):
        sync(first, second, learner)
    assert completed(first, second, learner) >= 7  # more if the line is suspected meanwhile: blocks are shorter then
    assert comparisons(first) == comparisons(second) == comparisons(learner) == completed(first, second, learner)


def test_a_machine_offline_decides_for_itself_and_the_others_follow(machine: Make, learner: Machine) -> None:
    away, other = machine(role="player"), machine(role="player")
    sync(learner, away, other)
    play(away, 150, line_is_worse)
    assert state_of(away).stage == "champion"
    sync(away, other, learner)
    assert state_of(other).stage == state_of(learner).stage == "champion"
    assert other.models.separate, "bots load the champion"
    assert champion_of(other) == champion_of(away) == champion_of(learner)
    with GateLedger(other.run.ledger) as ledger:
        assert "taken off" in ledger.events()[-1].sentence


def test_the_first_decision_that_reaches_the_bucket_holds(
    machine: Make, learner: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = machine(role="player"), machine(role="player")
    sync(learner, first, second)
    play(first, 200, line_is_better)
    play(second, 150, line_is_worse)
    assert state_of(first).champion == 2
    assert state_of(second).stage == "champion"
    sync(first)
    sync(second, first, learner)
    assert {state_of(one).stage for one in (first, second, learner)} == {"line"}
    assert len({champion_of(one) for one in (first, second, learner)}) == 1
    assert "Another machine decided first" in caplog.text
    assert second.sync.facts()["decisions_overruled"] == 1


def test_a_champion_that_is_missing_in_the_bucket_stops_nothing_else(
    machine: Make, learner: Machine, shared: MemoryStore, caplog: pytest.LogCaptureFixture
) -> None:
    gate_of(learner).promote(2, "somebody")
    learner.play(1)
    learner.learn()
    learner.step()
    kept = {key: data for key, data in shared._objects.items() if key.startswith("stage/")}
    for key in kept:
        shared.delete(key)
    player = machine(role="player")
    player.play(2)
    sync(player)
    assert "The stage is not shared now" in caplog.text
    assert player.sync.up == 2
    shared._objects.update(kept)
    sync(player)
    assert champion_of(player) == champion_of(learner)


def test_what_people_decide_holds_everywhere(machine: Make, learner: Machine) -> None:
    player = machine(role="player")
    sync(learner, player)
    gate_of(learner).promote(2, "somebody")
    sync(learner, player)
    assert champion_of(player) == champion_of(learner)
    assert state_of(player).champion == 2


def test_a_champion_whose_number_is_taken_here_gets_another_one(machine: Make, learner: Machine) -> None:
    other = machine(role="learner")
    other.step()
    other.play(1)
    other.learn()  # its own version 3
    other.sync.close()
    learner.play(2)
    learner.learn()  # another version 3
    learner.step()
    gate_of(learner).promote(3, "somebody")
    learner.step()
    learner.play(1)
    learner.learn()
    learner.step()
    other.restart()
    sync(other, learner)
    assert champion_of(other) == champion_of(learner)
    assert state_of(other).champion != 3
    assert digest_of(other.models.load()) == digest_of(learner.models.load())


def test_models_that_were_on_stage_do_not_pile_up(
    learner: Machine, shared: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.remote.stage._KEPT_MODELS", 2)
    for _ in range(6):
        learner.play(1)
        learner.learn()
        gate_of(learner).promote(learner.models.load().version, "somebody")
        learner.step()
    staged = [entry.key for entry in shared.list("stage/", "")]
    document = from_json(shared._objects[STAGE], STAGE)
    assert len(staged) == 3
    assert document["models"]["champion"][0] in staged
