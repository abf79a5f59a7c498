"""Worker processes, which enforce the limits of every job. Whatever happens in a worker, the learner continues.

A worker gets a function's name and plain values as JSON over a pipe, and answers the same way: nothing from a worker is
unpickled. It ends with its parent. On Linux the operating system enforces its memory limit; elsewhere psutil, if
installed, checks it.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing import connection
from pathlib import Path
from typing import Any

from understudy.errors import UnderstudyError
from understudy.jobs.queue import JobOutcome
from understudy.ledger.jobs import Job, Kind
from understudy.machine.priority import stand_back, take_share
from understudy.machine.resources import memory_of
from understudy.machine.signals import deaf_children, end_with_parent

if sys.platform == "linux":
    import resource

_LOOK_SECONDS = 0.25  # between two checks of the memory of workers without a limit by the system
_END_SECONDS = 1.0
_ENDED_BY_LIMIT = 86  # exit code of a worker that ran out of memory


@dataclass(slots=True, eq=False)
class _Worker:
    process: multiprocessing.process.BaseProcess
    pipe: connection.Connection
    ready: bool = False
    job: Job | None = None
    since: float = field(default_factory=time.monotonic)


class Workers:
    """A changing number of worker processes; not thread-safe.

    The calling process must be importable again (spawn): a script needs its `if __name__ == "__main__"`.
    """

    def __init__(self, *, gentle: bool = True, share: float = 0.0) -> None:
        """With `gentle`, every other process takes precedence, except for a guaranteed `share` of a core."""
        self._gentle = gentle
        self._share = share
        self._workers: list[_Worker] = []
        self._context = multiprocessing.get_context("spawn")
        self.deaths = 0

    @property
    def running(self) -> int:
        """The number of workers with a job."""
        return sum(worker.job is not None for worker in self._workers)

    def running_of(self, kind: Kind) -> int:
        """The number of workers with a job of this kind."""
        return sum(worker.job is not None and worker.job.kind == kind for worker in self._workers)

    @property
    def idle(self) -> int:
        """The number of workers that wait for a job."""
        return sum(worker.ready and worker.job is None for worker in self._workers)

    @property
    def states(self) -> list[str]:
        """What each worker is doing, as text."""
        return [
            f"pid {w.process.pid}: " + (f"{w.job.kind} {w.job.name}" if w.job else "idle" if w.ready else "starting")
            for w in self._workers
        ]

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers."""
        return [worker.process.pid for worker in self._workers if worker.process.pid is not None]

    def resize(self, count: int) -> None:
        """Set the number of workers: start missing ones and end surplus ones. Busy workers finish their jobs first."""
        for worker in [w for w in self._workers if w.job is None][: max(len(self._workers) - count, 0)]:
            self._end(worker)
        while len(self._workers) < count:
            ours, theirs = self._context.Pipe()
            process = self._context.Process(
                target=_serve, args=(theirs, self._gentle, self._share), name="understudy worker", daemon=True
            )
            with deaf_children():
                process.start()
            theirs.close()
            self._workers.append(_Worker(process, ours))

    def start(self, job: Job) -> bool:
        """Give a job to an idle worker; False if none took it."""
        for worker in self._workers:
            if worker.ready and worker.job is None:
                task = {"function": job.function, "argument": dict(job.argument), "memory": job.memory}
                message = json.dumps(task).encode()
                try:
                    worker.pipe.send_bytes(message)
                except OSError:  # it has just died; `finished` will notice
                    worker.ready = False
                    continue
                worker.job, worker.since = job, time.monotonic()
                return True
        return False

    def finished(self, timeout: float) -> list[JobOutcome]:
        """Wait until something happens, at most `timeout` seconds, and return the jobs that have ended."""
        deadlines = [w.since + w.job.seconds for w in self._workers if w.job is not None]
        wait = max(min([time.monotonic() + timeout, *deadlines]) - time.monotonic(), 0.0)
        if self.running and sys.platform != "linux":
            wait = min(wait, _LOOK_SECONDS)
        readable = set(connection.wait([w.pipe for w in self._workers], wait)) if self._workers else set()
        if not self._workers:
            time.sleep(wait)
        outcomes = [self._hear(worker) for worker in list(self._workers) if worker.pipe in readable]
        outcomes += [self._judge(w, w.job) for w in list(self._workers) if w.job is not None]
        return [outcome for outcome in outcomes if outcome is not None]

    def close(self) -> None:
        """End every worker, busy ones too."""
        for worker in list(self._workers):
            self._end(worker)

    def _hear(self, worker: _Worker) -> JobOutcome | None:
        """Read a worker's message, or notice its death."""
        try:
            message = json.loads(worker.pipe.recv_bytes())
        except (EOFError, OSError, ValueError):
            return self._bury(worker)
        if not worker.ready:
            worker.ready = True
            return None
        job, worker.job = worker.job, None
        assert job is not None
        return JobOutcome(
            job,
            result=message.get("result"),
            refusal=message.get("refusal"),
            failure=message.get("failure"),
            seconds=time.monotonic() - worker.since,
        )

    def _judge(self, worker: _Worker, job: Job) -> JobOutcome | None:
        """End a worker whose job exceeds its limits."""
        if time.monotonic() - worker.since >= job.seconds:
            return self._kill(worker, f"It took longer than {job.seconds:g} s and was ended.")
        if sys.platform != "linux" and (memory_of(worker.process.pid) or 0) > job.memory:
            return self._kill(worker, f"It needed more than {job.memory:,} bytes of memory and was ended.")
        return None

    def _bury(self, worker: _Worker) -> JobOutcome | None:
        worker.process.join(_END_SECONDS)
        code = worker.process.exitcode
        if code == _ENDED_BY_LIMIT and worker.job is not None:
            return self._kill(worker, f"It needed more than {worker.job.memory:,} bytes of memory.")
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
        return self._kill(worker, f"Its worker {how}.")

    def _kill(self, worker: _Worker, reason: str) -> JobOutcome | None:
        self.deaths += 1
        seconds = time.monotonic() - worker.since
        self._end(worker)
        return None if worker.job is None else JobOutcome(worker.job, failure=reason, seconds=seconds)

    def _end(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        worker.pipe.close()
        if worker.process.is_alive():
            worker.process.kill()
        worker.process.join()
        worker.process.close()


def _serve(pipe: connection.Connection, gentle: bool, share: float) -> None:
    """The main function of a worker process; it runs until its parent closes the pipe or dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    if gentle and share:
        take_share(share)
    elif gentle:
        stand_back()
    end_with_parent()
    before = _memory_now()
    pipe.send_bytes(b'{"ready": true}')
    while True:
        try:
            message = json.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            return
        _limit_memory(before + message["memory"])
        try:
            answer = _do(message["function"], message["argument"])
        except MemoryError:
            os._exit(_ENDED_BY_LIMIT)  # after a memory error, this process must not be reused
        pipe.send_bytes(answer)


def _do(function: str, argument: Mapping[str, Any]) -> bytes:
    module, _, name = function.partition(":")
    try:
        result = getattr(importlib.import_module(module), name)(**argument)
        return json.dumps({"result": result}).encode()
    except UnderstudyError as error:
        return json.dumps({"refusal": str(error)}).encode()
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - a process boundary: the learner must be told about any error
        return json.dumps({"failure": f"{type(error).__name__}: {error}"[:500]}).encode()


def _memory_now() -> int:
    """The memory of this process as counted by RLIMIT_AS, which is useful only on Linux."""
    if sys.platform != "linux":
        return 0
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()


def _limit_memory(limit: int) -> None:
    if sys.platform == "linux":
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))
