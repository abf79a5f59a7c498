"""The data of the page Stage: ratings, pairwise results, and results by opponent."""

from __future__ import annotations

import dataclasses
import html
import sqlite3
from pathlib import Path

import pytest

pytest.importorskip("nicegui")

from game_files import make_model
from understudy.cli import main
from understudy.ledger.arena import ArenaLedger
from understudy.ledger.jobs import JobLedger
from understudy.models.evidence import Played
from understudy.models.gate import Gate, SimulatedPair
from understudy.models.store import ModelStore
from understudy.run.status import read_status
from understudy.rundir import RunDir
from understudy.settings import GateSettings
from understudy.watch.dashboard import stage
from understudy.watch.stage import EVALUATION_GAMES, read_stage
from watch.dashboard.served import learned_run


def test_everything_that_compared_versions_is_rated_together(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    run.create()
    assert read_stage(run.ledger).report is None
    store = ModelStore(run.model, run.ledger)
    store.create(make_model())
    gate = Gate(run.ledger, store)
    gate.use(GateSettings(control_share=0.5))
    head = store.load()
    store.publish(dataclasses.replace(head, seed=9), head, publisher="learner")
    for number in range(4):
        part = gate.assign(f"game-{number}", "somebody")
        gate.record(f"game-{number}", Played(float(part.role == "line")))
    wanted = gate.to_simulate()
    assert wanted == SimulatedPair(1, 2, 1)
    gate.record_simulated(wanted, 1_000_000, [1.0, -1.0, 0.0])
    with JobLedger(run.ledger) as jobs:
        jobs.record_evaluation(1, "a:b", 0, "LLLW", 1.0)
        jobs.record_evaluation(2, "a:b", 0, "WWWT", 1.0)
        jobs.record_evaluation(2, "a:b for the gate", 1_000_000, "WLT", 1.0)  # counted as simulated games already
    with ArenaLedger(run.ledger) as arena:
        arena.record("tictactoe", [("run v2", "random", 0, 1), ("run v1", "run v2", 1, -1)])
    view = read_stage(run.ledger)
    assert view.report is not None
    assert "it beats the champion in 50 % of the same 3 games, " in view.report.sentence
    ratings = {row.player: row for row in view.ratings}
    assert set(ratings) == {"v1", "v2", "random", EVALUATION_GAMES}
    assert ratings[EVALUATION_GAMES].elo == 0
    assert ratings["v2"].elo > ratings["v1"].elo
    assert ratings["v2"].games == 4 + 2 + 3 + 2
    assert view.met is not None
    assert view.met[2, 1] == (2 + 1.5 + 1, 2 + 3 + 1)
    assert view.met[1, 2] == (1.5, 6)
    (record,) = view.opponents
    assert (record.opponent, record.champion_games, record.champion_points) == ("somebody", 2, 0)
    assert (record.line_games, record.line_points) == (2, 2)


def test_a_ledger_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    (tmp_path / "understudy.sqlite").write_bytes(b"not a database" * 100)
    view = read_stage(tmp_path / "understudy.sqlite")
    assert view.report is None
    assert f"{tmp_path / 'understudy.sqlite'} cannot be read" in view.trouble
    assert f"understudy doctor {tmp_path}</code>" in html.unescape(stage.sentence(view))
    assert read_stage(tmp_path / "nothing").trouble == ""


def test_a_gate_of_an_older_version_is_shown_whatever_tables_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunDir.at(tmp_path)
    run.create()
    store = ModelStore(run.model, run.ledger)
    store.create(make_model())
    Gate(run.ledger, store).use(GateSettings())
    with sqlite3.connect(run.ledger) as db:
        db.executescript("DROP TABLE gate_simulated; DROP TABLE gate_opponents")
    db.close()
    assert "v1 is on stage since" in stage.sentence(read_stage(run.ledger))
    assert main(["gate", str(tmp_path)]) == 0
    assert "v1 is on stage since" in capsys.readouterr().out


def test_a_ledger_of_an_older_version_with_a_gate_is_shown(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    run.create()
    store = ModelStore(run.model, run.ledger)
    store.create(make_model())
    Gate(run.ledger, store).use(GateSettings())
    with sqlite3.connect(run.ledger) as db:
        db.execute("PRAGMA user_version = 1")
    db.close()
    assert "v1 is on stage since" in stage.sentence(read_stage(run.ledger))


def test_without_a_gate_in_the_ledger_the_page_agrees_with_status_json(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    run.create()
    ModelStore(run.model, run.ledger).create(make_model())
    view = read_stage(run.ledger)
    assert "There is no gate in this run yet" in stage.sentence(view)
    shown = stage.sentence(view, "v5 is on stage.")
    assert "v5 is on stage." in shown
    assert "status.json" in shown
    assert "There is no gate" not in shown
    assert "There is no gate" not in stage.candidate(view)
    assert f"understudy arena {run.root}</code>" in html.unescape(stage.rating_table(view, run.root))


def test_the_status_of_a_learner_that_has_ended_is_that_of_the_ledger(tmp_path: Path) -> None:
    run = learned_run(tmp_path)
    report = read_stage(run.ledger).report
    status = read_status(run.status)
    assert report is not None
    assert status is not None
    assert status["model_version"] == report.on_stage
    assert status["gate"]["sentence"] == report.sentence


def test_pages_are_drawn_from_it(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    run.create()
    store = ModelStore(run.model, run.ledger)
    store.create(make_model())
    Gate(run.ledger, store).use(GateSettings())
    with JobLedger(run.ledger) as jobs:
        for version, letters in ((1, "LLLW"), (2, "WWWT"), (3, "WWWW")):
            jobs.record_evaluation(version, "a:b", 0, letters, 1.0)
    view = read_stage(run.ledger)
    options = stage.rating_chart(view)
    assert options is not None
    rating = next(series for series in options["series"] if series["name"] == "rating")
    assert [point[0] for point in rating["data"]] == [1, 2, 3]
    assert [point[1] for point in rating["data"]] == sorted(point[1] for point in rating["data"])
    assert "v1 is on stage since" in stage.sentence(view)
    assert "evaluation games" in stage.rating_table(view, run.root)
    assert "began" in stage.decisions(view)


def test_of_very_many_versions_those_with_the_most_games_are_rated(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    run.create()
    with ArenaLedger(run.ledger) as arena:
        arena.record(
            "tictactoe", [(f"run v{n}", "run v1", pair, 1) for n in range(2, 400) for pair in range(1 + n % 3)]
        )
    view = read_stage(run.ledger)
    assert len(view.ratings) == 200
    assert {row.games for row in view.ratings} >= {3}
    assert any(row.player == "v1" for row in view.ratings)
