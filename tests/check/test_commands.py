"""The command line of the check."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from understudy.check import stability, suite
from understudy.cli import main
from understudy.games.zerg import commands as zerg


def test_an_unknown_task_ends_with_one_clear_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["learn-check", "--tasks", "chess"]) == 1
    assert capsys.readouterr().err.startswith("understudy: There is no task chess; there is cartpole, acrobot,")


def test_the_suite_of_a_game_is_the_check_of_that_game(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[int]] = []

    def check(options: argparse.Namespace) -> int:
        asked.append(options.seeds)
        return 7

    monkeypatch.setattr(zerg, "_check", check)
    assert main(["learn-check", "--suite", "zerg", "--seeds", "4", "5"]) == 7
    assert asked == [[4, 5]]


def test_the_exit_code_says_whether_all_is_as_asked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(suite, "check", lambda *_, **__: False)
    assert main(["learn-check", "--tasks", "ladder"]) == 1
    assert capsys.readouterr().out == "NOT all targets reached.\n"
    monkeypatch.setattr(stability, "check", lambda *_, **__: True)
    assert main(["learn-check", "--suite", "stability", "--out", str(tmp_path / "out.json")]) == 0
    assert capsys.readouterr().out == "All targets reached.\n"
