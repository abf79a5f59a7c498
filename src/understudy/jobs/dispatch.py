"""The dispatcher: gives jobs from the queue to worker processes, and records their outcomes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from understudy.jobs.queue import JobOutcome, JobQueue, Work
from understudy.jobs.workers import Workers
from understudy.ledger.jobs import KINDS, JobLedger, Kind
from understudy.machine.resources import Governor, Hold, Reading, Sensor, as_dict, read_step_time
from understudy.rundir import RunDir
from understudy.settings import Settings

_SAMPLE_SECONDS = 1.0
_FIRST_SAMPLE_SECONDS = 0.25
_GRACE_SECONDS = 1.5


class Dispatcher:
    """One queue, its workers, and the load that limits them.

    With `governed=False`, the machine's load does not limit them: a person is waiting for the result. `store` keeps
    waiting jobs.
    """

    def __init__(
        self,
        run: RunDir,
        settings: Settings,
        works: Sequence[Work] = (),
        *,
        store: JobLedger | None = None,
        governed: bool = True,
    ) -> None:
        self.queue = JobQueue(store)
        self.workers = Workers(gentle=governed)
        share = settings.evaluation.share if governed else 0.0
        self._evaluator = Workers(share=share) if share else None
        """An additional process only for evaluation. It has its share of a core, however busy the machine is."""
        self.most = settings.learner.max_workers
        """How many processes may work at a time, including the one that calls `turn` while it reserves a place."""
        self._works = {work.kind: work for work in works}
        self._run = run
        self._governor = Governor(settings.resources, self.most) if governed else None
        self._sensor = Sensor()
        self._reading = Reading()
        self._next_sample = time.monotonic() + _FIRST_SAMPLE_SECONDS
        self._retries = dict.fromkeys(KINDS, 0)
        self.settled = 0
        """The number of jobs that were completed or set aside."""

    @property
    def busy(self) -> bool:
        """Whether there are jobs to complete before the end. Evaluation is not one: it continues after a restart."""
        looking = any(work.looking for work in self._works.values())
        waiting = sum(self.queue.waiting(kind) for kind in self._works if kind != "evaluate")
        return looking or waiting > 0 or self.workers.running_of("analyse") > 0

    @property
    def waiting(self) -> int:
        """The number of waiting jobs of enabled kinds; jobs of disabled kinds stay in the ledger."""
        return sum(self.queue.waiting(kind) for kind in self._works if not self._apart(kind))

    @property
    def hold(self) -> Hold | None:
        """The reason why all work must wait now; empty if there is none."""
        return None if self._governor is None else self._governor.waiting_for

    @property
    def allowed(self) -> int:
        """The number of processes that the machine's load allows now."""
        return self.most if self._governor is None else self._governor.allowed

    def turn(self, timeout: float, *, reserved: int = 0, hurry: bool = False) -> bool:
        """Start jobs that can be started, wait for workers for up to `timeout` seconds, and record the outcomes.

        `reserved` places are kept free for the caller's own work. With `hurry`, the load is ignored and nothing is
        evaluated. Returns True if a job was started or has ended.
        """
        self._measure()
        self._look_for_work()
        allowed = min(self.most if hurry else self.allowed, self.most - reserved)
        kinds: list[Kind] = [k for k in self._works if not (hurry and k == "evaluate") and not self._apart(k)]
        self.workers.resize(min(allowed, sum(map(self.queue.waiting, kinds)) + self.workers.running))
        started = self._start(allowed, kinds) | (not hurry and self._evaluate())
        ended = self._finished(0.0 if started else timeout)
        self._start(allowed, kinds)  # before recording outcomes, so that workers do not wait for it
        for outcome in ended:
            self._settle(outcome)
        return started or bool(ended)

    def collect(self, timeout: float) -> None:
        """Start nothing; wait for workers for up to `timeout` seconds, and record the outcomes."""
        self._measure()
        for outcome in self._finished(timeout):
            self._settle(outcome)

    def close(self) -> None:
        """Give workers a moment to finish their jobs, record outcomes, end the workers, and write what was learned."""
        try:
            deadline = time.monotonic() + _GRACE_SECONDS
            while any(workers.running for workers in self._all_workers()) and time.monotonic() < deadline:
                for outcome in self._finished(0.1):
                    self._settle(outcome)
            self._close_workers()
            for work in self._works.values():
                work.close()
        finally:
            self._close_workers()

    def facts(self) -> dict[str, Any]:
        """The figures for the learner's statistics."""
        jobs = {}
        for kind in KINDS:
            work = self._works.get(kind)
            jobs[f"{kind} waiting"] = self.queue.waiting(kind)
            jobs[f"{kind} running"] = self._running_of(kind)
            jobs[f"{kind} retried"] = self._retries[kind]
            jobs[f"{kind} done"] = 0 if work is None else work.done
            jobs[f"{kind} set aside"] = 0 if work is None else work.set_aside
        return {
            "active_workers": sum(workers.running for workers in self._all_workers()),
            "workers": [state for workers in self._all_workers() for state in workers.states],
            "worker_deaths": sum(workers.deaths for workers in self._all_workers()),
            "jobs": jobs,
            "resources": as_dict(self._reading),
        }

    def _apart(self, kind: Kind) -> bool:
        """Whether jobs of this kind have a separate process."""
        return kind == "evaluate" and self._evaluator is not None

    def _all_workers(self) -> list[Workers]:
        return [self.workers] if self._evaluator is None else [self.workers, self._evaluator]

    def _running_of(self, kind: Kind) -> int:
        return sum(workers.running_of(kind) for workers in self._all_workers())

    def _close_workers(self) -> None:
        for workers in self._all_workers():
            workers.close()

    def _finished(self, timeout: float) -> list[JobOutcome]:
        """The jobs that have ended, within `timeout` seconds."""
        apart = [] if self._evaluator is None else self._evaluator.finished(0.0)
        return apart + self.workers.finished(0.0 if apart else timeout)

    def _evaluate(self) -> bool:
        """Give the evaluator its next job. It also runs on a busy CPU, but the game and memory take precedence."""
        evaluator = self._evaluator
        if evaluator is None or "evaluate" not in self._works:
            return False
        wanted = bool(self.queue.waiting("evaluate")) and self.hold in (None, Hold.CPU)
        evaluator.resize(int(wanted or evaluator.running > 0))
        if not (wanted and evaluator.idle):
            return False
        job = self.queue.take(["evaluate"])
        if job is not None and not evaluator.start(job):
            self.queue.again(job)
            return False
        return job is not None

    def _start(self, allowed: int, kinds: list[Kind]) -> bool:
        """Give jobs to idle workers, in the order of the queue."""
        started = False
        while self.workers.idle and self.workers.running < allowed:
            job = self.queue.take(kinds)
            if job is None:
                break
            started = True
            if not self.workers.start(job):
                self.queue.again(job)
        return started

    def _settle(self, outcome: JobOutcome) -> None:
        work = self._works.get(outcome.job.kind)
        if work is None or work.settle(outcome):
            self.settled += 1
            self.queue.done(outcome.job)
        else:
            self._retries[outcome.job.kind] += 1
            self.queue.again(outcome.job)

    def _measure(self) -> None:
        now = time.monotonic()
        if self._governor is not None and now >= self._next_sample:
            self._next_sample = now + _SAMPLE_SECONDS
            self._reading = self._sensor.read([pid for workers in self._all_workers() for pid in workers.pids])
            self._governor.decide(self._reading, now, read_step_time(self._run.step_time))

    def _look_for_work(self) -> None:
        for work in self._works.values():
            idle = not self.queue.waiting(work.kind) and not self._running_of(work.kind)
            self.queue.add(*work.look(idle=idle))
