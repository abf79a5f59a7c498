"""The whole loop, in one process and in several: it learns, it resumes, and both modes are one program."""

from __future__ import annotations

import dataclasses
import errno
import logging
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from parallel.small import settings
from understudy.cli import main
from understudy.errors import NonFiniteError, SettingsError, WorkersFailed
from understudy.games.tictactoe import LINES
from understudy.learning.batch import Batch
from understudy.learning.losses import chosen as chosen_entries
from understudy.learning.losses import log_softmax
from understudy.learning.trust_region import Adjusted
from understudy.models.live import LiveModel
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.networks.conv import ConvNet
from understudy.parallel import shared
from understudy.parallel.loop import TrainingLoopManager
from understudy.parallel.loop_stats import LoopStats
from understudy.parallel.rollout import Rollout, as_batch
from understudy.run.lock import StopRequest
from understudy.run.status import read_status
from understudy.rundir import RunDir
from understudy.settings import NetworkSettings, ParallelSettings, Settings, TrainingSettings

BANDIT, COUNTING = "parallel.small:Bandit", "parallel.small:Counting"


class Recorder:
    """Keeps a copy of everything that was learned from."""

    def __init__(self) -> None:
        self.rollouts: list[Rollout] = []
        self.staleness: list[float] = []

    def __call__(self, stats: LoopStats, rollouts: Sequence[Rollout]) -> None:
        self.rollouts += [rollout.copy() for rollout in rollouts]
        self.staleness.append(stats.staleness)


def assert_same(a: Sequence[Rollout], b: Sequence[Rollout]) -> None:
    assert len(a) == len(b)
    for one, other in zip(a, b, strict=True):
        T = one["steps"]
        np.testing.assert_array_equal(one.header, other.header)
        for name in ("states", "actions", "rewards", "log_probs", "ended", "sides", "legal"):
            np.testing.assert_array_equal(getattr(one, name)[:T], getattr(other, name)[:T], err_msg=name)


def accuracy(model: LiveModel) -> float:
    """How often the likeliest action is right in the bandit; 0.2 is chance."""
    states = np.random.default_rng(9).standard_normal((2000, 15), np.float32)
    logits, _ = model.network.forward(model.trainer.normalizer.apply(states))
    return float((logits.argmax(axis=1) == states[:, :5].argmax(axis=1)).mean())


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_synchronous_workers_play_what_the_sequential_mode_plays(workers: int) -> None:
    recorded, models = [], []
    for enabled in (False, True):
        recorder = Recorder()
        chosen = settings(enabled=enabled, num_workers=workers, max_staleness=0, checkpoint_updates=3)
        loop = TrainingLoopManager(COUNTING, chosen, seed=5, on_update=recorder)
        stats = loop.run(updates=7)
        assert stats.mode == ("parallel" if enabled else "sequential")
        assert stats.max_staleness == 0
        assert [r["version"] for r in recorder.rollouts] == [u for u in range(7) for _ in range(workers)]
        recorded.append(recorder.rollouts)
        models.append(loop.model)
    assert_same(*recorded)
    np.testing.assert_array_equal(models[0].network.parameters, models[1].network.parameters)


@pytest.mark.slow
@pytest.mark.parametrize("enabled", [False, True])
def test_the_bandit_is_learned_in_both_modes(enabled: bool) -> None:
    loop = TrainingLoopManager(BANDIT, settings(enabled=enabled, batch_size=1024), seed=1)
    before = loop.model.network.parameters.copy()
    assert accuracy(loop.model) < 0.5
    stats = loop.run(updates=60)
    assert accuracy(loop.model) > 0.85
    assert stats.mean_return > 7
    assert (stats.updates, stats.decisions) == (60, 60 * 1024)  # one update a batch, no more
    assert stats.games == 60 * 1024 // 10 // 8 * 8
    changed = {
        name: (part != 0).any()
        for name, part in loop.model.network.views(before - loop.model.network.parameters).items()
    }
    assert all(changed.values())


@pytest.mark.slow
@pytest.mark.parametrize("enabled", [False, True])
def test_images_are_learned_from_by_convolutions(enabled: bool) -> None:
    parallel = ParallelSettings(enabled=enabled, num_workers=1, games_per_worker=16, batch_size=512)
    loop = TrainingLoopManager("gym:parallel.small_envs:Dots-v0", Settings(parallel=parallel), seed=1)
    assert isinstance(loop.model.network, ConvNet)
    assert not loop.model.trainer.normalizer.enabled
    assert loop.run(updates=60).mean_return > 9  # a beginner's is 5


def test_another_network_for_images_is_made_when_it_is_asked_for() -> None:
    given = {"network": {"policy": "mlp"}, "training": {}}
    loop = TrainingLoopManager("gym:parallel.small_envs:Dots-v0", settings(), given, seed=1)
    assert loop.model.base.spec.network == NetworkSettings()


def test_a_network_of_ones_own_choice_keeps_the_training_that_the_game_recommends() -> None:
    given = {"network": {"policy": "transformer"}, "training": {}}
    loop = TrainingLoopManager("parallel.small:Advised", settings(), given, seed=1)
    assert loop.model.base.spec.network.policy == "transformer"
    assert loop.model.base.training.gamma == 0.25


@pytest.mark.parametrize("enabled", [False, True])
def test_the_recorded_probabilities_are_those_of_the_weights_that_the_rollout_names(enabled: bool) -> None:
    recorder = Recorder()
    models: list[tuple[NDArray[np.floating], NDArray[np.float32], NDArray[np.float32]]] = []

    def keep(stats: LoopStats, rollouts: Sequence[Rollout]) -> None:
        recorder(stats, rollouts)
        normalizer = loop.model.trainer.normalizer
        models.append((loop.model.network.parameters.copy(), normalizer.mean, normalizer.scale))

    chosen = settings({"learning_rate": 0.01}, enabled=enabled, max_staleness=1)
    loop = TrainingLoopManager(COUNTING, chosen, seed=1, on_update=keep)
    loop.run(updates=6)
    for rollout in recorder.rollouts:
        if rollout["version"] == 0:
            continue
        parameters, mean, scale = models[rollout["version"] - 1]
        np.copyto(loop.model.network.parameters, parameters)
        batch = as_batch([rollout])
        logits, _ = loop.model.network.forward(np.clip((batch.of_decisions(batch.states) - mean) * scale, -10, 10))
        expected = chosen_entries(log_softmax(logits, batch.legal), batch.actions)
        np.testing.assert_allclose(batch.log_probs, expected, atol=1e-4)


@pytest.mark.slow
def test_staleness_is_bounded_and_shown() -> None:
    recorder = Recorder()
    loop = TrainingLoopManager(BANDIT, settings(enabled=True, max_staleness=1), seed=1, on_update=recorder)
    stats = loop.run(updates=30)
    assert stats.max_staleness == max(recorder.staleness) == 1
    assert 0 < stats.effective_sample_size < 1
    assert stats.as_dict()["staleness"] == recorder.staleness[-1]


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_exactly(tmp_path: Path) -> None:
    """What a kill leaves is the last published version: going on from it gives the run that was never killed."""
    chosen = settings(num_workers=2, checkpoint_updates=3)
    whole, again = Recorder(), Recorder()
    uninterrupted = TrainingLoopManager(COUNTING, chosen, store=store_at(tmp_path / "a"), seed=2, on_update=whole)
    uninterrupted.run(updates=8)

    store = store_at(tmp_path / "b")
    TrainingLoopManager(COUNTING, chosen, store=store, seed=2).run(updates=3)  # and 1 or 2 more, lost in the kill
    resumed = TrainingLoopManager(COUNTING, chosen, store=store, seed=2, on_update=again)
    assert resumed.model.trainer.updates == 3
    resumed.run(updates=5)
    assert_same(whole.rollouts[6:], again.rollouts)
    np.testing.assert_array_equal(uninterrupted.model.network.parameters, resumed.model.network.parameters)


@pytest.mark.slow
@pytest.mark.parametrize("game", [COUNTING, "gym:CartPole-v1", "tictactoe", "drift"])
def test_synchronous_workers_go_on_exactly_where_a_sequential_run_ended(game: str, tmp_path: Path) -> None:
    def loop_of(folder: str, recorder: Recorder | None = None, *, enabled: bool = False) -> TrainingLoopManager:
        chosen = settings(enabled=enabled, num_workers=2, max_staleness=0, checkpoint_updates=2)
        return TrainingLoopManager(game, chosen, store=store_at(tmp_path / folder), seed=2, on_update=recorder)

    whole, again = Recorder(), Recorder()
    uninterrupted = loop_of("a", whole)
    uninterrupted.run(updates=5)
    for enabled in (False, True):  # three updates, the last one of which is no checkpoint, and then one
        loop_of("b", again, enabled=enabled).run(updates=3 if not enabled else 1)
    resumed = loop_of("b", again, enabled=True)
    resumed.run(updates=1)
    assert_same(whole.rollouts, again.rollouts)
    np.testing.assert_array_equal(uninterrupted.model.network.parameters, resumed.model.network.parameters)


@pytest.mark.parametrize(("game", "two"), [(COUNTING, True), (BANDIT, False)])
def test_the_trainer_knows_whether_two_players_learn_from_each_other(
    game: str, two: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []

    def noted(now: Adjusted, **facts: Any) -> Adjusted:
        told.append(facts["two_players"])
        return now

    monkeypatch.setattr("understudy.learning.trainer.adjust", noted)
    TrainingLoopManager(game, settings()).run(updates=2)
    assert told == [two, two]


@pytest.mark.slow
def test_a_kill_after_the_matches_were_saved_and_before_the_version_was_published_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = settings(checkpoint_updates=2)
    whole, again = Recorder(), Recorder()
    TrainingLoopManager(COUNTING, chosen, store=store_at(tmp_path / "a"), seed=2, on_update=whole).run(updates=5)
    store = store_at(tmp_path / "b")
    killed = TrainingLoopManager(COUNTING, chosen, store=store, seed=2)
    killed.run(updates=2)
    with monkeypatch.context() as patched:
        patched.setattr(killed, "_publish", lambda: None)  # the end comes before
        killed.run(updates=4)
    files = sorted(path.name for path in (tmp_path / "b" / "models" / "matches").iterdir())
    assert files == ["000002.npz", "000003.npz"]
    resumed = TrainingLoopManager(COUNTING, chosen, store=store, seed=2, on_update=again)
    assert resumed.model.trainer.updates == 2
    resumed.run(updates=3)
    assert_same(whole.rollouts[2:], again.rollouts)


def test_saved_matches_are_kept_as_long_as_their_versions(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    run.create()
    store = ModelStore(run.model, run.ledger, keep=3)
    TrainingLoopManager(COUNTING, settings(checkpoint_updates=1), store=store, seed=2).run(updates=6)
    assert store.kept_versions() == [5, 6, 7]
    assert sorted(path.name for path in run.matches.iterdir()) == ["000005.npz", "000006.npz", "000007.npz"]


def test_a_version_that_was_rolled_back_to_goes_on_with_its_own_matches(tmp_path: Path) -> None:
    first, again = Recorder(), Recorder()
    store = store_at(tmp_path)
    chosen = settings(checkpoint_updates=1)
    TrainingLoopManager(COUNTING, chosen, store=store, seed=2, on_update=first).run(updates=4)
    store.rollback(3)  # after two updates
    TrainingLoopManager(COUNTING, chosen, store=store, seed=2, on_update=again).run(updates=2)
    assert_same(first.rollouts[2:], again.rollouts)


def test_games_that_last_longer_than_many_checkpoints_end() -> None:
    loop = TrainingLoopManager("parallel.small:Walk", settings(checkpoint_updates=1, batch_size=64), seed=1)
    loop.run(updates=60)  # of eight steps
    assert loop.stats.games >= 3 * 8
    assert loop.stats.mean_return == 100


def test_a_game_that_cannot_save_its_matches_goes_on_with_new_ones_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    again = Recorder()
    for _ in range(2):
        with caplog.at_level(logging.INFO):
            TrainingLoopManager(BANDIT, settings(), store=store_at(tmp_path), seed=1, on_update=again).run(updates=2)
    assert caplog.text.count("New matches begin, so the run does not continue bit for bit") == 1
    assert [rollout["generation"] for rollout in again.rollouts] == [0, 0, 2, 2]


def test_matches_saved_for_another_number_of_workers_begin_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for workers in (1, 2):
        chosen = settings(num_workers=workers)
        with caplog.at_level(logging.INFO):
            TrainingLoopManager(COUNTING, chosen, store=store_at(tmp_path), seed=1).run(updates=1)
    assert "those saved are 1 ×" in caplog.text


def test_matches_of_equal_length_do_not_end_in_the_same_step_and_those_begun_anew_have_no_result() -> None:
    recorder = Recorder()
    loop = TrainingLoopManager("parallel.small:Walk", settings(batch_size=800), seed=1, on_update=recorder)
    loop.run(updates=15)
    ends = np.concatenate([rollout.ended[: rollout["steps"]] for rollout in recorder.rollouts])  # 1,500 steps
    lengths = np.concatenate([rollout.lengths[: rollout["steps"]] for rollout in recorder.rollouts])
    assert (ends & (lengths == 0)).sum(axis=0).max() == 1  # each match once at most
    assert set(lengths[ends].tolist()) == {0, 100}
    assert all(set(rollout.results()[0].tolist()) <= {100.0} for rollout in recorder.rollouts)
    assert loop.stats.games == (ends & (lengths == 100)).sum()
    assert ends[1000:].sum(axis=1).max() <= 3  # of eight; without it all of them
    assert ends[1000:].sum() == 5 * 8


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_a_process_killed_in_the_middle_is_followed_by_one_that_goes_on_exactly(tmp_path: Path) -> None:
    def command(folder: str, updates: int) -> list[str]:
        limits = ["--updates", str(updates), "--parallel.checkpoint-updates", "20", "--seed", "3"]
        sizes = ["--parallel.games-per-worker", "8", "--parallel.batch-size", "64", "--network.hidden", "16"]
        run_dir = ["--run-dir", str(tmp_path / folder)]
        return [sys.executable, "-m", "understudy", "selfplay", "tictactoe", *run_dir, *limits, *sizes]

    model = RunDir.at(tmp_path / "killed").model
    process = subprocess.Popen(command("killed", 10**9), stdout=subprocess.DEVNULL)
    while not model.exists() or read_model(model).counters["updates"] < 20:
        time.sleep(0.01)
    process.kill()
    process.wait()
    left = read_model(model).counters["updates"]
    assert left % 20 == 0
    subprocess.run(command("killed", 20), stdout=subprocess.DEVNULL, check=True)
    subprocess.run(command("whole", left + 20), stdout=subprocess.DEVNULL, check=True)
    killed, whole = read_model(model), read_model(RunDir.at(tmp_path / "whole").model)
    assert killed.counters == whole.counters
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(killed.arrays[name], array, err_msg=name)


def store_at(folder: Path) -> ModelStore:
    run = RunDir.at(folder)
    run.create()
    return ModelStore(run.model, run.ledger)


def test_a_short_run_leaves_a_version_and_the_settings_of_the_model_are_kept(tmp_path: Path) -> None:
    store = store_at(tmp_path)
    TrainingLoopManager(BANDIT, settings({"gamma": 0.5}), store=store, seed=2).run(updates=1)
    head = store.load()
    assert (head.publisher, head.counters["updates"], head.training.gamma) == ("selfplay", 1, 0.5)
    plain = Settings(parallel=ParallelSettings(num_workers=1, games_per_worker=4, batch_size=40))
    TrainingLoopManager(BANDIT, plain, store=store).run(updates=1)
    assert store.load().training.gamma == 0.5
    assert store.load().counters["updates"] == 2


@pytest.mark.slow
def test_dying_workers_are_followed_by_a_sequential_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("UNDERSTUDY_TEST_PID", str(os.getpid()))
    loop = TrainingLoopManager("parallel.small:Dying", settings(enabled=True, max_restarts=0, batch_size=1024), seed=1)
    with caplog.at_level(logging.WARNING):
        stats = loop.run(updates=60)
    assert stats.mode == "sequential"
    assert "Worker 0 ended with code 7. Failures in a row: 1. The run continues sequentially" in caplog.text
    assert accuracy(loop.model) > 0.85


def test_a_machine_without_room_for_workers_runs_sequentially(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def no_room(size: int) -> None:
        raise OSError(errno.ENOSPC, "only 7 bytes are free")

    monkeypatch.setattr(shared, "_require_room", no_room)
    loop = TrainingLoopManager(BANDIT, settings(enabled=True), seed=1)
    assert loop.run(updates=2).mode == "sequential"
    assert "bytes of shared memory cannot be allocated: [Errno 28] only 7 bytes are free" in caplog.text


def test_a_poisoned_batch_is_refused_and_the_model_stays_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    def poisoned(rollouts: Sequence[Rollout], version: int) -> Batch:
        batch = as_batch(rollouts, version)
        return dataclasses.replace(batch, rewards=batch.rewards * np.float32("nan"))

    monkeypatch.setattr("understudy.parallel.loop.as_batch", poisoned)
    loop = TrainingLoopManager(BANDIT, settings(), seed=1)
    before = loop.model.network.parameters.copy()
    with pytest.raises(NonFiniteError, match="rewards"):
        loop.run(updates=20)
    np.testing.assert_array_equal(loop.model.network.parameters, before)
    assert loop.stats.refused_updates == 10


def test_a_game_that_fails_in_this_process_is_opened_again(caplog: pytest.LogCaptureFixture) -> None:
    loop = TrainingLoopManager("parallel.small:Tiring", settings(), seed=1)
    assert loop.run(updates=4).restarts == 3
    assert loop.stats.updates == 4
    assert re.search(
        r"Worker 0 failed: Tiring.step raised RuntimeError: tired \(.*small.py:\d+\); another one", caplog.text
    )
    assert "Traceback" in caplog.text


def test_a_game_that_fails_at_once_ends_the_run_with_what_it_raised() -> None:
    loop = TrainingLoopManager("parallel.small:Poisoned", settings(max_restarts=2), seed=1)
    with pytest.raises(
        WorkersFailed, match=r"Worker 0 failed: Poisoned.step gave a reward of nan.*Failures in a row: 3"
    ):
        loop.run(updates=4)


@pytest.mark.parametrize("enabled", [False, True])
def test_a_request_to_stop_ends_the_run(enabled: bool) -> None:
    request = StopRequest()
    loop = TrainingLoopManager(BANDIT, settings(enabled=enabled), seed=1)
    runner = threading.Thread(target=loop.run, args=(request,))
    runner.start()
    while loop.stats.updates < 2:
        time.sleep(0.01)
    request.stop()
    runner.join(5)
    assert not runner.is_alive()


@pytest.mark.slow
@pytest.mark.parametrize("enabled", [False, True])
def test_a_run_that_was_stopped_in_the_middle_of_a_rollout_goes_on_with_its_matches(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, enabled: bool
) -> None:
    recorder, again = Recorder(), Recorder()
    request = StopRequest()
    chosen = settings(enabled=enabled, max_staleness=0, batch_size=4096, checkpoint_updates=1000)
    loop = TrainingLoopManager(COUNTING, chosen, store=store_at(tmp_path), seed=1, on_update=recorder)
    runner = threading.Thread(target=loop.run, args=(request,))
    runner.start()
    while loop.stats.updates < 2:
        time.sleep(0.001)
    time.sleep(0.02)
    request.stop()
    runner.join(20)
    assert not runner.is_alive()
    with caplog.at_level(logging.INFO):
        TrainingLoopManager(COUNTING, chosen, store=store_at(tmp_path), seed=1, on_update=again).run(updates=1)
    assert "ew matches" not in caplog.text
    last, first = recorder.rollouts[-1], again.rollouts[0]
    assert first["generation"] == 0
    assert 1 <= first["number"] - last["number"] <= 2  # a worker may have handed one over that nobody learned from
    assert (first.states[0, :, 1] >= last.states[last["steps"] - 1, :, 1]).all()  # no match has lost a game


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_ends_workers_and_publishes(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "understudy",
        "selfplay",
        "tictactoe",
        "--run-dir",
        str(tmp_path),
        "--workers",
        "2",
    ]
    process = subprocess.Popen(
        [*command, "--parallel.checkpoint-updates", "1000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    status = RunDir.at(tmp_path).status
    while read_status(status).get("selfplay", {}).get("updates", 0) < 3:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the workers too
    out, err = process.communicate(timeout=20)
    assert process.returncode == 0
    assert err == ""
    assert "in 2 worker processes" in out
    model = read_model(RunDir.at(tmp_path).model)
    assert (model.publisher, model.version) == ("selfplay", 2)
    assert model.counters["updates"] >= 3


def lines_lost(model: LiveModel, side: int) -> int:
    """Lines in which the likeliest move, played by one side, loses to some play of the other."""

    def won(stones: NDArray[np.bool_]) -> bool:
        return bool(np.any(stones[LINES].all(axis=1)))

    lost = 0
    positions = [np.zeros((2, 9), np.bool_)]  # own stones, the other's
    for ply in range(9):
        following = []
        if ply % 2 == side:
            states = np.array([p.reshape(-1) for p in positions], np.float32)
            logits, _ = model.network.forward(model.trainer.normalizer.apply(states))
            choices = [
                [int(np.where(p.any(axis=0), -np.inf, row).argmax())] for p, row in zip(positions, logits, strict=True)
            ]
        else:
            choices = [np.flatnonzero(~p.any(axis=0)).tolist() for p in positions]
        mover = 0 if ply % 2 == side else 1
        for position, moves in zip(positions, choices, strict=True):
            for move in moves:
                after = position.copy()
                after[mover, move] = True
                if not won(after[mover]):
                    following.append(after)
                else:
                    lost += mover
        positions = following
    return lost


@pytest.mark.slow
def test_tic_tac_toe_is_learned_to_never_losing_as_second_player() -> None:
    chosen = Settings(
        network=NetworkSettings(hidden=(64, 64)),
        training=TrainingSettings(
            learning_rate=3e-3,
            entropy_coefficient=0.03,
            exploration=0.3,
            exploration_final=0.3,
            minibatch=512,
            gamma=1.0,
            gae_lambda=0.9,
            target_kl=0.05,
        ),
        parallel=ParallelSettings(num_workers=1, games_per_worker=128, batch_size=4096),
    )
    loop = TrainingLoopManager("tictactoe", chosen, seed=0)
    assert lines_lost(loop.model, side=1) > 20
    while lines_lost(loop.model, side=1) and loop.stats.updates < 300:
        loop.run(updates=loop.stats.updates + 10)
    assert lines_lost(loop.model, side=1) == 0


@pytest.mark.slow
@pytest.mark.parametrize(("workers", "where"), [([], "this process"), (["--workers", "2"], "2 worker processes")])
def test_the_command_trains_cartpole_and_publishes_for_a_bot_to_load(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], workers: list[str], where: str
) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    flags = ["--decisions", "80000", "--training.gamma", "0.98", "--training.epochs", "10"]
    try:
        code = main(["selfplay", "--env", "CartPole-v1", "--run-dir", str(tmp_path), *workers, *flags])
    finally:
        signal.signal(signal.SIGINT, before[0])
        signal.signal(signal.SIGTERM, before[1])
    assert code == 0
    status = read_status(RunDir.at(tmp_path).status)
    assert status["state"] == "stopped"
    assert status["selfplay"]["mean_return"] > 60  # a beginner's is about 20
    model = read_model(RunDir.at(tmp_path).model)
    assert (model.publisher, model.version) == ("selfplay", status["model_version"])
    assert f"16 matches at once in {where}" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["--workers", "1", "--parallel.max-staleness", "0"]])
def test_the_command_plays_and_resumes_environments_of_a_package_in_the_current_folder(
    tmp_path: Path, workers: list[str]
) -> None:
    cartpole = "gymnasium.envs.classic_control:CartPoleEnv"
    text = f"import gymnasium\ngymnasium.register('Mine-v0', entry_point='{cartpole}')\n"
    (tmp_path / "my_environments.py").write_text(text)
    command = [sys.executable, "-P", "-m", "understudy", "selfplay", "--env", "Mine-v0", "--import", "my_environments"]
    sizes = ["--updates", "2", "--parallel.num-workers", "1", "--parallel.batch-size", "64"]
    for updates in (2, 4):
        done = subprocess.run(
            [*command, "--run-dir", "run", *sizes, *workers], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "ew matches" not in done.stderr
        assert "start again" not in done.stderr
        assert read_model(RunDir.at(tmp_path / "run").model).counters["updates"] == updates


def test_an_import_needs_an_environment(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selfplay", "drift", "--import", "json", "--run-dir", str(tmp_path)]) == 1
    assert "--import goes with --env" in capsys.readouterr().err


def test_the_command_wants_one_game(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["selfplay", "--run-dir", str(tmp_path)]) == 1
    assert main(["selfplay", "drift", "--env", "CartPole-v1", "--run-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("Name a game to play") == 2


def test_more_workers_than_a_machine_can_hold_are_refused_before_any_is_started() -> None:
    with pytest.raises(SettingsError, match=r"num_workers is 5,000, which is too many for the \d+ cores"):
        TrainingLoopManager(BANDIT, Settings(parallel=ParallelSettings(enabled=True, num_workers=5000)))
