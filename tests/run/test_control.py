from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from game_files import put_game
from parallel.small import settings as small
from runs import until
from understudy.errors import RunDirError
from understudy.learner.loop import LearnerLoop
from understudy.ledger.connection import Ledger
from understudy.machine.load_log import read_loads
from understudy.parallel.loop import TrainingLoopManager
from understudy.run import control, heartbeat
from understudy.run.lock import StopRequest
from understudy.run.state import Activity, RunState
from understudy.run.status import read_status
from understudy.rundir import RunDir
from understudy.settings import EvaluationSettings, ResourceSettings, Settings

pytestmark = pytest.mark.usefixtures("first_model")


@contextmanager
def learner(run: RunDir, settings: Settings | None = None) -> Iterator[threading.Thread]:
    request = StopRequest()
    thread = threading.Thread(target=lambda: LearnerLoop(run, settings or Settings()).run(request))
    thread.start()
    try:
        until(lambda: read_status(run.status).get("state") is not None)
        yield thread
    finally:
        request.stop()
        thread.join(20)


def activity_of(run: RunDir) -> Activity | None:
    state = RunState.parse(str(read_status(run.status)["state"]))
    return None if state is None else state.activity


def titles(run: RunDir) -> list[str]:
    return [json.loads(line)["event"] for line in run.events.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
def test_a_paused_learner_takes_no_game_until_it_is_resumed(run: RunDir) -> None:
    with learner(run):
        control.pause(run, "a test")
        until(lambda: read_status(run.status)["state"] == "paused by request of a test")
        game = put_game(run.buffer)
        time.sleep(0.3)
        assert game.exists()
        control.resume(run, "a test")
        until(lambda: not game.exists())
    story = ["Request: pause", "Paused", "Request: resume", "Resumed"]
    assert [title for title in titles(run) if title in story] == story


@pytest.mark.slow
def test_a_pause_outlives_the_learner(run: RunDir) -> None:
    control.pause(run, "a test")
    game = put_game(run.buffer)
    with learner(run):
        until(lambda: activity_of(run) is Activity.PAUSED)
        assert game.exists()


def test_a_learner_that_is_asked_to_stop_ends_and_the_next_one_does_not(run: RunDir) -> None:
    with learner(run) as thread:
        control.stop(run, "a test")
        thread.join(20)
        assert not thread.is_alive()
        assert read_status(run.status)["state"] == "stopped"
    with learner(run) as thread:
        put_game(run.buffer)
        until(lambda: not list(run.buffer.glob("*.npz")))
        assert thread.is_alive()
    assert titles(run).count("Stopping by Request") == 1


@pytest.mark.slow
def test_a_stop_can_ask_for_all_that_waits_to_be_learned_first(run: RunDir) -> None:
    control.pause(run, "a test")
    with learner(run) as thread:
        until(lambda: activity_of(run) is Activity.PAUSED)
        put_game(run.buffer)
        control.stop(run, "a test", drain=True)
        thread.join(20)
    assert not list(run.buffer.glob("*.npz"))


def test_a_roll_back_is_published_and_logged(run: RunDir) -> None:
    assert control.roll_back(run, 1, "a test").version == 2
    with Ledger(run.ledger, read_only=True) as ledger:
        assert ledger.versions()[-1].stats == {"rolled_back_to": 1}
    assert titles(run) == ["Request: roll back"]
    with pytest.raises(RunDirError, match="no run"):
        control.roll_back(RunDir.at(run.root / "elsewhere"), 1, "a test")


def test_asking_where_there_is_no_run_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunDirError, match="no run directory"):
        control.pause(RunDir.at(tmp_path / "nothing"), "a test")


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"paused": true}', b'{"paused": 1, "at": "x"}', b"\xff"])
def test_a_damaged_control_file_asks_for_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "control.json").write_bytes(content)
    assert control.read_control(tmp_path / "control.json") == control.Control()
    assert not control.Orders(tmp_path / "control.json").asked_to_stop()


@pytest.mark.slow
def test_what_workers_have_done_is_taken_in_during_a_pause_and_nothing_is_begun(
    run: RunDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flag = tmp_path / "flag"
    monkeypatch.setenv("UNDERSTUDY_TEST_FLAG", str(flag))
    evaluator = EvaluationSettings(function="jobs.chores:win_when_told", games=4, games_per_job=2)
    settings = Settings(evaluation=evaluator, resources=ResourceSettings(cpu_threshold=100.0, memory_threshold=100.0))
    monkeypatch.setattr(heartbeat, "_SECONDS", 0.02)
    with learner(run, settings):
        until(lambda: read_status(run.status)["jobs"].get("evaluate running") == 1)
        control.pause(run, "a test")
        until(lambda: read_status(run.status)["state"] == "paused by request of a test")
        flag.touch()
        until(lambda: read_status(run.status)["jobs"]["evaluate done"] == 1)
        time.sleep(0.3)
        status = read_status(run.status)
        assert status["state"] == "paused by request of a test"
        assert status["evaluation"]["games"] == 2
        assert status["jobs"]["evaluate running"] == 0
        control.resume(run, "a test")
        until(lambda: read_status(run.status)["evaluation"]["games"] == 4)


@pytest.mark.slow
def test_requests_are_passed_on_to_whoever_does_not_look_at_the_file(run: RunDir) -> None:
    control.pause(run, "a test")
    request = StopRequest()
    control.pass_on(run, request)
    assert request.paused_by == "a test"  # at once: a pause lasts from one start to the next
    assert request.attention.is_set()
    control.resume(run, "a test")
    until(lambda: not request.attention.is_set())
    assert not request.event.is_set()
    control.stop(run, "a test")
    assert request.event.wait(20)
    assert request.attention.is_set()


@pytest.mark.slow
@pytest.mark.parametrize("enabled", [False, True])
def test_self_play_pauses_and_goes_on(run: RunDir, enabled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "_SECONDS", 0.02)
    run.model.unlink()
    loop = TrainingLoopManager("drift", small(enabled=enabled), status=run.status, loads=run.loads)
    request = StopRequest()
    control.pass_on(run, request)
    thread = threading.Thread(target=loop.run, args=(request,))
    thread.start()
    try:
        until(lambda: loop.stats.updates > 1)
        control.pause(run, "a test")
        until(lambda: read_status(run.status)["state"] == "paused by request of a test")
        if enabled:
            until(lambda: read_status(run.status)["workers"] == ["worker 0: paused"])
        updates = loop.stats.updates
        time.sleep(0.3)
        assert loop.stats.updates == updates
        beat = read_status(run.status)["heartbeat"]
        until(lambda: read_status(run.status)["heartbeat"] > beat)  # a pause does not look like a dead learner
        control.resume(run, "a test")
        until(lambda: loop.stats.updates > updates and read_status(run.status)["state"] == "running")
    finally:
        request.stop()
        thread.join(20)
    assert read_status(run.status)["state"] == "stopped"
    assert read_loads(run.loads)[0].waiting is None  # its games never wait on disk
