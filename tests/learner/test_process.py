"""The learner as its users see it: a process beside the bot, watched from outside."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from game_files import ACTIONS, STATE_DIM, make_episode, make_model, put_game
from runs import outcomes, until
from understudy import BackgroundParallelLearner, RLAgent
from understudy.errors import LearnerBusy, LearnerFailed, RunDirError, SettingsError
from understudy.experience.episode import file_name, read_episode, write_episode
from understudy.files.step_time import write_step_time
from understudy.learner import process
from understudy.ledger.connection import Ledger
from understudy.models.live import Interface, new_model
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.run.status import read_status
from understudy.rundir import RunDir
from understudy.settings import (
    LearnerSettings,
    NetworkSettings,
    Settings,
    StorageSettings,
    TrainingSettings,
    load_settings,
)

pytestmark = [pytest.mark.usefixtures("first_model"), pytest.mark.slow]

posix_only = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


_FIXED = ("--learner.min-batch-games", "1")  # as large as the other settings say, not as is worth it


def learn_once(run: RunDir, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "understudy", "learn", str(run.root), "--once", *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_games_are_learned_from_archived_and_counted(run: RunDir) -> None:
    for seed in range(13):
        put_game(run.buffer, seed, age=50 - seed, model_version=1)
    before = read_model(run.model)
    with BackgroundParallelLearner(run_dir=run.root, verbose=False) as learner:
        until(lambda: learner.get_stats()["files_processed"] == 13)
        assert learner.running
    stats = learner.get_stats()
    assert not learner.running
    assert (stats["batches_trained"], stats["total_samples"], stats["errors"]) == (2, 13 * 12, 0)
    assert (stats["buffer_files"], stats["archive_files"], stats["model_version"]) == (0, 13, 3)
    assert stats["state"] == "stopped"
    assert stats["staleness"] == 1.0  # the second batch was recorded one version before the one it trained
    assert 0 < stats["effective_sample_size"] <= 1
    after = read_model(run.model)
    assert after.counters["games"] == 13
    assert not np.array_equal(after.arrays["parameters"], before.arrays["parameters"])
    assert len(list(run.archive.glob("*.npz"))) == 13
    assert outcomes(run)["learned"] == 13


def test_the_average_loss_is_an_average(run: RunDir) -> None:
    for seed in range(4):
        put_game(run.buffer, seed)
    assert learn_once(run, *_FIXED, "--learner.batch-games", "1").returncode == 0
    with Ledger(run.ledger) as ledger:
        losses = [version.loss for version in ledger.versions() if version.loss is not None]
    status = read_status(run.status)
    assert len(losses) == 4
    assert status["avg_loss"] == pytest.approx(np.mean(losses))
    assert status["last_loss"] == pytest.approx(losses[-1])
    assert status["avg_loss"] != status["last_loss"]


def test_totals_go_on_after_a_restart(run: RunDir) -> None:
    put_game(run.buffer, 1)
    learn_once(run)
    put_game(run.buffer, 2)
    learn_once(run)
    status = read_status(run.status)
    assert (status["files_processed"], status["batches_trained"], status["total_samples"]) == (2, 2, 24)


def test_each_batch_has_an_entry_in_the_log(run: RunDir) -> None:
    for seed in range(3):
        put_game(run.buffer, seed)
    result = learn_once(run)
    assert "[BG_LEARNER] Training on 3 game files..." in result.stdout
    assert "Saved: 3 files" in result.stdout
    log = run.log.read_text()
    assert "] Batch Training Complete\n  Batch Size:      3 games\n  Total Steps:     36\n  Loss:" in log
    assert "  Total Processed: 3 files\n  Total Batches:   1\n" in log


def test_a_transformer_that_looks_back_less_than_games_last_is_in_the_log_once(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    run.create()
    network = NetworkSettings(policy="transformer", context=4, width=8, heads=2, layers=2)
    model = new_model(Interface(STATE_DIM, ACTIONS), network, TrainingSettings(), 0)
    ModelStore(run.model, run.ledger).create(model)
    for seed in range(3):
        put_game(run.buffer, seed)  # of twelve decisions
    assert learn_once(run, "--learner.batch-games", "1", "--learner.batch-decisions", "0").returncode == 0
    log = run.log.read_text(encoding="utf-8")
    assert log.count("looks back 6 decisions") == 1
    assert "games last 12" in log


def test_a_live_bot_gets_new_weights_without_asking(tmp_path: Path) -> None:
    agent = RLAgent(STATE_DIM, ACTIONS, run_dir=tmp_path, hidden=(8,))
    with BackgroundParallelLearner(run_dir=tmp_path, verbose=False, min_batch_games=1):
        for _ in range(3):
            for t in range(20):
                agent.select_action(np.full(STATE_DIM, t % 3))
                agent.observe_reward(1.0)
            assert agent.end_episode("Victory")["trained_online"] is False  # the learner is alive
            assert agent.wait_for_learner(timeout=20)
        version = agent.model_version
        assert version >= 2
        assert agent.reload_if_newer()
        assert agent.model_version > version


def test_a_new_game_is_seen_long_before_the_next_poll(run: RunDir) -> None:
    with BackgroundParallelLearner(run_dir=run.root, verbose=False, poll_seconds=3600, min_batch_games=1):
        for seed in range(3):
            put_game(run.buffer, seed)
            until(lambda: not list(run.buffer.glob("*.npz")))
    assert outcomes(run)["learned"] == 3


def test_the_learner_waits_for_the_first_model(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    run.create()
    path = put_game(run.buffer)
    with BackgroundParallelLearner(run_dir=tmp_path, verbose=False, poll_seconds=0.1) as learner:
        until(lambda: "waiting for a model" in learner.get_stats()["state"])
        assert path.exists()
        ModelStore(run.model, run.ledger).create(make_model())
        until(lambda: not path.exists())


def test_games_that_waited_while_no_learner_ran_are_learned_from(run: RunDir) -> None:
    for seed in range(11):
        put_game(run.buffer, seed, age=5000)
    learn_once(run, "--learner.max-file-age", "3600")
    assert outcomes(run) == {"learned": 11, "online": 0, "skipped": 0, "rejected": 0}


def test_the_age_limit_given_to_the_learner_wins_over_that_of_its_settings(run: RunDir) -> None:
    settings = Settings(learner=LearnerSettings(max_file_age=60))
    assert BackgroundParallelLearner(run_dir=run.root).settings.learner.max_file_age == 0
    assert BackgroundParallelLearner(run_dir=run.root, settings=settings).settings.learner.max_file_age == 60
    given = BackgroundParallelLearner(run_dir=run.root, settings=settings, max_file_age=7200)
    assert given.settings.learner.max_file_age == 7200


def test_batches_grow_with_the_backlog_and_fresh_games_are_learned_first(run: RunDir) -> None:
    for seed in range(70):
        put_game(run.buffer, seed, age=100 - seed, id=f"{seed:016x}")
    learn_once(run, *_FIXED, "--learner.batch-games", "1", "--learner.batch-decisions", "36")
    with Ledger(run.ledger) as ledger:
        sizes = [version.games for version in ledger.versions() if version.games]
        first = {int(game.id, 16) for game, _, version in ledger.games() if version == 2}
    assert sizes[-4:] == [1, 1, 1, 1]  # four batches are no backlog
    assert max(sizes) == 3  # 36 decisions
    assert sum(sizes) == 70
    assert len(sizes) < 50
    assert all(number >= 66 for number in first)


def test_batches_do_not_grow_if_they_are_told_not_to(run: RunDir) -> None:
    for seed in range(12):
        put_game(run.buffer, seed)
    learn_once(run, *_FIXED, "--learner.batch-games", "2", "--learner.batch-decisions", "0")
    with Ledger(run.ledger) as ledger:
        assert [version.games for version in ledger.versions() if version.games] == [2] * 6


def test_a_buffer_that_runs_over_is_bounded_and_says_so(run: RunDir) -> None:
    for seed in range(30):
        put_game(run.buffer, seed, age=100 - seed)
    learn_once(run, "--storage.buffer-games", "20")
    assert outcomes(run) == {"learned": 18, "online": 0, "skipped": 12, "rejected": 0}
    assert read_status(run.status)["skipped"] == {"no room": 12}
    assert "  No Room:         12 games were the oldest when more waited" in run.log.read_text()


def test_games_of_a_policy_long_gone_are_archived_unlearned_and_it_says_so(run: RunDir) -> None:
    store = ModelStore(run.model, run.ledger)
    head = store.load()
    for _ in range(102):
        head = store.publish(head, head, publisher="somebody")
    for seed in range(3):
        path = put_game(run.buffer, seed, model_version=1)
        game = read_episode(path, StorageSettings())
        log_probs = np.full(len(game), -1e-6, np.float32)  # it was sure of nearly everything, the model of nothing
        log_probs[0] = -20.0
        write_episode(path, dataclasses.replace(game, log_probs=log_probs), compress=False)
    learn_once(run, "--learner.min-sample-size", "0.2")
    assert outcomes(run) == {"learned": 0, "online": 0, "skipped": 3, "rejected": 0}
    assert store.load().version == head.version  # no trace of them in the model
    assert "  Too Stale:       3 games were played by a policy too different" in run.log.read_text()


def test_bad_files_are_rejected_with_a_reason_and_the_rest_is_learned(run: RunDir) -> None:
    (run.buffer / "game_20200101_000000_Victory_zero.npz").write_bytes(b"")
    np.savez(run.buffer / "other.npz", states=np.ones((5, 9)), actions=np.zeros(5, int), rewards=np.ones(5))
    put_game(run.buffer, 1)
    learn_once(run)
    status = read_status(run.status)
    assert (status["files_rejected"], status["files_processed"], status["errors"]) == (2, 1, 0)
    reasons = {p.name: json.loads(p.read_text())["reason"] for p in run.rejected.glob("*.reason.json")}
    assert "9 features" in reasons["other.npz.reason.json"]


def test_a_game_that_breaks_training_is_set_aside_and_the_others_are_learned(run: RunDir) -> None:
    good = [put_game(run.buffer, seed, age=10 + seed) for seed in range(4)]
    huge = np.full((12, STATE_DIM), 1e30, np.float32)
    np.savez(run.buffer / "huge.npz", states=huge, actions=np.zeros(12, int), rewards=np.full(12, 3e38, np.float32))
    learn_once(run)
    assert outcomes(run) == {"learned": len(good), "online": 0, "skipped": 0, "rejected": 1}
    assert np.isfinite(read_model(run.model).arrays["parameters"]).all()
    assert "Training on this game fails" in (run.rejected / "huge.npz.reason.json").read_text()


def test_the_game_of_a_killed_bot_is_salvaged_and_learned(run: RunDir) -> None:
    bot = (
        "import sys, os; from understudy import RLAgent\n"
        "agent = RLAgent(4, ('LEFT', 'RIGHT', 'STAY'), run_dir=sys.argv[1])\n"
        "for t in range(9): agent.select_action([t, 0, 0, 0]); agent.observe_reward(1.0)\n"
        "os._exit(9)\n"
    )
    subprocess.run([sys.executable, "-c", bot, str(run.root)], check=False)
    learn_once(run)
    with Ledger(run.ledger) as ledger:
        ((game, outcome, _),) = ledger.games()
    assert (game.steps, game.reward, game.result, outcome) == (8, 8.0, "Unknown", "learned")
    assert list(run.live.iterdir()) == []
    assert read_status(run.status)["games_salvaged"] == 1


def test_a_second_learner_says_who_holds_the_run(run: RunDir) -> None:
    with BackgroundParallelLearner(run_dir=run.root, verbose=False) as learner:
        first = read_status(run.status)["pid"]
        result = learn_once(run)
        assert result.returncode == LearnerBusy.exit_code
        assert f"pid {first} on" in result.stderr
        with pytest.raises(LearnerBusy):
            BackgroundParallelLearner(run_dir=run.root, verbose=False, if_busy="exit").start()
        assert learner.running


@posix_only
def test_a_waiting_learner_takes_over_from_a_killed_one(run: RunDir) -> None:
    first = BackgroundParallelLearner(run_dir=run.root, verbose=False)
    second = BackgroundParallelLearner(run_dir=run.root, verbose=False)
    try:
        assert first.start() is True
        assert second.start() is False
        os.kill(read_status(run.status)["pid"], signal.SIGKILL)
        put_game(run.buffer)
        until(lambda: outcomes(run)["learned"] == 1)
    finally:
        first.stop()
        second.stop()


def test_start_and_stop_can_be_repeated_and_leave_no_process(run: RunDir) -> None:
    learner = BackgroundParallelLearner(run_dir=run.root, verbose=False)
    pids = []
    for _ in range(2):
        assert learner.start() is True
        assert learner.start() is True  # already running: nothing happens
        pids.append(read_status(run.status)["pid"])
        learner.stop()
        assert not learner.running
    assert pids[0] != pids[1]
    learner.stop()  # stopping twice is no error


def test_draining_learns_all_that_waits_before_the_end(run: RunDir) -> None:
    learner = BackgroundParallelLearner(run_dir=run.root, verbose=False, min_batch_games=1000, batch_games=7)
    learner.start()
    for seed in range(30):
        put_game(run.buffer, seed)
    assert learner.stop(drain=True)["files_processed"] == 30


def test_batches_that_grow_wait_for_more_games_the_more_were_learned_from(run: RunDir) -> None:
    settings = Settings(
        learner=LearnerSettings(min_batch_games=3, batch_growth=3, batch_games=5, poll_seconds=0.05, verbose=False)
    )
    with BackgroundParallelLearner(run_dir=run.root, settings=settings) as learner:

        def stand_at(waiting: int, learned: int) -> bool:
            stats = learner.get_stats()
            return (stats["buffer_files"], stats["files_processed"]) == (waiting, learned)

        for first, last, learned in ((0, 3, 3), (3, 6, 3), (6, 7, 7), (7, 11, 7), (11, 12, 12), (12, 17, 17)):
            for seed in range(first, last):
                put_game(run.buffer, seed)
            until(partial(stand_at, last - learned, learned))
            time.sleep(0.2)  # it has the time to take what it should leave
            assert stand_at(last - learned, learned)
        assert learner.get_stats()["batches_trained"] == 4


def test_batches_that_grow_begin_with_one_game_if_nothing_else_is_said(run: RunDir) -> None:
    settings = Settings(learner=LearnerSettings(batch_growth=2, batch_games=3, poll_seconds=0.05, verbose=False))
    with BackgroundParallelLearner(run_dir=run.root, settings=settings) as learner:
        for games, learned in ((1, 1), (2, 2), (3, 2), (4, 4), (6, 4), (7, 7)):
            for seed in range(learner.get_stats()["files_processed"] + learner.get_stats()["buffer_files"], games):
                put_game(run.buffer, seed)
            until(partial(_stands_at, learner, games - learned, learned))
            time.sleep(0.1)  # it has the time to take what it should leave
            assert _stands_at(learner, games - learned, learned)


def _stands_at(learner: BackgroundParallelLearner, waiting: int, learned: int) -> bool:
    stats = learner.get_stats()
    return (stats["buffer_files"], stats["files_processed"]) == (waiting, learned)


def test_by_default_batches_grow_with_what_was_learned_and_nobody_waits_for_more_than_there_can_be(run: RunDir) -> None:
    for seed in range(60):
        put_game(run.buffer, seed)
    learn_once(run, *_FIXED)
    agent = RLAgent(STATE_DIM, ACTIONS, run_dir=run.root, record=False)
    with BackgroundParallelLearner(run_dir=run.root, verbose=False, poll_seconds=0.05) as learner:
        until(lambda: learner.get_stats()["batch_wanted"] > 1)
        wanted = learner.get_stats()["batch_wanted"]  # 720 decisions, in games of 12, if it is all noise
        assert 24 < wanted <= 60
        for seed in range(wanted - 1):
            put_game(run.buffer, seed)
        until(partial(_stands_at, learner, wanted - 1, 60))
        assert agent.wait_for_learner(timeout=20.0)  # at once: the learner waits for games
        assert _stands_at(learner, wanted - 1, 60)
        put_game(run.buffer, wanted)
        until(partial(_stands_at, learner, 0, 60 + wanted))
    agent.close()
    bounded = Settings(storage=StorageSettings(buffer_games=2), learner=LearnerSettings(verbose=False))
    with BackgroundParallelLearner(run_dir=run.root, settings=bounded) as learner:
        until(lambda: learner.get_stats()["batch_wanted"] == 2)
        put_game(run.buffer, 0)
        until(partial(_stands_at, learner, 1, 60 + wanted))
        time.sleep(0.1)  # it has the time to take what it should leave
        assert _stands_at(learner, 1, 60 + wanted)
        put_game(run.buffer, 1)
        until(partial(_stands_at, learner, 0, 62 + wanted))


def test_a_value_far_out_of_range_is_reported_with_its_feature_and_game(run: RunDir) -> None:
    for seed in range(9):
        put_game(run.buffer, seed)
    game = make_episode(9)
    game.states[5, 1] = 1e12
    path = run.buffer / file_name(game.meta)
    write_episode(path, game, compress=False)
    said = learn_once(run, *_FIXED).stdout
    what = f"feature 1 was 1e+12 in {path.name}"
    assert f"Far outside its range: {what}. It was clipped" in said
    assert f"  Out of Range:    {what}\n" in run.log.read_text()
    status = read_status(run.status)
    found = [{"feature": "feature 1", "value": pytest.approx(1e12), "game": path.name}]
    assert (status["outliers"], status["files_processed"]) == (found, 10)
    assert time.time() - status["outliers_at"] < 60
    with Ledger(run.ledger) as ledger:
        assert ledger.versions()[-1].stats["outliers"] == found
    put_game(run.buffer, 10)
    assert "Far outside" not in learn_once(run).stdout
    assert read_status(run.status)["outliers"] == found  # the next learner remembers


@pytest.fixture
def parent_of_a_learner(run: RunDir) -> Iterator[subprocess.Popen[str]]:
    script = (
        "import sys, time; from understudy import BackgroundParallelLearner\n"
        "learner = BackgroundParallelLearner(run_dir=sys.argv[1], verbose=False); learner.start()\n"
        "print('started', flush=True); time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script, str(run.root)], stdout=subprocess.PIPE, text=True)
    yield parent
    parent.kill()
    parent.wait()
    assert parent.stdout is not None
    parent.stdout.close()


@posix_only
def test_the_learner_ends_with_its_parent(run: RunDir, parent_of_a_learner: subprocess.Popen[str]) -> None:
    assert parent_of_a_learner.stdout is not None
    assert parent_of_a_learner.stdout.readline() == "started\n"
    parent_of_a_learner.kill()
    until(lambda: read_status(run.status)["state"] == "stopped")


@posix_only
def test_the_learner_works_at_low_priority_with_one_thread(run: RunDir) -> None:
    with BackgroundParallelLearner(run_dir=run.root, verbose=False):
        pid = read_status(run.status)["pid"]
        assert os.getpriority(os.PRIO_PROCESS, pid) == 19
        if (environment := Path(f"/proc/{pid}/environ")).exists():
            assert b"OPENBLAS_NUM_THREADS=1" in environment.read_bytes()


@posix_only
def test_ctrl_c_in_the_foreground_ends_cleanly(run: RunDir) -> None:
    command = [sys.executable, "-m", "understudy", "learn", str(run.root)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    until(lambda: read_status(run.status).get("pid") == process.pid)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "Stopped." in out
    assert read_status(run.status)["state"] == "stopped"


def test_a_batch_under_way_pauses_while_a_step_of_the_game_takes_too_long(run: RunDir) -> None:
    put_game(run.buffer)
    settings = Settings(training=TrainingSettings(epochs=100_000_000, target_kl=0.0))
    with BackgroundParallelLearner(run_dir=run.root, verbose=False, settings=settings, batch_seconds=3600) as learner:
        until(lambda: learner.get_stats()["state"] == "training")
        assert learner.get_stats()["jobs"]["train running"] == 1

        def slow_step() -> bool:
            write_step_time(run.step_time, 1.0)
            return bool(learner.get_stats()["state"] == "paused for the game")

        until(slow_step)
        write_step_time(run.step_time, 0.001)
        until(lambda: learner.get_stats()["state"] == "training")
        learner.stop()  # cuts the batch short; leaving would wait for it
    assert outcomes(run)["learned"] == 1


@posix_only
def test_ctrl_c_cuts_a_long_batch_short_and_publishes_what_it_has_come_to(run: RunDir) -> None:
    put_game(run.buffer)
    endless = ["--training.epochs", "100000000", "--training.target-kl", "0", "--learner.batch-seconds", "3600"]
    process = subprocess.Popen([sys.executable, "-m", "understudy", "learn", str(run.root), *endless])
    until(lambda: read_status(run.status).get("state") == "training")
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    assert outcomes(run)["learned"] == 1
    assert len(list(run.archive.glob("*.npz"))) == 1


def test_a_batch_ends_at_its_time_limit(run: RunDir) -> None:
    put_game(run.buffer)
    endless = ["--training.epochs", "100000000", "--training.target-kl", "0", "--learner.batch-seconds", "0.1"]
    assert learn_once(run, *endless).returncode == 0
    assert outcomes(run)["learned"] == 1


def test_a_status_report_is_printed_in_the_layout_users_know(run: RunDir, capfd: pytest.CaptureFixture[str]) -> None:
    put_game(run.buffer)
    with BackgroundParallelLearner(run_dir=run.root, report_seconds=0.5):
        shown = ""

        def reported() -> bool:
            nonlocal shown
            shown += capfd.readouterr().out
            return "Files Processed:      1\n" in shown and shown.endswith("=\n")

        until(reported)
    assert "[BACKGROUND LEARNER] STATUS REPORT" in shown
    assert "Training Statistics:\n  Files Processed:      1\n  Batch Training Runs:  1\n" in shown


def test_rollback_while_the_learner_runs_is_picked_up(run: RunDir) -> None:
    store = ModelStore(run.model, run.ledger)
    with BackgroundParallelLearner(run_dir=run.root, verbose=False):
        put_game(run.buffer, 1)
        until(lambda: store.load().version == 2)
        back = store.rollback(1)
        put_game(run.buffer, 2)
        until(lambda: store.load().version == back.version + 1)
    assert store.load().counters["games"] == 1  # the rolled-back model had learned from none


def test_what_cannot_be_is_said(run: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as without:
        without.setattr("importlib.util.find_spec", lambda name: None)
        with pytest.raises(SettingsError, match=r"pip install understudy\[replays\]"):
            BackgroundParallelLearner(run_dir=run.root, enable_replay_analysis=True)
    with pytest.raises(SettingsError, match="bach_games: no such setting"):
        BackgroundParallelLearner(run_dir=run.root, bach_games=3)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunDirError, match="cannot be used"):
        BackgroundParallelLearner(run_dir=tmp_path / "file").start()


def test_a_learner_that_dies_at_the_start_is_an_error(run: RunDir, capfd: pytest.CaptureFixture[str]) -> None:
    run.ledger.write_bytes(b"this is no database" * 100)
    with pytest.raises(LearnerFailed, match="code 1"):
        BackgroundParallelLearner(run_dir=run.root, verbose=False).start()
    assert "ledger" in capfd.readouterr().err


def test_training_settings_given_to_the_learner_change_the_model(run: RunDir) -> None:
    put_game(run.buffer)
    learn_once(run, "--training.learning-rate", "0.005", "--training.epochs", "2")
    after = read_model(run.model)
    assert (after.training.learning_rate, after.training.epochs, after.version) == (0.005, 2, 3)
    learn_once(run, "--training.learning-rate", "0.005")
    assert read_model(run.model).version == 3  # the same settings make no new version


def test_the_shape_of_the_network_is_no_setting_of_the_learner(run: RunDir) -> None:
    result = learn_once(run, "--network.hidden", "9,9")
    assert result.returncode == 2
    assert "--network.hidden" in result.stderr


def test_what_the_caller_says_wins_over_the_settings_and_both_over_the_file(
    run: RunDir, monkeypatch: pytest.MonkeyPatch
) -> None:
    def effective(learner: BackgroundParallelLearner) -> Settings:
        flags = learner._command()[learner._command().index("--wait") + 1 :]
        names = [flag.removeprefix("--").replace("-", "_") for flag in flags[::2]]
        return load_settings(flags=dict(zip(names, flags[1::2], strict=True)))

    monkeypatch.chdir(run.root)
    Path("understudy.toml").write_text("[learner]\nmax_file_age = 7\nbatch_games = 3\nverbose = true\n")
    given = Settings(learner=LearnerSettings(max_file_age=0, verbose=False))
    learner = effective(BackgroundParallelLearner(run_dir=run.root, settings=given, poll_seconds=0.5)).learner
    assert (learner.max_file_age, learner.verbose, learner.poll_seconds) == (0, False, 0.5)
    assert learner.batch_games == LearnerSettings().batch_games
    plain = effective(
        BackgroundParallelLearner(
            run_dir=run.root, max_file_age=LearnerSettings().max_file_age, verbose=False, cpu_threshold=55.0
        )
    )
    assert plain.learner.max_file_age == LearnerSettings().max_file_age
    assert (plain.learner.batch_games, plain.learner.verbose, plain.resources.cpu_threshold) == (3, False, 55.0)
    with pytest.raises(SettingsError, match="Did you mean cpu_threshold"):
        BackgroundParallelLearner(run_dir=run.root, cpu_treshold=5)


def test_leaving_with_learns_what_waits(run: RunDir) -> None:
    with BackgroundParallelLearner(run_dir=run.root, verbose=False):
        for seed in range(30):
            put_game(run.buffer, seed)
    assert outcomes(run)["learned"] == 30


@posix_only
def test_a_learner_that_is_killed_is_started_again_and_the_bot_is_told(
    run: RunDir, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_FIRST_PAUSE", 0.05)
    learner = BackgroundParallelLearner(run_dir=run.root, verbose=False)
    assert learner.start()
    first = read_status(run.status)["pid"]
    os.kill(first, signal.SIGKILL)
    put_game(run.buffer, 1)
    until(lambda: read_status(run.status)["pid"] != first)
    until(lambda: outcomes(run).get("learned") == 1)
    stats = learner.stop()
    assert stats["restarts"] == 1
    assert "killed by SIGKILL" in capfd.readouterr().out


@posix_only
def test_a_learner_that_keeps_dying_is_given_up_and_the_reason_is_told(
    run: RunDir, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "_FIRST_PAUSE", 0.01)
    monkeypatch.setattr(process, "_MOST_DEATHS", 3)
    learner = BackgroundParallelLearner(run_dir=run.root, verbose=False)
    learner.start()
    monkeypatch.setattr(learner, "_command", lambda: [sys.executable, "-c", "raise SystemExit(7)"])
    os.kill(read_status(run.status)["pid"], signal.SIGKILL)
    until(lambda: learner.get_stats()["state"] == "failed")
    stats = learner.get_stats()
    assert not stats["running"]
    assert "exit code 7" in stats["last_error"]
    assert "3 times in a row" in capfd.readouterr().out
    assert learner.stop()["state"] == "failed"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"if_busy": "wiat"}, "it must be 'wait' or 'exit'"),
        ({"settings": {}}, "load_settings"),
        ({"max_file_age": "1h"}, "max_file_age is '1h'; it must be a number"),
        ({"poll_secs": 3}, "Did you mean poll_seconds"),
        ({"max_workers": "2"}, "it must be a whole number"),
        ({"verbose": "no"}, "it must be true or false"),
        ({"run_dir": ""}, "The name of the run directory is empty"),
    ],
    ids=str,
)
def test_arguments_that_mean_nothing_are_refused(tmp_path: Path, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises((SettingsError, RunDirError), match=said):
        BackgroundParallelLearner(**{"run_dir": tmp_path, **wrong})


@posix_only
def test_a_learner_that_does_not_stop_is_killed_and_the_statistics_say_so(
    run: RunDir, capfd: pytest.CaptureFixture[str]
) -> None:
    learner = BackgroundParallelLearner(run_dir=run.root, verbose=False)
    learner.start()
    os.kill(read_status(run.status)["pid"], signal.SIGSTOP)
    stats = learner.stop(timeout=0.2)
    assert (stats["state"], stats["running"]) == ("failed", False)
    assert "did not end within 0.2 s and was killed" in stats["last_error"]
    assert "The next one learns the rest" in capfd.readouterr().out


HANGING = """
import sys, time
from understudy.cli import main
from understudy.experience.spool import Spool
from understudy.learner import loop
loop._HANGS_SECONDS = 1.0
Spool.salvage = lambda *_: time.sleep(600)  # as on a network drive that does not answer
sys.exit(main(["learn", sys.argv[1]]))
"""


@posix_only
def test_a_loop_that_hangs_shows_and_ends_when_it_is_asked_to(run: RunDir) -> None:
    process = subprocess.Popen([sys.executable, "-c", HANGING, str(run.root)], stdout=subprocess.PIPE, text=True)
    until(lambda: read_status(run.status).get("loop_seconds", 0) > 1)
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 1
    assert "has hung for" in out


@posix_only
def test_a_slow_pass_is_no_hang_where_all_games_are_to_be_learned(run: RunDir) -> None:
    slow = HANGING.replace("time.sleep(600)", "time.sleep(2.5) or True").replace(
        "sys.argv[1]]", 'sys.argv[1], "--once"]'
    )
    done = subprocess.run([sys.executable, "-c", slow, str(run.root)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
