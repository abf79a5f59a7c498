from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from understudy.jobs.queue import JobOutcome
from understudy.jobs.workers import Workers
from understudy.ledger.jobs import Job

MEMORY = 300_000_000


@pytest.fixture
def workers() -> Iterator[Workers]:
    made = Workers()
    yield made
    made.close()


def job(name: str, seconds: float = 30.0, memory: int = MEMORY, **argument: Any) -> Job:
    return Job("analyse", name, name, f"jobs.chores:{name}", argument, seconds, memory)


def do(workers: Workers, *jobs: Job) -> list[JobOutcome]:
    """Do the jobs with one worker, which is replaced when it dies."""
    outcomes: list[JobOutcome] = []
    for each in jobs:
        workers.resize(1)
        while not workers.start(each):
            workers.finished(1.0)
            workers.resize(1)
        wanted = len(outcomes) + 1
        while len(outcomes) < wanted:
            outcomes += workers.finished(1.0)
    return outcomes


def test_results_refusals_and_failures_come_back_and_the_worker_goes_on(workers: Workers) -> None:
    first, refused, stumbled, last = do(
        workers, job("echo", x=1, y=[2.5]), job("refuse"), job("stumble"), job("echo", x="ü")
    )
    assert first.result is not None
    assert last.result is not None
    assert first.result["heard"] == {"x": 1, "y": [2.5]}
    assert refused.refusal == "Not with this file."
    assert stumbled.failure == "ZeroDivisionError: one over nothing"
    assert last.result["heard"] == {"x": "ü"}
    assert first.result["pid"] == last.result["pid"] != os.getpid()
    assert workers.deaths == 0


def test_what_ends_a_worker_is_named_and_the_next_one_works(workers: Workers) -> None:
    died, greedy, deep, odd, well = do(
        workers, job("die"), job("eat", amount=2 * MEMORY), job("recurse"), job("say_something_else"), job("echo")
    )
    assert died.failure == "Its worker ended with code 3."
    if sys.platform == "linux":
        assert greedy.failure == "It needed more than 300,000,000 bytes of memory."
    assert (deep.failure or "").startswith("RecursionError")
    assert (odd.failure or "").startswith("TypeError")
    assert well.result is not None


def test_less_memory_than_the_limit_is_fine(workers: Workers) -> None:
    (outcome,) = do(workers, job("eat", amount=MEMORY // 2))
    assert outcome.result == {"eaten": MEMORY // 2}


def test_every_job_has_limits_of_its_own(workers: Workers) -> None:
    greedy, well = do(workers, job("eat", memory=MEMORY // 4, amount=MEMORY // 2), job("eat", amount=MEMORY // 2))
    if sys.platform == "linux":
        assert greedy.failure == "It needed more than 75,000,000 bytes of memory."
    assert well.result == {"eaten": MEMORY // 2}


@pytest.mark.skipif(sys.platform != "linux", reason="others have no such policy")
@pytest.mark.parametrize(("gentle", "policy"), [(True, "SCHED_IDLE"), (False, "SCHED_OTHER")])
def test_workers_beside_a_game_run_only_when_nobody_else_wants_to(gentle: bool, policy: str) -> None:
    workers = Workers(gentle=gentle)
    try:
        (outcome,) = do(workers, job("how_scheduled"))
    finally:
        workers.close()
    assert outcome.result == {"policy": getattr(os, policy)}


def test_a_job_that_hangs_is_ended(workers: Workers) -> None:
    (outcome,) = do(workers, job("hang", seconds=0.3))
    assert outcome.failure == "It took longer than 0.3 s and was ended."
    assert workers.pids == []


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_a_worker_killed_from_outside_is_noticed_at_once(workers: Workers) -> None:
    workers.resize(1)
    while not workers.start(job("hang")):
        workers.finished(1.0)
    os.kill(workers.pids[0], signal.SIGKILL)
    (outcome,) = workers.finished(10.0)
    assert outcome.failure == "Its worker was killed by signal 9."


def test_the_number_of_workers_follows_and_busy_ones_finish_first(workers: Workers) -> None:
    workers.resize(2)
    while not workers.idle:
        workers.finished(1.0)
    assert workers.start(job("hang"))
    workers.resize(0)
    assert (workers.running, len(workers.pids)) == (1, 1)
    assert "hang" in workers.states[0]


PARENT = """
import sys, time
from understudy.ledger.jobs import Job
from understudy.jobs.workers import Workers
if __name__ == "__main__":
    workers = Workers()
    workers.resize(2)
    while not workers.start(Job("analyse", "x", "x", "time:sleep", {})) and workers.idle < 2:
        workers.finished(1.0)
    print(*workers.pids, flush=True)
    time.sleep(60)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is POSIX's")
def test_workers_do_not_outlive_their_parent(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(PARENT.replace('"time:sleep", {}', '"jobs.chores:hang", {}'))
    here = str(Path(__file__).parent.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])}
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True, env=environment)
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert len(pids) == 2
    deadline = time.monotonic() + 10
    while any(_alive(pid) for pid in pids):
        assert time.monotonic() < deadline, "workers are still there"
        time.sleep(0.05)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return not Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0].startswith("Z")
    except OSError:
        return sys.platform != "linux"
