from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from game_files import make_model, put_game
from games.zerg.replays.recordings import needs_real_replays, real_replays
from jobs.chores import Chores
from runs import until
from understudy.cli import main
from understudy.games.zerg.replays.ledger import ReplayTable
from understudy.games.zerg.replays.settings import ReplaySettings
from understudy.jobs import dispatch
from understudy.jobs.dispatch import Dispatcher
from understudy.learner.process import BackgroundParallelLearner
from understudy.ledger.connection import Ledger
from understudy.ledger.jobs import Job, JobLedger
from understudy.machine.resources import Hold, Reading, Sensor
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.sc2.build_orders import read_build_orders
from understudy.settings import LearnerSettings, ResourceSettings, Settings


def settings(workers: int = 1) -> Settings:
    return Settings(learner=LearnerSettings(max_workers=workers))


def work_off(dispatcher: Dispatcher) -> None:
    dispatcher.turn(0.0)
    until(lambda: dispatcher.turn(0.5) or not dispatcher.busy)
    while dispatcher.busy:
        dispatcher.turn(0.5)


@pytest.mark.slow
def test_the_queue_goes_on_past_jobs_that_hang_die_or_are_refused(run: RunDir) -> None:
    chores = Chores("die", "hang", "refuse", "echo", seconds=0.5)
    dispatcher = Dispatcher(run, settings(), [chores], governed=False)
    try:
        work_off(dispatcher)
    finally:
        dispatcher.close()
    tries = [outcome.job.name for outcome in chores.ended]
    assert {name: tries.count(name) for name in tries} == {"die": 3, "hang": 3, "refuse": 1, "echo": 1}
    assert dispatcher.facts()["jobs"]["analyse retried"] == 4
    assert dispatcher.workers.pids == []
    assert chores.closed


def test_no_work_starts_while_the_machine_is_busy(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    load = {"cpu": 95.0}
    monkeypatch.setattr(Sensor, "read", lambda self, pids: Reading(cpu=load["cpu"]))
    monkeypatch.setattr(dispatch, "_SAMPLE_SECONDS", 0.0)
    monkeypatch.setattr(dispatch, "_FIRST_SAMPLE_SECONDS", 0.0)
    monkeypatch.setattr("understudy.machine.resources._CALM_SECONDS", 0.05)
    chores = Chores("echo")
    dispatcher = Dispatcher(run, settings(), [chores])
    try:
        for _ in range(5):
            dispatcher.turn(0.01)
        assert (dispatcher.workers.pids, dispatcher.hold) == ([], Hold.CPU)
        assert dispatcher.facts()["resources"]["cpu"] == 95.0
        load["cpu"] = 5.0
        until(lambda: dispatcher.turn(0.1) and bool(chores.ended))
        assert dispatcher.hold is None
    finally:
        dispatcher.close()


def test_every_kind_settles_its_own_jobs_and_urgent_ones_go_first(run: RunDir) -> None:
    replays, games = Chores(*["echo"] * 3), Chores(*["echo"] * 2, kind="evaluate")
    dispatcher = Dispatcher(run, settings(workers=1), [replays, games], governed=False)
    order: list[str] = []
    try:
        dispatcher.turn(0.0)
        while len(replays.ended) < 3:
            before = len(replays.ended), len(games.ended)
            dispatcher.turn(0.1)
            order += ["evaluate"] * (len(games.ended) - before[1]) + ["analyse"] * (len(replays.ended) - before[0])
    finally:
        dispatcher.close()
    assert order == ["evaluate", "evaluate", "analyse", "analyse", "analyse"]
    assert (replays.closed, games.closed) == (True, True)


def test_what_waits_is_there_after_a_restart_and_what_ended_is_not(run: RunDir) -> None:
    with JobLedger(run.ledger) as ledger:
        first = Dispatcher(run, settings(), [Chores("echo", "hang", "echo")], store=ledger, governed=False)
        until(
            lambda: first.turn(0.1) and first.workers.running_of("analyse") == 1 and first.queue.waiting("analyse") == 1
        )
        first.workers.close()  # as after a kill: the running job is not settled
    chores = Chores()
    with JobLedger(run.ledger) as ledger:
        waiting = ledger.waiting_jobs()
        assert [job.name for job in waiting] == ["hang", "echo"]
        for job in waiting[:1]:
            ledger.forget_job(job)
        second = Dispatcher(run, settings(), [chores], store=ledger, governed=False)
        try:
            work_off(second)
        finally:
            second.close()
        assert ledger.waiting_jobs() == []
    assert [outcome.job for outcome in chores.ended] == waiting[1:]


def test_jobs_of_a_kind_that_is_switched_off_wait_and_hold_nobody_up(run: RunDir) -> None:
    with JobLedger(run.ledger) as ledger:
        ledger.save_jobs([Job("analyse", "1", "echo", "jobs.chores:echo")])
        dispatcher = Dispatcher(run, settings(), store=ledger)
        dispatcher.turn(0.0)
        assert not dispatcher.busy
        assert dispatcher.waiting == 0
        dispatcher.close()
        assert len(ledger.waiting_jobs()) == 1


def test_work_under_way_is_recorded_when_it_ends(run: RunDir) -> None:
    chores = Chores("echo")
    dispatcher = Dispatcher(run, settings(), [chores], governed=False)
    until(lambda: dispatcher.turn(0.1))
    dispatcher.close()
    assert len(chores.ended) == 1


@needs_real_replays
def test_a_learner_analyses_replays_beside_training_new_ones_too(run: RunDir, tmp_path: Path) -> None:
    folder = tmp_path / "replays"
    folder.mkdir()
    small = [path for path in real_replays() if path.stat().st_size < 60_000][-4:]
    for path in small[:3]:
        shutil.copy2(path, folder)
    ModelStore(run.model, run.ledger).create(make_model())
    learner = BackgroundParallelLearner(
        run_dir=run.root,
        enable_replay_analysis=True,
        verbose=False,
        settings=Settings(
            games={"replays": ReplaySettings(directory=str(folder), scan_seconds=0.1)},
            resources=ResourceSettings(cpu_threshold=100.0, memory_threshold=100.0),
        ),
    )
    with learner:
        put_game(run.buffer)
        until(lambda: learner.get_stats()["replays_analyzed"] == 3 and learner.get_stats()["models_trained"] == 1)
        shutil.copy2(small[3], folder)
        junk = folder / "junk.SC2Replay"
        junk.write_bytes(b"junk")
        os.utime(junk, (0, 0))
        until(lambda: learner.get_stats()["replays_analyzed"] == 4 and learner.get_stats()["replays_rejected"] == 1)
        until(lambda: learner.get_stats()["active_workers"] == 0)
    assert learner.get_stats()["max_workers"] == 2
    assert "Build Orders Updated" in run.log.read_text(encoding="utf-8")
    assert read_build_orders(run.build_orders).content["sources"]["replays"] > 0


@needs_real_replays
def test_a_drained_learner_has_analysed_every_replay(run: RunDir, tmp_path: Path) -> None:
    folder = tmp_path / "replays"
    folder.mkdir()
    small = [path for path in real_replays() if path.stat().st_size < 60_000][-2:]
    for path in small:
        shutil.copy2(path, folder)
    arguments = ["learn", str(run.root), "--once", "--replays", "--replays.directory", str(folder)]
    assert main([*arguments, "--learner.verbose", "no"]) == 0
    with Ledger(run.ledger) as ledger:
        assert ReplayTable(ledger).by_outcome()["analysed"] == 2
