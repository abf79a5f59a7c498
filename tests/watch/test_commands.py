from __future__ import annotations

import json
from typing import Any

import pytest

from understudy.cli import main
from understudy.run.control import read_control
from understudy.rundir import RunDir


def events(run: RunDir) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.events.read_text(encoding="utf-8").splitlines()]


def test_pause_resume_and_stop_leave_what_they_ask_for_and_a_line_in_the_log(
    learned: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("understudy.watch.commands.is_alive", lambda _status: True)
    assert main(["pause", str(learned.root)]) == 0
    assert read_control(learned.control).paused
    assert main(["resume", str(learned.root)]) == 0
    assert not read_control(learned.control).paused
    assert main(["stop", str(learned.root), "--drain"]) == 0
    asked = read_control(learned.control)
    assert asked.stop_mark
    assert asked.drain
    story = [event for event in events(learned) if event["event"].startswith("Request")]
    assert [event["event"] for event in story] == ["Request: pause", "Request: resume", "Request: stop"]
    assert all("command line" in event["facts"]["Asked By"] for event in story)


def test_stop_says_that_no_learner_runs(learned: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["stop", str(learned.root)]) == 1
    assert "No learner runs on" in capsys.readouterr().err
    assert not read_control(learned.control).stop_mark


def test_a_rollback_is_logged_with_who_asked(learned: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["models", str(learned.root), "--rollback", "3"]) == 0
    assert "Version 3 is published again, as version 6." in capsys.readouterr().out
    assert events(learned)[-1]["event"] == "Request: roll back"
    assert events(learned)[-1]["facts"]["Back To"] == "version 3"


def test_asking_where_there_is_no_run_is_an_error_in_words(learned: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pause", str(learned.root / "elsewhere")]) == 1
    assert "There is no run at" in capsys.readouterr().err
