"""`understudy gate`: what it prints and what it changes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from understudy.agent import RLAgent
from understudy.cli import main
from understudy.models.gate_report import gate_report
from understudy.rundir import RunDir
from understudy.settings import GateSettings, Settings


def play(folder: Path, games: int) -> None:
    with RLAgent(3, 2, run_dir=folder, hidden=(4,), seed=1, online_training=True) as agent:
        for _ in range(games):
            agent.begin_episode(opponent_id="somebody")
            agent.select_action(np.ones(3))
            agent.end_episode("Victory")


def test_it_shows_stage_evidence_and_decisions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(tmp_path, 16)
    assert main(["gate", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "v17, the newest version, is on stage; the champion is v1 since" in text
    assert "The line beats the champion in 50 % of 3 comparisons against the same opponents, " in text
    assert "somebody" in text
    assert "Version 1 is the first champion" in text


def test_promote_demote_pin_and_mode(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play(tmp_path, 6)
    for arguments in (["promote", "4"], ["demote"], ["pin", "2"], ["unpin", "2"], ["unpin", "2"], ["mode", "strict"]):
        assert main(["gate", str(tmp_path), *arguments]) == 0
    text = capsys.readouterr().out
    for words in (
        "Version 4 is champion. The newest version still plays",
        "Version 4 is on stage; the line restarts from it.",
        "Version 2 is pinned",
        "no longer pinned",
        "was not pinned by hand",
        "The mode is strict.",
    ):
        assert words in text
    report = gate_report(RunDir.at(tmp_path).ledger)
    assert report is not None
    assert (report.mode, report.champion, report.on_stage) == ("strict", 4, 4)
    assert [event.what for event in report.events] == ["began", "promoted", "demoted", "pinned", "unpinned", "mode"]


def test_rollback_goes_through_the_gate(tmp_path: Path) -> None:
    play(tmp_path, 6)
    assert main(["models", str(tmp_path), "--rollback", "3"]) == 0
    report = gate_report(RunDir.at(tmp_path).ledger)
    assert report is not None
    assert report.champion == 8
    assert report.events[-1].what == "rolled back"


@pytest.mark.parametrize("arguments", [["promote"], ["promote", "x"], ["promote", "999"], ["mode", "loud"]])
def test_bad_input_gets_an_error(tmp_path: Path, arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    play(tmp_path, 1)
    assert main(["gate", str(tmp_path), *arguments]) == 1
    assert "understudy:" in capsys.readouterr().err


def test_without_a_run(tmp_path: Path) -> None:
    assert main(["gate", str(tmp_path / "none")]) == 1


def test_games_that_cannot_be_compared_are_named_by_gate_and_doctor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with RLAgent(3, 2, run_dir=tmp_path, hidden=(4,), seed=1, online_training=True) as agent:
        for _ in range(44):
            agent.begin_episode(opponent_id="somebody")
            agent.select_action(np.ones(3))
            agent.end_episode("Tie")
    for command in ("gate", "doctor"):
        assert main([command, str(tmp_path)]) == 0
        assert "All of the last 43 games were drawn or cut" in capsys.readouterr().out


def test_a_strict_run_says_when_the_next_candidate_comes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Settings(gate=GateSettings(mode="strict", candidate_games=3))
    with RLAgent(3, 2, run_dir=tmp_path, hidden=(4,), seed=1, settings=settings, online_training=True) as agent:
        for _ in range(2):
            agent.begin_episode(opponent_id="somebody")
            agent.select_action(np.ones(3))
            agent.end_episode("Victory")
    assert main(["gate", str(tmp_path)]) == 0
    assert "The next candidate comes when the line has learned from 1 more game." in capsys.readouterr().out
