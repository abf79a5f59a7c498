"""A model copied over the champion by hand, while the gate keeps the champion apart from the learner's line."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from game_files import ACTIONS, make_model
from understudy.files.atomic import write_content
from understudy.learner.gate_messages import GateMessages
from understudy.ledger.gate import GateLedger
from understudy.models.gate import Gate
from understudy.models.gate_report import gate_report
from understudy.models.live import Interface, new_model
from understudy.models.state import ModelState, read_model, to_bytes
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import GateSettings, NetworkSettings

STRICT = GateSettings(mode="strict")


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """Version 1 is the champion, version 4 the newest of the line."""
    run = RunDir.at(tmp_path)
    run.create()
    store = ModelStore(run.model, run.ledger)
    store.create(make_model())
    Gate(run.ledger, store).use(STRICT)
    for _ in range(3):
        head = store.load()
        store.publish(with_weight(head, head.version + 1.0), head, publisher="learner")
    return run


def with_weight(state: ModelState, value: float) -> ModelState:
    parameters = state.arrays["parameters"].copy()
    parameters[0] = value
    return dataclasses.replace(state, arrays={**state.arrays, "parameters": parameters})


def weight(state: ModelState) -> float:
    return float(state.arrays["parameters"][0])


def next_game(run: RunDir) -> Gate:
    """What a bot does before its next game, in a separate process."""
    gate = Gate(run.ledger, ModelStore(run.model, run.ledger))
    gate.assign("game", "somebody")
    return gate


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_version_copied_over_the_champion_is_champion(run: RunDir, version: int) -> None:
    store = ModelStore(run.model, run.ledger)
    run.model.write_bytes(store.version_path(version).read_bytes())
    gate = next_game(run)
    state = gate.look()
    assert state is not None
    assert (state.champion, state.former) == (5, (1,))
    assert weight(read_model(run.model)) == float(version)
    head = store.load()
    assert (head.version, head.parent, head.publisher, weight(head)) == (5, version, "by hand", float(version))
    with GateLedger(run.ledger) as ledger:
        assert "copied over version 1 by hand" in ledger.events()[-1].sentence
    next_game(run)
    assert store.load().version == 5, "it is taken in once"


def test_the_learner_takes_it_in_within_its_next_look(run: RunDir) -> None:
    store, said = ModelStore(run.model, run.ledger), list[str]()
    news = GateMessages(run, store, STRICT, said.append, lambda *_: None)
    news.look()
    run.model.write_bytes(store.version_path(3).read_bytes())
    news._next_look = 0.0
    report = news.look()
    assert report is not None
    assert (report["champion"], weight(read_model(run.model))) == (5, 3.0)
    assert any("by hand" in line for line in said)


def test_a_decision_of_the_gate_does_not_overwrite_it(run: RunDir) -> None:
    store = ModelStore(run.model, run.ledger)
    run.model.write_bytes(store.version_path(3).read_bytes())
    Gate(run.ledger, store).promote(4, "a test")
    assert [store.load_version(5).publisher, weight(store.load_version(5))] == ["by hand", 3.0]
    assert weight(read_model(run.model)) == 4.0


def test_a_model_of_another_run_is_champion(run: RunDir) -> None:
    run.model.write_bytes(to_bytes(dataclasses.replace(with_weight(make_model(), 77.0), version=1)))
    next_game(run)
    assert weight(read_model(run.model)) == 77.0


@pytest.mark.parametrize("what", ["missing", "damaged", "not finite", "another architecture"])
def test_a_file_that_no_bot_can_play_with_gives_way_to_the_champion_and_is_kept(
    run: RunDir, what: str, caplog: pytest.LogCaptureFixture
) -> None:
    champion, content = read_model(run.model), b"nonsense"
    if what == "not finite":
        content = to_bytes(with_weight(champion, float("nan")))
    elif what == "another architecture":
        content = to_bytes(new_model(Interface(9, ACTIONS), NetworkSettings(hidden=(8,)), champion.training, 0))
    if what == "missing":
        run.model.unlink()
    else:
        run.model.write_bytes(content)
    state = next_game(run).look()
    assert state is not None
    assert state.champion == 1
    np.testing.assert_array_equal(read_model(run.model).arrays["parameters"], champion.arrays["parameters"])
    aside = run.model.with_name("rl_agent_model.refused.npz")
    assert aside.exists() == (what != "missing")
    assert "Bots load the champion" in caplog.text
    assert what == "missing" or aside.read_bytes() == content


@pytest.mark.parametrize("write", [1, 2])
def test_a_process_killed_while_it_changed_the_stage_is_not_taken_for_a_person(
    run: RunDir, write: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, store = Gate(run.ledger, ModelStore(run.model, run.ledger)), ModelStore(run.model, run.ledger)
    gate.use(GateSettings(mode="off"))
    writes = 0

    def dies(path: Path, content: bytes) -> None:
        nonlocal writes
        writes += 1
        if writes == write:
            raise KeyboardInterrupt
        write_content(path, content)

    monkeypatch.setattr("understudy.models.store.write_content", dies)
    with pytest.raises(KeyboardInterrupt):
        gate.use(STRICT)
    monkeypatch.undo()
    next_game(run)
    report = gate_report(run.ledger)
    assert report is not None
    assert (report.champion, report.on_stage, store.load().version) == (4, 4, 4)


def test_a_ledger_of_an_older_version_knows_no_digest_and_nothing_is_taken_in(run: RunDir) -> None:
    with GateLedger(run.ledger) as ledger, ledger.transaction() as db:
        db.execute("DROP TABLE staged")
    state = next_game(run).look()
    assert state is not None
    assert (state.champion, ModelStore(run.model, run.ledger).load().version) == (1, 4)
