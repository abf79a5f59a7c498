"""From an empty folder to a zip, as a new author would do it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sc2")
pytest.importorskip("numba")

from understudy.agent import RLAgent
from understudy.errors import SettingsError
from understudy.games.zerg.own_bot.init import init
from understudy.rundir import RunDir

ROOT = Path(__file__).parents[4]
BOTS = ROOT / "tests" / "games" / "zerg" / "proving_ground" / "bots"


PLAY = ("-m", "understudy", "proving-ground", "play", "bot.py", "--difficulty", "VeryEasy", "--time-limit")


def run(folder: Path, *command: str, seconds: float = 300) -> str:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.mark.slow
def test_a_new_bot_plays_learns_is_evaluated_and_packed(tmp_path: Path) -> None:
    understudy = ("-m", "understudy")
    run(tmp_path, *understudy, "init", "my_bot", "--race", "terran")
    bot = tmp_path / "my_bot"
    assert len((bot / "bot.py").read_text(encoding="utf-8").splitlines()) <= 85
    run(bot, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_bot.py")
    played = run(bot, "run_with_training.py", "--games", "1", "--parallel", "1", "--difficulty", "VeryEasy")
    assert re.search(r"bot against Zerg \(VeryEasy\): (Victory|Defeat)", played), played
    run_dir = RunDir.at(bot / "local_training")
    assert len(list(run_dir.archive.glob("*.npz"))) == 1, "the learner has learned from the game"
    agent = RLAgent(12, ("RUSH", "TIMING", "MACRO", "HOLD"), run_dir=run_dir.root, record=False)
    assert agent.model_version == 2
    score = run(bot, *understudy, "evaluate", "local_training", "--game", "evaluation:SPEC", "--games", "1")
    assert re.search(r"won [01] of 1 games", score), score
    packed = run(bot, *understudy, "package", "local_training")
    assert "of the bot: bot.py, run.py" in packed
    assert (bot / "my_bot.zip").stat().st_size < 1_000_000


@pytest.mark.parametrize("race", ["Terran", "Zerg", "Protoss"])
@pytest.mark.slow
def test_the_bot_of_each_race_builds_an_army(tmp_path: Path, race: str) -> None:
    folder = tmp_path / "new_bot"
    init(folder, race)
    shown = run(
        folder,
        *("-m", "understudy", "proving-ground", "play", "bot.py", "--difficulty", "VeryEasy"),
        "--time-limit",
        "200",
    )
    unit = {"Terran": "Marine", "Zerg": "Zergling", "Protoss": "Zealot"}[race]
    assert re.search(rf"\d+ {unit}", shown), shown
    assert "NotSupported" not in shown


@pytest.mark.slow
def test_a_bot_that_exists_gets_learning_added(tmp_path: Path) -> None:
    folder = tmp_path / "with_learning"
    init(folder, None, str(BOTS / "terran_expand.py"))
    assert (folder / "terran_expand.py").exists()
    shown = run(
        folder,
        *("-m", "understudy", "proving-ground", "play", "bot.py", "--difficulty", "VeryEasy"),
        "--time-limit",
        "60",
    )
    assert "SCV" in shown, shown
    (game,) = RunDir.at(folder / "local_training").archive.glob("*.npz")
    assert "_Tie_" in game.name


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SettingsError, match="not empty"):
        init(tmp_path, "Terran")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_without_a_race_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="--race"):
        init(tmp_path / "bot", None)
    with pytest.raises(SettingsError, match="begin it with a letter"):
        init(tmp_path / "123", "Terran")
    assert list(tmp_path.iterdir()) == []


def test_the_templates_are_as_tidy_as_our_own_code(tmp_path: Path) -> None:
    for race in ("Terran", "Zerg", "Protoss"):
        init(tmp_path / f"{race.lower()}_bot", race)
    init(tmp_path / "more_bot", None, str(BOTS / "zerg_rush.py"))
    (tmp_path / "more_bot" / "zerg_rush.py").unlink()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    ruff = [sys.executable, "-m", "ruff"]
    rules = "E,F,W,B,C4,RET"
    for command in (["check", "--select", rules], ["format", "--check"]):
        done = subprocess.run(
            [*ruff, *command, "--no-cache", str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
