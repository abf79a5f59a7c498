"""What the project's first documents promise: each command, file, variable, argument and line of output works here.

`docs/from-the-seeds.md` is the table; the last test holds it to this file.
"""

from __future__ import annotations

import importlib
import inspect
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy import BackgroundParallelLearner, RLAgent
from understudy.errors import LearnerFailed
from understudy.games.zerg.defaults import with_what_was_given, zerg_settings
from understudy.learner.statistics import Statistics
from understudy.rundir import RunDir
from understudy.settings import load_settings

ROOT = Path(__file__).parent.parent
TABLE = (ROOT / "docs" / "from-the-seeds.md").read_text(encoding="utf-8")


def test_the_learner_is_imported_from_tools() -> None:
    code = (
        "from tools.background_parallel_learner import BackgroundParallelLearner as B;"
        "from understudy import BackgroundParallelLearner as C; assert B is C"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_the_learner_takes_the_documented_arguments(tmp_path: Path) -> None:
    learner = BackgroundParallelLearner(
        run_dir=tmp_path,
        max_workers=1,
        enable_replay_analysis=False,
        enable_model_training=True,
        verbose=False,
        max_file_age=7200,
        batch_games=10,
        poll_seconds=5.0,
        report_seconds=60.0,
        cpu_threshold=70.0,
        memory_threshold=85.0,
        gpu_memory_threshold=90.0,
    )
    own, resources = learner.settings.learner, learner.settings.resources
    assert (own.max_workers, own.verbose, own.max_file_age) == (1, False, 7200)
    assert (own.batch_games, own.poll_seconds, own.report_seconds) == (10, 5, 60)
    assert (resources.cpu_threshold, resources.memory_threshold, resources.gpu_memory_threshold) == (70, 85, 90)


def test_the_statistics_have_the_documented_names() -> None:
    stats = Statistics(max_workers=2).as_dict()
    named = {"files_processed", "batches_trained", "total_samples", "avg_loss", "total_processing_time", "errors"}
    assert named | {"replays_analyzed", "models_trained", "active_workers"} <= stats.keys()


def test_the_agent_has_the_documented_methods(tmp_path: Path) -> None:
    agent = RLAgent(4, ("LEFT", "RIGHT"), run_dir=tmp_path / "run", online_training=False)
    games = [
        {"states": np.ones((5, 4), np.float32), "actions": np.zeros(5, np.int64), "rewards": np.ones(5, np.float32)}
    ]
    stats = agent.train_from_batch(games)
    assert "loss" in stats
    assert agent.save_model(str(tmp_path / "copy.npz"))
    agent.select_action(np.zeros(4, np.float32))
    agent.observe_reward(1.0)
    agent.end_episode("Victory")
    assert agent.save_experience_data(str(tmp_path / "game.npz"))
    with np.load(tmp_path / "game.npz", allow_pickle=False) as file:
        assert {"states", "actions", "rewards"} <= set(file.files)
    agent.close()


def test_the_variables_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUM_INSTANCES", "5")
    monkeypatch.setenv("REPLAY_ARCHIVE_DIR", "somewhere")
    settings = load_settings(None)
    assert settings.learner.max_workers == 5
    assert settings.replays.directory == "somewhere"


def test_the_main_job_obeys_variables_and_the_settings_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "understudy.toml").write_text("[learner]\nreport_seconds = 7\n[resources]\ncpu_threshold = 71\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NUM_INSTANCES", "5")
    settings = with_what_was_given(zerg_settings())
    assert (settings.learner.max_workers, settings.learner.report_seconds) == (5, 7.0)
    assert settings.resources.cpu_threshold == 71
    assert settings.learner.batch_games == zerg_settings().learner.batch_games


def test_the_folders_have_the_documented_names(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    paths = (run.buffer, run.archive, run.model, run.log, run.build_orders)
    assert [path.relative_to(run.root).as_posix() for path in paths] == [
        "data/buffer",
        "data/archive",
        "models/rl_agent_model.npz",
        "logs/background_training.log",
        "learned_build_orders.json",
    ]


def test_the_scripts_are_there() -> None:
    for name in (
        "run_with_training.py",
        "bat/start_model_training.bat",
        "tools/monitor_background_training.py",
        "tools/test_background_training.py",
        "understudy",
        "understudy.bat",
    ):
        assert (ROOT / name).is_file(), name
    assert "run_with_training.py" in (ROOT / "bat" / "start_model_training.bat").read_text()


@pytest.mark.slow
def test_a_run_prints_the_documented_lines(tmp_path: Path) -> None:
    pytest.importorskip("sc2")
    pytest.importorskip("numba")
    short = ["--difficulty", "VeryEasy", "--time-limit", "40", "--practice", "0", "--game", "proving-ground"]
    command = [sys.executable, str(ROOT / "run_with_training.py"), "--run-dir", str(tmp_path / "run"), "--games", "5"]
    toml = tmp_path / "understudy.toml"
    toml.write_text("[learner]\nreport_seconds = 1.0\n")
    ran = subprocess.run([*command, *short], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=True)
    for line in (
        r"^\[OK\] Background parallel learner initialized and started$",
        r"^\[INFO\] Experience replay training will run in background$",
        r"^\[INFO\] Monitoring directory: .*buffer$",
        r"^\[TRAINING\] ✓ Experience data saved: .*game_\d{8}_\d{6}_\w+\.npz$",
        r"^\[BG_LEARNER\] Training on \d+ game files\.\.\.$",
        r"^\[BG_LEARNER\] Training complete\. Loss: -?\d\.\d{4}, Saved: \d+ files$",
        r"^\[BACKGROUND LEARNING\] STATISTICS$",
    ):
        assert re.search(line, ran.stdout, re.MULTILINE), line


def test_a_learner_that_cannot_start_is_a_warning_and_the_games_are_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("sc2")
    pytest.importorskip("numba")
    training_run = importlib.import_module("understudy.games.zerg.training_run")

    def fail(_learner: BackgroundParallelLearner) -> bool:
        raise LearnerFailed("no process can be started")

    monkeypatch.setattr(BackgroundParallelLearner, "start", fail)
    monkeypatch.setattr(training_run, "play_one", lambda challenge, _setup: training_run._crashed(challenge, "test"))
    arguments = ["--run-dir", str(tmp_path), "--games", "1", "--practice", "0", "--game", "proving-ground"]
    assert training_run.main(arguments) == 0
    printed = capsys.readouterr()
    assert "[WARNING] Failed to start background learner: no process can be started" in printed.err
    assert "[WARNING] Background parallel learner not available: the bot learns by itself" in printed.out


def test_every_row_of_the_table_is_checked_here() -> None:
    source = inspect.getsource(sys.modules[__name__]).replace("\\", "")
    same = TABLE.split("## Same as before")[1].split("## Different here")[0]
    rows = [line.split("|")[1] for line in same.splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) > 15
    for row in rows:
        for item in re.findall(r"`([^`]+)`", row):
            words = re.findall(r"[A-Za-z_]{4,}", item.replace("\\", "/"))
            assert any(word in source for word in words), item


def test_settings_named_in_the_table_exist(tmp_path: Path) -> None:
    for arguments in re.findall(r"`BackgroundParallelLearner\(([a-z_]+=\d[^`]*)\)`", TABLE):
        given: dict[str, Any] = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", arguments)}
        learner = BackgroundParallelLearner(run_dir=tmp_path, **given)
        chosen = asdict(learner.settings.learner) | asdict(learner.settings.resources)
        assert chosen == chosen | given
