"""When a batch begins: training shares the machine with jobs, with others, and with the game."""

from __future__ import annotations

import time

import pytest

from game_files import make_model, put_game
from jobs.chores import Chores
from runs import drained, outcomes, until
from understudy.files.step_time import write_step_time
from understudy.jobs import dispatch
from understudy.jobs.dispatch import Dispatcher
from understudy.learner.loop import LearnerLoop
from understudy.learner.schedule import Schedule
from understudy.machine.resources import Hold, Reading, Sensor
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, Settings


def schedule_of(
    run: RunDir, chores: Chores | None = None, *, workers: int = 1, governed: bool = False
) -> tuple[Schedule, Dispatcher]:
    settings = Settings(learner=LearnerSettings(max_workers=workers))
    jobs = Dispatcher(run, settings, [] if chores is None else [chores], governed=governed)
    return Schedule(settings, jobs, lambda: 7), jobs


def try_batch(schedule: Schedule, jobs: Dispatcher, seconds: float = 0.0, *, hurry: bool = False) -> bool:
    """One pass of the learner: jobs have their turn, then a batch begins if it may."""
    jobs.turn(0.05, reserved=schedule.reserved, hurry=hurry)
    if not schedule.may_begin(hurry=hurry):
        return False
    with schedule.batch():
        time.sleep(seconds)
    return True


def test_batches_and_jobs_take_turns_with_one_worker(run: RunDir) -> None:
    chores = Chores(*["echo"] * 3)
    schedule, jobs = schedule_of(run, chores)
    order: list[str] = []
    try:
        while len(chores.ended) < 3:
            schedule.ready = True
            before = len(chores.ended)
            trained = try_batch(schedule, jobs)
            assert not trained or jobs.workers.running == 0  # never more than one at a time
            order += ["job"] * (len(chores.ended) - before) + ["batch"] * trained
    finally:
        jobs.close()
    assert order[:12] + order[12:15] == (["batch"] * 4 + ["job"]) * 3


def test_a_worker_that_cannot_start_does_not_stop_training(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.learner.schedule._TURN_SECONDS", 0.1)
    schedule, jobs = schedule_of(run, Chores("echo"))
    monkeypatch.setattr(jobs.workers, "resize", lambda count: None)
    for _ in range(6):
        schedule.ready = True
        until(lambda: try_batch(schedule, jobs), 10.0)
        assert jobs.workers.running == 0


def test_a_batch_gets_its_place_while_jobs_keep_all_workers_busy(run: RunDir) -> None:
    schedule, jobs = schedule_of(run, Chores(*["nap"] * 200), workers=2)
    try:
        until(lambda: jobs.turn(0.1, reserved=schedule.reserved) and jobs.workers.running == 2)
        schedule.ready = True
        assert not schedule.may_begin()
        until(lambda: try_batch(schedule, jobs))
        assert jobs.queue.waiting("analyse") > 0
        until(lambda: jobs.turn(0.1, reserved=schedule.reserved) and jobs.workers.running == 2)
    finally:
        jobs.close()


def test_workers_go_on_during_a_long_batch_and_one_place_is_the_batchs(run: RunDir) -> None:
    chores = Chores(*["echo"] * 3)
    schedule, jobs = schedule_of(run, chores, workers=2)
    schedule.ready = True
    most = 0
    try:
        assert schedule.may_begin()
        with schedule.batch():
            while len(chores.ended) < 3:
                jobs.turn(0.1, reserved=schedule.reserved)
                most = max(most, len(jobs.workers.pids))
    finally:
        jobs.close()
    assert most == 1


def test_a_batch_waits_while_a_step_of_the_game_takes_too_long(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sensor, "read", lambda self, pids: Reading())
    monkeypatch.setattr(dispatch, "_FIRST_SAMPLE_SECONDS", 0.0)
    schedule, jobs = schedule_of(run, governed=True)
    write_step_time(run.step_time, 1.0)
    schedule.ready = True
    assert not try_batch(schedule, jobs)
    assert jobs.hold is Hold.GAME
    assert try_batch(schedule, jobs, hurry=True)  # somebody waits for it


def test_a_batch_waits_for_a_busy_machine_but_not_forever(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sensor, "read", lambda self, pids: Reading(cpu=99.0))
    monkeypatch.setattr(dispatch, "_FIRST_SAMPLE_SECONDS", 0.0)
    schedule, jobs = schedule_of(run, governed=True)
    schedule.ready = True
    assert try_batch(schedule, jobs, 0.2)  # nobody knows yet how long a batch takes
    schedule.ready = True
    assert not try_batch(schedule, jobs)
    assert jobs.hold is Hold.CPU
    began = time.monotonic()
    until(lambda: try_batch(schedule, jobs))
    assert time.monotonic() - began >= 0.1


def test_one_game_is_enough_once_no_more_come(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    schedule, _ = schedule_of(run)
    assert schedule.needed(0, 3) == 7
    later = time.monotonic() + 60
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert schedule.needed(0, 3) == 1


def test_a_batch_is_trained_outside_of_the_dispatch_of_jobs(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    depths: list[int] = []
    depth, turn = 0, Dispatcher.turn

    def counted(self: Dispatcher, timeout: float, *, reserved: int = 0, hurry: bool = False) -> bool:
        nonlocal depth
        depth += 1
        depths.append(depth)
        try:
            return turn(self, timeout, reserved=reserved, hurry=hurry)
        finally:
            depth -= 1

    monkeypatch.setattr(Dispatcher, "turn", counted)
    ModelStore(run.model, run.ledger).create(make_model())
    put_game(run.buffer)
    LearnerLoop(run, Settings(learner=LearnerSettings(verbose=False)))._pass(drained(), 1)
    assert outcomes(run)["learned"] == 1
    assert depths == [1, 1]  # before the batch, and between its steps
