"""The example plug-in, used as a stranger uses it: from a folder outside the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.games.spec import find_game, resolve
from understudy.ledger.connection import Ledger
from understudy.ledger.history import EVALUATION
from understudy.ledger.jobs import JobLedger
from understudy.rundir import RunDir
from understudy.watch.dashboard.learning import axis_titles
from understudy.watch.history import read_history

EXAMPLE = Path(__file__).parents[2] / "examples" / "connect_four.py"
SOURCES = str(Path(__file__).parents[2] / "src")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that holds the plug-in and nothing else."""
    shutil.copy(EXAMPLE, tmp_path)
    return tmp_path


@pytest.fixture
def example(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "connect_four", raising=False)
    return resolve("connect_four:ConnectFour")


def understudy(folder: Path, *arguments: str) -> str:
    paths = os.pathsep.join([SOURCES, str(folder)])
    done = subprocess.run(
        [sys.executable, "-m", "understudy", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def four_in_a_line(cells: dict[tuple[int, int], int], player: int) -> bool:
    return any(
        all(cells.get((row + k * up, column + k * right)) == player for k in range(4))
        for (row, column) in cells
        for up, right in ((0, 1), (1, 0), (1, 1), (1, -1))
    )


def test_its_rules_are_those_of_connect_four(example: Any) -> None:
    game, rng, ends = example(8), np.random.default_rng(1), Counter[str]()
    game.reset(np.random.SeedSequence(0))
    boards: list[dict[tuple[int, int], int]] = [{} for _ in range(8)]
    legal = np.empty((8, 7), np.bool_)
    for _ in range(600):
        game.legal(legal)
        sides = game.to_move()
        heights = [[sum((row, column) in board for row in range(6)) for column in range(7)] for board in boards]
        np.testing.assert_array_equal(legal, [[height < 6 for height in columns] for columns in heights])
        actions = np.array([rng.choice(row.nonzero()[0]) for row in legal])
        step = game.step(actions)
        for match, (board, column) in enumerate(zip(boards, actions.tolist(), strict=True)):
            board[heights[match][column], column] = int(sides[match])
            won = four_in_a_line(board, int(sides[match]))
            assert step.rewards[match] == won
            assert step.over[match] == (won or len(board) == 42)
            if step.over[match]:
                ends["won" if won else "drawn"] += 1
                board.clear()
    assert ends["won"] > 100


def test_a_snapshot_continues_its_matches(example: Any) -> None:
    game, other = example(4), example(4)
    for column in (3, 3, 2):
        game.step(np.full(4, column))
    other.restore(game.snapshot())
    np.testing.assert_array_equal(other.stones, game.stones)
    np.testing.assert_array_equal(other.to_move(), game.to_move())


@pytest.mark.slow
def test_selfplay_learns_it_and_the_dashboard_shows_results_by_its_axes(folder: Path) -> None:
    said = understudy(folder, "selfplay", "connect_four:SPEC", "--run-dir", "run", "--updates", "150")
    run = RunDir.at(folder / "run")
    with JobLedger(run.ledger) as ledger:
        results = ledger.evaluations("connect_four:evaluate")
    won = {version: list(games.values()).count("W") / len(games) for version, games in results.items()}
    assert len(results[1]) == 200
    assert f"Version 1 won {round(200 * won[1])} of 200 evaluation games" in said
    assert won[max(won)] > won[1] + 0.15
    with Ledger(run.ledger, read_only=True) as ledger:
        by_axis = read_history(ledger).others[EVALUATION].by_axis
        assert ledger.games_by_outcome()["evaluated"] == sum(map(len, results.values()))
    assert set(by_axis["opponent"]) == {"random", "tactical"}
    assert set(by_axis["side"]) == {"first", "second"}
    assert axis_titles(by_axis) == {"opponent": "Opponent", "side": "Side"}


@pytest.mark.slow
def test_an_installed_package_registers_it_by_an_entry_point(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    about = folder / "connect_four-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: connect-four\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[understudy.games]\nconnect_four = connect_four:SPEC\n")
    assert "connect_four" in understudy(folder, "selfplay", "--help")
    said = understudy(folder, "selfplay", "connect_four", "--run-dir", "run", "--updates", "1")
    assert "Self-play of connect_four" in said
    monkeypatch.syspath_prepend(str(folder))
    assert find_game("connect_four:SPEC").title == "Connect Four"


@pytest.mark.slow
def test_an_evaluator_that_fails_is_reported_and_does_not_end_the_training(folder: Path) -> None:
    with (folder / "connect_four.py").open("a") as file:
        file.write("\n\ndef evaluate(model: str, first: int, games: int) -> dict[str, object]:\n    return {}\n")
    said = understudy(folder, "selfplay", "connect_four:SPEC", "--run-dir", "run", "--updates", "2")
    assert "after 2 updates" in said
    assert "evaluation games" not in said
