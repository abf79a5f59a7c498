"""Machines are listed, deviating ones are shown, and one can be excluded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from game_files import make_episode, make_model, put_game
from remote.machines import LEASE, Clock, Machine
from understudy.agent import RLAgent
from understudy.cli import main
from understudy.experience.episode import read_episode
from understudy.models.live import LiveModel
from understudy.models.store import ModelStore
from understudy.remote.memory import memory_store
from understudy.remote.profiles import Profile, deviations, gap_of
from understudy.rundir import RunDir
from understudy.settings import StorageSettings


def profile(games: int, result: str, steps: int, gap: float) -> Profile:
    made = Profile()
    for seed in range(games):
        turn = result if seed % 4 else "Defeat"
        made = made.plus(make_episode(seed, steps=steps + seed % 5, result=turn), gap)
    return made


def test_a_machine_that_deviates_is_named_with_the_reason() -> None:
    usual = {name: profile(40, "Victory", 100, 0.01) for name in ("a", "b", "c")}
    assert deviations(usual) == {"a": [], "b": [], "c": []}
    assert deviations(usual | {"d": profile(40, "Defeat", 100, 0.01)})["d"] == ["results 0.00, others 0.75"]
    assert deviations(usual | {"d": profile(40, "Victory", 10, 0.01)})["d"] == ["lengths 12, others 102"]
    assert deviations(usual | {"d": profile(40, "Victory", 100, 2.0)})["d"] == ["log-probabilities are off by 2.00"]
    assert deviations(usual | {"d": profile(5, "Defeat", 10, 2.0)})["d"] == []  # too few games


def test_log_probabilities_of_a_game_are_those_of_the_model_that_played(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    with RLAgent(4, ["LEFT", "RIGHT"], run_dir=tmp_path / "run", online_training=False) as agent:
        for _ in range(50):
            agent.select_action(rng.standard_normal(4))
            agent.observe_reward(0.0)
        agent.end_episode("Victory")
    run = RunDir.at(tmp_path / "run")
    model = LiveModel(ModelStore(run.model, run.ledger).load())
    (path,) = run.buffer.glob("*.npz")
    episode = read_episode(path, StorageSettings())
    assert gap_of(model, episode) == pytest.approx(0.0, abs=1e-5)
    assert gap_of(LiveModel(model.base), make_episode(1, model_version=7)) is None  # another version played


def test_machines_are_listed_and_excluded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = "memory://listed"
    clock = Clock()
    store = memory_store("listed")
    learner = Machine(tmp_path / "learner", store, clock, role="learner")
    learner.create_model()
    learner.step()
    player, strange = (Machine(tmp_path / name, store, clock, role="player") for name in ("player", "strange"))
    player.play(30)
    strange.play(30, result="Defeat")
    for one in (player, strange, learner, learner):
        one.step()
    learner.learn()
    learner.step()
    clock.now += LEASE
    learner.step()
    assert main(["machines", url]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()[1:]}
    assert "results 0.00, others 1.00" in lines[strange.sync.machine]
    assert lines[player.sync.machine].split()[1:2] == ["player"]
    assert lines[player.sync.machine].split()[-2:] == ["30", "30"] or "others" in lines[player.sync.machine]
    assert main(["machines", url, "--exclude", strange.sync.machine, "--reason", "it always loses"]) == 0
    assert "excluded: it always loses" in capsys.readouterr().out
    player.play(1)
    strange.play(1)
    for one in (player, strange, learner):
        one.step()
    assert learner.waiting() == 1
    assert main(["machines", url, "--include", strange.sync.machine]) == 0
    assert "excluded" not in capsys.readouterr().out
    learner.step()
    assert learner.waiting() == 2
    for one in (player, strange, learner):
        one.sync.close()


def test_a_bucket_without_machines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machines", str(tmp_path)]) == 1
    assert "No machine has used" in capsys.readouterr().err
    assert main(["machines", str(tmp_path), "--exclude", "../x"]) == 1


def test_sync_once_from_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    url = str(tmp_path / "bucket")
    player = RunDir.at(tmp_path / "player")
    player.create()
    ModelStore(player.model, player.ledger).create(make_model())
    for seed in range(3):
        put_game(player.buffer, seed)
    assert main(["sync", str(player.root), url, "--once"]) == 0
    out = capsys.readouterr().out
    assert "Games: 3 sent, 0 received" in out
    assert "per game" in out
    learner = tmp_path / "learner"
    assert main(["sync", str(learner), url, "--once", "--remote.role", "learner"]) == 0
    assert "0 sent, 3 received" in capsys.readouterr().out
    assert main(["learn", str(learner), "--once"]) == 0
    assert main(["sync", str(learner), url, "--once", "--remote.role", "learner"]) == 0
    assert main(["machines", url]) == 0
    assert "3        3" in capsys.readouterr().out  # of three games, three are learned
