"""The zip of an own bot: what is in it, which models are refused, and that it plays as on the ladder."""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("sc2")
pytest.importorskip("numba")

from understudy.agent import RLAgent
from understudy.cli import main
from understudy.errors import ModelMismatch, RunDirError, SettingsError
from understudy.games.zerg.defaults import zerg_agent
from understudy.games.zerg.own_bot.check import check_zip
from understudy.games.zerg.own_bot.ladder_python import LadderPython
from understudy.games.zerg.own_bot.package import build_own_zip, own_files
from understudy.games.zerg.own_bot.settings import PackageSettings

EXAMPLE = Path(__file__).parents[4] / "examples" / "manager_bot"
HERE = LadderPython(sys.executable, "the Python of the tests")

BOT = """
from sc2.bot_ai import BotAI
from sc2.data import Race
from understudy.agent import RLAgent
import {imported}

class Mine(BotAI):
    RACE = Race.Terran

    def __init__(self, run_dir="local_training"):
        super().__init__()
        self.agent = RLAgent(2, ("A", "B"), run_dir=run_dir, features=("x", "y"))

    async def on_step(self, iteration):
        {step}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A bot of two files with a run."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(BOT.format(imported="part", step="pass"), encoding="utf-8")
    (tmp_path / "part.py").write_text("import json\n", encoding="utf-8")
    (tmp_path / "diary.py").write_text("'nobody imports this'\n", encoding="utf-8")
    RLAgent(2, ("A", "B"), run_dir=tmp_path / "run", features=("x", "y")).close()
    yield tmp_path
    for name in ("mine", "bot_file_mine", "part"):
        sys.modules.pop(name, None)


SETTINGS = PackageSettings(bot="mine.py:Mine")


def test_what_the_bot_imports_is_packed_and_nothing_else(folder: Path) -> None:
    (folder / "token.txt").write_text("secret")
    size, names = build_own_zip(SETTINGS, folder / "run", folder / "bot.zip")
    assert names == ["mine.py", "part.py", "run.py"]
    with zipfile.ZipFile("bot.zip") as archive:
        inside = set(archive.namelist())
    assert size == (folder / "bot.zip").stat().st_size
    assert {"mine.py", "part.py", "run.py", "data/models/rl_agent_model.npz", "understudy/sc2/ladder.py"} <= inside
    assert not {name for name in inside if "zerg" in name or name in ("token.txt", "diary.py")}


def test_files_that_are_named_are_packed_and_must_exist_inside(folder: Path) -> None:
    (folder / "tables").mkdir()
    (folder / "tables" / "costs.json").write_text("{}")
    assert own_files(folder / "mine.py", folder, "tables/*.json") == ["mine.py", "part.py", "tables/costs.json"]
    (folder / "api_token.txt").write_text("")
    for pattern, said in (
        ("nothing.json", "no such file"),
        ("../x", "no such file"),
        ("api_*", "secret"),
        ("run/*", ""),
    ):
        if said:
            with pytest.raises(SettingsError, match=said):
                own_files(folder / "mine.py", folder, pattern)


@pytest.mark.parametrize(
    ("features", "actions", "said"),
    [
        (("x", "z"), ("A", "B"), "features: the bot has no z and the model has no y"),
        (("y", "x"), ("A", "B"), "features: another order"),
        (("x", "y"), ("A", "B", "C"), "strategies: the bot has no C"),
    ],
)
def test_a_model_that_does_not_fit_is_refused(
    folder: Path, features: tuple[str, ...], actions: tuple[str, ...], said: str
) -> None:
    RLAgent(len(features), actions, run_dir=folder / "other", features=features).close()
    with pytest.raises(ModelMismatch, match=said):
        build_own_zip(SETTINGS, folder / "other", folder / "bot.zip")
    assert not (folder / "bot.zip").exists()


def test_the_model_of_the_zerg_bot_and_that_of_another_are_not_mixed_up(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["package", str(folder / "run"), "--out", "bot.zip"]) == 1
    assert "does not belong to the Zerg bot" in capsys.readouterr().err
    zerg_agent(folder / "zerg").close()
    assert main(["package", str(folder / "zerg"), "--bot", "mine.py:Mine", "--out", "bot.zip"]) == 1
    assert "does not fit Mine" in capsys.readouterr().err
    assert not (folder / "bot.zip").exists()
    assert main(["package", str(folder / "zerg"), "--out", "bot.zip"]) == 0


def test_a_run_without_a_model_and_a_bot_without_an_agent_are_refused(folder: Path) -> None:
    with pytest.raises(RunDirError, match="no model"):
        build_own_zip(SETTINGS, folder / "nothing", folder / "bot.zip")
    (folder / "mine.py").write_text(
        "from sc2.bot_ai import BotAI\nclass Mine(BotAI):\n    def __init__(self, run_dir): super().__init__()\n"
    )
    with pytest.raises(SettingsError, match="has no RLAgent"):
        build_own_zip(SETTINGS, folder / "run", folder / "bot.zip")


@pytest.mark.slow
def test_a_bot_of_several_packages_plays_two_ladder_games(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(EXAMPLE, tmp_path / "bot")
    monkeypatch.chdir(tmp_path / "bot")
    RLAgent(3, ("EARLY", "LATE"), run_dir="run", features=("workers", "army", "time")).close()
    size, names = build_own_zip(PackageSettings(bot="bot.py:ManagerBot"), Path("run"), tmp_path / "bot.zip")
    managers = [f"managers/{name}.py" for name in ("__init__", "army", "economy", "strategy")]
    assert (size > 0, names) == (True, ["bot.py", *managers, "run.py"])
    assert check_zip(tmp_path / "bot.zip", HERE) == []


@pytest.mark.slow
def test_a_check_finds_what_would_fail_on_the_ladder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    step = "open('notes.txt', 'w').close(); __import__('numba')"
    (folder / "mine.py").write_text(BOT.format(imported="part", step=step), encoding="utf-8")
    build_own_zip(SETTINGS, folder / "run", folder / "bot.zip")
    problems = check_zip(folder / "bot.zip", HERE)
    assert any("run.py ended with code 1" in problem for problem in problems), problems
    assert any("written outside of data/" in problem and "notes.txt" in problem for problem in problems)
    assert "numba is not on the ladder" in capsys.readouterr().err
