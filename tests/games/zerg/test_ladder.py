from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath
from typing import cast

import pytest

pytest.importorskip("sc2")
pytest.importorskip("numba")

from sc2.data import Race, Result

from understudy.errors import RunDirError
from understudy.games.spec import LadderPackage
from understudy.games.zerg import ladder
from understudy.games.zerg.bot import WickedZergBotProImpl
from understudy.games.zerg.defaults import zerg_agent
from understudy.games.zerg.proving_ground.doors import free_port, wait_for_port
from understudy.games.zerg.spec import SC2_ON_THE_LADDER, SPEC
from understudy.run.ladder_zip import CORE, MOST_BYTES, build_zip
from understudy.rundir import RunDir
from understudy.sc2 import ladder as sc2_ladder

PACKAGE = cast(LadderPackage, SPEC.package)

# What the ladder does not have, or must not be needed there, cannot be imported.
BARE = """
import runpy, sys
class NotThere:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"numba", "torch", "gymnasium", "matplotlib", "pytest", "sc2reader"}:
            raise ModuleNotFoundError(f"{name} is not on the ladder", name=name)
sys.meta_path.insert(0, NotThere())
sys.argv[0] = "run.py"
runpy.run_path("run.py", run_name="__main__")
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    run = tmp_path / "run"
    zerg_agent(run, seed=0).close()
    (run / "opponents.json").write_text('{"opponents": {}}')
    target = tmp_path / "bot.zip"
    assert build_zip(PACKAGE, run, target) == target.stat().st_size < MOST_BYTES
    return target


def play_ladder_game(folder: Path) -> subprocess.CompletedProcess[str]:
    port = free_port()
    serve = [sys.executable, "-m", "understudy.games.zerg.proving_ground", "serve", "--port", str(port)]
    # An idle opponent and a short game: what is tested is everything around the game.
    opponent = ["--opponent", "Terran", "--difficulty", "VeryEasy", "--build", "Macro"]
    server = subprocess.Popen([*serve, *opponent])
    try:
        wait_for_port(port)
        flags = ["--GamePort", str(port), "--LadderServer", "127.0.0.1", "--OpponentId", "somebody"]
        flags += ["--game-time-limit", "120"]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(
            [sys.executable, "-c", BARE, *flags],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        server.kill()
        server.wait()


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


@pytest.mark.slow
def test_the_zip_plays_and_learns_on_a_bare_ladder_and_writes_to_data_only(package: Path, tmp_path: Path) -> None:
    bot = tmp_path / "bot"
    with zipfile.ZipFile(package) as archive:
        archive.extractall(bot)
    before = files_in(bot)
    versions = []
    for _ in range(2):
        done = play_ladder_game(bot)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "'trained_online': True" in done.stdout
        versions.append(zerg_agent(bot / "data", record=False).model_version)
        # Between two games the ladder keeps the data folder as a zip, and unpacks it for the next one.
        shutil.make_archive(str(tmp_path / "data"), "zip", bot / "data")
        shutil.rmtree(bot / "data")
        shutil.unpack_archive(tmp_path / "data.zip", bot / "data")
    after = files_in(bot)
    assert {name for name in after if before.get(name) != after[name] and not name.startswith("data/")} == set()
    assert versions == [versions[0], versions[0] + 1]
    assert "somebody" in (bot / "data" / "opponents.json").read_text()
    assert len(list(RunDir.at(bot / "data").archive.glob("*.npz"))) == 2


def test_the_zip_holds_what_is_listed_and_nothing_else(package: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        names = [PurePosixPath(name) for name in archive.namelist()]
    core = {name.partition("/")[0] for name in CORE} | {"sc2"}
    assert {path.parts[1] for path in names if path.parts[0] == "understudy"} == core
    games = {path.relative_to("understudy/games").as_posix() for path in names if "games" in path.parts}
    own = {name.removeprefix("games/") for name in PACKAGE.modules if name.startswith("games/")}
    assert games == {"__init__.py", "spec.py"} | own
    library = {path.relative_to("understudy").as_posix() for path in names if path.parts[:2] == ("understudy", "sc2")}
    assert library == set(SC2_ON_THE_LADDER)
    others = {path.as_posix() for path in names if path.parts[0] != "understudy"}
    assert others == {"run.py", "data/models/rl_agent_model.npz", "data/opponents.json"}
    assert len(names) == len(set(names))


# Imports every module of the unpacked zip: first those that do without burnysc2, then the bot's own.
IMPORTS = """
import importlib, pathlib, sys
here = pathlib.Path.cwd()
sys.path.insert(0, str(here))
names = [".".join(path.relative_to(here).with_suffix("").parts) for path in here.glob("understudy/**/*.py")]
bot = {f"understudy.games.zerg.{name}" for name in ("bot", "bot_adapter", "ladder")}
bot |= {"understudy.sc2.bot", "understudy.sc2.ladder"}
def roots():
    found = {name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names
    return {name for name in found if not name.startswith("_")}
before = roots()
for name in names:
    if name not in bot:
        importlib.import_module(name)
print(sorted(roots() - before))
import sc2.main, sc2.bot_ai, sc2.player, sc2.portconfig
before = roots()
for name in bot:
    importlib.import_module(name)
print(sorted(roots() - before))
"""


@pytest.mark.slow
def test_all_modules_of_the_zip_need_numpy_and_burnysc2_only(package: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(package) as archive:
        archive.extractall(tmp_path / "bot")
    done = subprocess.run(
        [sys.executable, "-I", "-c", IMPORTS], cwd=tmp_path / "bot", capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines() == ["['numpy', 'understudy']", "[]"], done.stdout + done.stderr


HANGS = """
import sys, time
from understudy.games.zerg.bot import WickedZergBotProImpl
from understudy.games.zerg.defaults import zerg_agent
from understudy.sc2.ladder import ExitTimer

bot = WickedZergBotProImpl(zerg_agent(sys.argv[1], online_training=False))
bot.session.before_end = ExitTimer(0.3).start
bot.session.begin()
bot.session.decide([0.0] * bot.session.agent.state_dim)
bot.session.end(state=lambda: time.sleep(600))
"""


@pytest.mark.slow
def test_a_process_that_hangs_after_the_game_ends_by_itself(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", HANGS, str(tmp_path)], capture_output=True, timeout=100, check=False)
    assert (done.returncode, b"Out of time after the game" in done.stderr) == (0, True), done.stderr


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[WickedZergBotProImpl, sc2_ladder.ExitTimer]:
    """A bot whose ladder game, in this process, is over, and its timer."""
    bots = list[WickedZergBotProImpl]()
    timer = sc2_ladder.ExitTimer(60.0)

    async def play(_url: str, bot: WickedZergBotProImpl, *_: object) -> Result:
        bots.append(bot)
        return Result.Tie

    monkeypatch.setattr(sc2_ladder, "_play", play)
    arguments = ["--GamePort", "1"]
    assert sc2_ladder.play_ladder_game(ladder.make_bot, Race.Zerg, tmp_path, arguments, timer) == 0
    return bots[0], timer


def test_a_rated_game_tries_nothing_out(played: tuple[WickedZergBotProImpl, sc2_ladder.ExitTimer]) -> None:
    agent = played[0].agent
    assert agent._model.commitment > 0.5
    assert all(agent._draw_commitment(0) is None for _ in range(20))


def test_a_process_that_has_played_a_ladder_game_is_not_ended_later(
    played: tuple[WickedZergBotProImpl, sc2_ladder.ExitTimer],
) -> None:
    assert played[1].cancelled, "its timer would end these tests, with exit code 0"


def test_the_same_run_makes_the_same_zip(package: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.zip"
    build_zip(PACKAGE, tmp_path / "run", again)
    assert again.read_bytes() == package.read_bytes()


def test_a_run_without_a_model_cannot_be_packed(tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match="no model"):
        build_zip(PACKAGE, tmp_path / "nothing", tmp_path / "bot.zip")
    assert not (tmp_path / "bot.zip").exists()
