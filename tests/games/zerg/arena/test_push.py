"""The ladder gets what the gate agrees to, and nothing that it learned is lost."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from games.zerg.arena.stand_in import BOT, TOKEN, Arena, agent, ladder_data, serving
from understudy.games.zerg.arena.client import ArenaClient
from understudy.games.zerg.arena.errors import ArenaError
from understudy.games.zerg.arena.notes import read_notes
from understudy.games.zerg.arena.push import push, version_to_push
from understudy.models.gate import Gate
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import GateSettings


def build(root: Path, target: Path) -> None:
    with zipfile.ZipFile(target, "w") as archive:
        archive.write(RunDir.at(root).model, "data/models/rl_agent_model.npz")


def pushed(arena: Arena, run: RunDir, **options: bool) -> bool:
    made = ArenaClient(TOKEN, arena.url, timeout=5, sleep=lambda _: None)
    return push(made, run, BOT, build, ("opponents.json",), say=lambda _: None, **options)


def run_with_versions(folder: Path, games: int) -> RunDir:
    run = RunDir.at(folder)
    with agent(folder, seed=1, online_training=True) as bot:
        for _ in range(games):
            bot.begin_episode()
            for step in range(3):
                bot.select_action([step, 1.0])
            bot.observe_reward(1.0)
            bot.end_episode("Victory")
    return run


def model_in(content: bytes, name: str, tmp_path: Path) -> int:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        (tmp_path / "m.npz").write_bytes(archive.read(name))
    return read_model(tmp_path / "m.npz").version


def test_the_champion_is_uploaded_and_only_when_there_is_a_new_one(tmp_path: Path) -> None:
    run = run_with_versions(tmp_path / "run", 3)
    store = ModelStore(run.model, run.ledger)
    gate = Gate(run.ledger, store)
    gate.use(GateSettings())
    gate.promote(2, "the test")
    assert version_to_push(run)[0] == 2
    with serving() as arena:
        assert pushed(arena, run)
        assert model_in(arena.zip, "data/models/rl_agent_model.npz", tmp_path) == 2
        assert model_in(arena.data, "models/rl_agent_model.npz", tmp_path) == 2
        assert not pushed(arena, run), "the gate has promoted nothing since"
        assert arena.uploads == 1
        gate.promote(4, "the test")
        assert pushed(arena, run)
        assert model_in(arena.zip, "data/models/rl_agent_model.npz", tmp_path) == 4
        assert pushed(arena, run, again=True)
    assert read_notes(run.root).pushed_version == 4


def test_what_the_ladder_learned_is_taken_in_before_it_is_replaced(tmp_path: Path) -> None:
    run = run_with_versions(tmp_path / "run", 1)
    with serving() as arena:
        arena.data = ladder_data(tmp_path / "data", 3)
        assert pushed(arena, run, compare=False)
        with zipfile.ZipFile(io.BytesIO(arena.data)) as archive:
            assert archive.namelist() == ["models/rl_agent_model.npz", "opponents.json"]
            assert b"rival 0" in archive.read("opponents.json")
    assert len(list(run.buffer.glob("*.npz"))) == 3


def test_a_match_that_ends_during_a_push_is_taken_in_first(tmp_path: Path) -> None:
    run = run_with_versions(tmp_path / "run", 1)
    with serving() as arena:
        arena.data = ladder_data(tmp_path / "data", 1)
        later = [ladder_data(tmp_path / "data", 1, seed=5)]

        def build_slowly(root: Path, target: Path) -> None:
            build(root, target)
            if later:
                arena.data = later.pop()

        made = ArenaClient(TOKEN, arena.url, timeout=5, sleep=lambda _: None)
        assert push(made, run, BOT, build_slowly, ("opponents.json",), say=lambda _: None)
        assert arena.uploads == 1
    assert len(list(run.buffer.glob("*.npz"))) == 2


def test_data_that_are_frozen_are_said(tmp_path: Path) -> None:
    run = run_with_versions(tmp_path / "run", 1)
    with serving() as arena:
        arena.frozen = True
        with pytest.raises(ArenaError, match="frozen"):
            pushed(arena, run)
    assert read_notes(run.root).pushed_version == 0


@pytest.mark.slow
def test_a_push_that_is_killed_at_any_moment_can_be_repeated(tmp_path: Path) -> None:
    chance = random.Random(1)
    run = run_with_versions(tmp_path / "run", 2)
    code = (
        "import sys, zipfile\nfrom pathlib import Path\n"
        "from understudy.games.zerg.arena.client import ArenaClient\n"
        "from understudy.games.zerg.arena.pull import lock\nfrom understudy.games.zerg.arena.push import push\n"
        "from understudy.rundir import RunDir\n"
        "def build(root, target):\n"
        "    with zipfile.ZipFile(target, 'w') as archive:\n"
        "        archive.write(RunDir.at(root).model, 'data/models/rl_agent_model.npz')\n"
        "print('ready', flush=True)\nrun = RunDir.at(sys.argv[2])\n"
        f"with lock(run):\n    made = ArenaClient({TOKEN!r}, sys.argv[1])\n"
        f"    push(made, run, {BOT}, build, ('opponents.json',), again=True)\n"
    )
    with serving() as arena:
        arena.data = ladder_data(tmp_path / "data", 10)
        arena.delay = 0.03
        champion, killed = version_to_push(run)[0], 0
        for _ in range(8):
            process = subprocess.Popen(
                [sys.executable, "-c", code, arena.url, str(run.root)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(chance.uniform(0.0, 0.2))
            process.kill()
            killed += process.wait() != 0
            process.communicate()
            if arena.zip:
                assert model_in(arena.zip, "data/models/rl_agent_model.npz", tmp_path) == champion
        arena.delay = 0.0
        assert pushed(arena, run, again=True)
        assert model_in(arena.data, "models/rl_agent_model.npz", tmp_path) == read_notes(run.root).pushed_version
    assert killed >= 3
    assert len(list(run.buffer.glob("*.npz"))) == 10
