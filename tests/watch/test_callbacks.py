from __future__ import annotations

import runpy
import sys
import threading
import types
from pathlib import Path
from typing import Any

import pytest

from understudy.errors import RunDirError
from understudy.ledger.connection import Ledger, LedgerGame, Version
from understudy.rundir import RunDir
from understudy.watch.callbacks import follow

ROOT = Path(__file__).parent.parent.parent


class Told:
    def __init__(self) -> None:
        self.versions: list[tuple[int, dict[str, float]]] = []
        self.games: list[tuple[str, str]] = []
        self.heard = threading.Event()

    def on_version(self, version: Version, numbers: dict[str, float]) -> None:
        self.versions.append((version.version, numbers))
        self.heard.set()

    def on_game(self, game: LedgerGame, outcome: str) -> None:
        self.games.append((game.axes["opponent_race"], outcome))


@pytest.mark.slow
def test_a_callback_is_told_everything_once_and_in_order(learned: RunDir) -> None:
    told = Told()
    reached = follow(learned, told, poll_seconds=0)
    assert [version for version, _ in told.versions] == [1, 2, 3, 4, 5]
    assert told.versions[-1][1]["games"] == 10
    assert "loss" in told.versions[-1][1]
    assert "loss" not in told.versions[0][1]
    assert len(told.games) == 40
    assert set(told.games) == {("Zerg", "learned"), ("Terran", "learned")}
    assert reached == (5, 40)
    assert follow(learned, told, after_version=5, after_game=40, poll_seconds=0) == (5, 40)
    assert len(told.versions) == 5


def test_a_callback_hears_of_what_happens_later(learned: RunDir) -> None:
    told, stop = Told(), threading.Event()
    thread = threading.Thread(
        target=lambda: follow(learned, told, after_version=5, after_game=40, poll_seconds=0.02, stop=stop)
    )
    thread.start()
    with Ledger(learned.ledger) as ledger:
        ledger.record_version(6, 5, "learner", (), {"loss": 0.5})
    assert told.heard.wait(20)
    stop.set()
    thread.join(20)
    assert told.versions[0][1]["loss"] == 0.5


def test_following_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match="no run"):
        follow(RunDir.at(tmp_path), Told(), poll_seconds=0)


def test_the_example_logs_every_version(learned: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    logged: list[tuple[int, dict[str, float]]] = []

    class Run:
        def __enter__(self) -> Run:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def log(self, numbers: dict[str, float], step: int) -> None:
            logged.append((step, numbers))

    wandb: Any = types.ModuleType("wandb")
    wandb.init = lambda project: Run()
    monkeypatch.setitem(sys.modules, "wandb", wandb)
    monkeypatch.setattr(sys, "argv", ["log_to_wandb.py", str(learned.root), "--once"])
    runpy.run_path(str(ROOT / "examples" / "log_to_wandb.py"), run_name="__main__")
    assert [step for step, _ in logged] == [1, 2, 3, 4, 5]
    assert 0 < logged[-1][1]["won_so_far"] < 1
