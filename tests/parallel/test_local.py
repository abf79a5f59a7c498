"""Worker processes as the learner sees them: started, watched, killed, replaced and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parallel.small import Bandit, Counting, make_model, player_spec
from runs import until
from understudy.errors import WorkersFailed
from understudy.models.live import LiveModel
from understudy.parallel.local import ParallelManager
from understudy.parallel.rollout import Rollout, RolloutShape, follow_on
from understudy.settings import ParallelSettings

pytestmark = pytest.mark.slow

posix_only = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")


def manager_of(name: str, model: LiveModel, **settings: Any) -> ParallelManager:
    chosen = ParallelSettings(**({"num_workers": 2, "games_per_worker": 5, "batch_size": 100} | settings))
    game = Counting(5) if name == "Counting" else Bandit(5)
    return ParallelManager(player_spec(name, model, 5), RolloutShape.of(game, chosen), chosen)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z" if Path("/proc").exists() else True


def check_chain(seen: dict[int, Rollout], rollouts: list[Rollout]) -> int:
    """Every rollout follows its worker's last one, or is the first of a new process; returns how many were first."""
    begun = 0
    for rollout in rollouts:
        last = seen.get(rollout["worker"])
        first = rollout["number"] == 0
        assert (
            first
            if last is None
            else follow_on(last, rollout) or (first and rollout["incarnation"] > last["incarnation"])
        )
        begun += first
        seen[rollout["worker"]] = rollout.copy()
    return begun


@posix_only
def test_killed_workers_are_replaced_and_nothing_is_lost_or_doubled() -> None:
    model = make_model(Counting)
    rng = np.random.default_rng(0)
    seen: dict[int, Rollout] = {}
    with manager_of("Counting", model, max_staleness=1) as manager:
        manager.start_workers(model)
        begun = check_chain(seen, manager.collect_experiences())
        assert begun == 2
        for _ in range(4):
            victim = manager.pids[int(rng.integers(2))]
            os.kill(victim, signal.SIGKILL)
            for _ in range(5):
                manager.release_experiences()
                begun += check_chain(seen, manager.collect_experiences())
            until(partial(_replaced, victim, manager, seen))
        until(lambda: _collect(manager, seen) and manager.is_healthy())
        stats = manager.get_parallel_stats()
        assert stats["restarts"] == 4
        pids = manager.pids
    assert not any(map(alive, pids))


def _replaced(victim: int, manager: ParallelManager, seen: dict[int, Rollout]) -> bool:
    return _collect(manager, seen) and victim not in manager.pids


def _collect(manager: ParallelManager, seen: dict[int, Rollout]) -> bool:
    manager.release_experiences()
    check_chain(seen, manager.collect_experiences())
    return True


def test_workers_pause_resume_begin_anew_and_report() -> None:
    model = make_model(Counting)
    with manager_of("Counting", model, num_workers=1) as manager:
        manager.start_workers(model, generation=4)
        (first,) = manager.collect_experiences()
        assert first["generation"] == 4
        manager.pause_workers()
        until(lambda: manager.get_parallel_stats()["workers"][0]["state"] == "paused")
        assert manager.is_healthy()  # standing still is a sign of life
        decisions = manager.get_parallel_stats()["workers"][0]["decisions"]
        manager.release_experiences()
        time.sleep(0.05)
        assert manager.get_parallel_stats()["workers"][0]["decisions"] == decisions
        manager.reset_workers(9)
        manager.resume_workers()
        rollout = manager.collect_experiences()[0]
        while rollout["generation"] != 9:
            manager.release_experiences()
            rollout = manager.collect_experiences()[0]
        assert rollout["number"] == 0
        assert (rollout.states[0, :, 1:3] == 0).all()
        manager.release_experiences()
        (report,) = manager.report_workers(timeout=20)
        assert report["answered"]
        assert report["games"] > 0


def test_a_worker_is_never_further_ahead_than_allowed() -> None:
    model = make_model(Counting)
    for staleness in (0, 2):
        with manager_of("Counting", model, num_workers=1, max_staleness=staleness, max_queue_size=5) as manager:
            manager.start_workers(model)
            manager.collect_experiences()
            until(lambda manager=manager: manager.get_parallel_stats()["workers"][0]["state"] == "waiting")  # type: ignore[misc]
            assert manager.get_parallel_stats()["workers"][0]["waiting"] == staleness + 1


def test_a_silent_worker_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_TEST_FLAG", str(tmp_path / "hung"))
    model = make_model(Bandit)
    with manager_of("Hanging", model, num_workers=1, timeout_seconds=0.5) as manager:
        manager.start_workers(model)
        until((tmp_path / "hung").exists)
        until(lambda: _next(manager)["incarnation"] == 1)
        assert manager.get_parallel_stats()["restarts"] == 1


def _next(manager: ParallelManager) -> Rollout:
    manager.release_experiences()
    return manager.collect_experiences()[0]


def test_workers_that_keep_dying_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNDERSTUDY_TEST_PID", str(os.getpid()))
    model = make_model(Bandit)
    with manager_of("Dying", model, num_workers=1, max_restarts=1) as manager:
        manager.start_workers(model)
        with pytest.raises(WorkersFailed, match=r"Worker 0 ended with code 7\. Failures in a row: 2\."):
            manager.collect_experiences()


def test_a_worker_that_does_not_end_when_asked_is_ended_within_five_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNDERSTUDY_TEST_FLAG", str(tmp_path / "hung"))
    model = make_model(Bandit)
    manager = manager_of("Hanging", model, num_workers=1, batch_size=1000)
    manager.start_workers(model)
    until((tmp_path / "hung").exists)
    pids = manager.pids
    began = time.monotonic()
    manager.stop_workers()
    assert time.monotonic() - began < 5
    assert not any(map(alive, pids))


@posix_only
def test_workers_and_memory_are_gone_after_the_learner_was_killed() -> None:
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from parallel.test_local import *\n"
        "if __name__ == '__main__':\n"
        "    model = make_model(Counting); manager = manager_of('Counting', model)\n"
        "    manager.start_workers(model); manager.collect_experiences()\n"
        "    print(manager._open.name, *manager.pids, flush=True); time.sleep(60)\n"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent.parent)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    name, *pids = process.stdout.readline().split()
    process.kill()
    process.wait()
    until(lambda: not any(alive(int(pid)) for pid in pids))
    process.communicate()  # the tracker holds standard error until it has cleaned up
    assert len(pids) == 2
    assert not Path("/dev/shm", name).exists()
