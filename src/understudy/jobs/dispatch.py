"""The dispatcher: takes jobs from the queue to where they are done, and has recorded how they ended.

Training is done by the learner process itself, which alone writes models; everything else by workers. Both together
are never more than `max_workers` at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from understudy.jobs.queue import KINDS, Job, JobQueue, JobStore, Kind, Outcome, Work
from understudy.jobs.workers import Workers
from understudy.machine.resources import PAUSED, Governor, Reading, Sensor, as_dict, read_step_time
from understudy.rundir import RunDir
from understudy.settings import Settings

_SAMPLE_SECONDS = 1.0
_FIRST_SAMPLE_SECONDS = 0.25
_GRACE_SECONDS = 1.5


class Dispatcher:
    """One queue, its workers, and the load that limits them. Without `works` there is only training.

    Work that somebody waits for (`governed=False`) pays no attention to the load. `store` keeps what waits.
    """

    def __init__(
        self,
        run: RunDir,
        settings: Settings,
        works: Sequence[Work] = (),
        *,
        store: JobStore | None = None,
        governed: bool = True,
    ) -> None:
        self.queue = JobQueue(store)
        self.workers = Workers(gentle=governed)
        self._works = {work.kind: work for work in works}
        self._run = run
        self._most = settings.learner.max_workers
        self._patience = settings.resources.training_patience
        self._governor = Governor(settings.resources, self._most) if governed else None
        self._sensor = Sensor()
        self._reading = Reading()
        self._next_sample = time.monotonic() + _FIRST_SAMPLE_SECONDS
        self._training = False
        self._held_since: float | None = None  # since when the load keeps a batch from being trained on
        self._last_batch = 0.0  # what it took, in seconds
        self._retries = dict.fromkeys(KINDS, 0)
        self.settled = 0
        """How many jobs were done or set aside."""

    @property
    def busy(self) -> bool:
        """Whether there is something to do that somebody could wait for. Evaluation goes on with the next start."""
        looking = any(work.looking for work in self._works.values())
        waiting = sum(self.queue.waiting(kind) for kind in ("train", *self._works) if kind != "evaluate")
        return looking or waiting > 0 or self.workers.running_of("analyse") > 0

    @property
    def paused(self) -> bool:
        """Whether the game needs the machine for itself."""
        return self._waiting_for == PAUSED

    @property
    def _some_wait(self) -> bool:
        """Whether a job waits that can be done here; those of a kind that is switched off stay where they are."""
        return any(self.queue.waiting(kind) for kind in ("train", *self._works))

    @property
    def _waiting_for(self) -> str | None:
        return None if self._governor is None else self._governor.waiting_for

    def turn(self, timeout: float, train: Callable[[], bool] | None = None, *, hurry: bool = False) -> bool:
        """Start what can be started, wait for workers up to `timeout` seconds, and record what ended.

        A training job is done here and now, by `train`, which may call this (without `train`) now and then for the
        others. In a hurry the load does not count. True if anything was done.
        """
        self._measure()
        self._look_for_work()
        allowed = self._most if self._governor is None or hurry else self._governor.allowed
        allowed = min(allowed, self._most - self._training)
        kinds: list[Kind] = [kind for kind in self._works if not (hurry and kind == "evaluate")]
        self.workers.resize(min(allowed, sum(map(self.queue.waiting, kinds)) + self.workers.running))
        worked = self._start(allowed, kinds, train, hurry=hurry)
        ended = self.workers.finished(0.0 if worked else timeout)
        if train is None:
            self._start(allowed, kinds, hurry=hurry)  # workers need not wait until what they did is recorded
        for outcome in ended:
            self._settle(outcome)
        return worked or bool(ended)

    def collect(self, timeout: float) -> None:
        """Start nothing; wait for workers up to `timeout` seconds, and record what ended."""
        self._measure()
        for outcome in self.workers.finished(timeout):
            self._settle(outcome)

    def close(self) -> None:
        """Let workers finish what they are at, for a moment; record it, end them, and write what was learned."""
        try:
            deadline = time.monotonic() + _GRACE_SECONDS
            while self.workers.running and time.monotonic() < deadline:
                for outcome in self.workers.finished(0.1):
                    self._settle(outcome)
            self.workers.close()
            for work in self._works.values():
                work.close()
        finally:
            self.workers.close()

    def facts(self) -> dict[str, Any]:
        """The figures for the learner's statistics."""
        jobs = {}
        for kind in KINDS:
            work = self._works.get(kind)
            jobs[f"{kind} waiting"] = self.queue.waiting(kind)
            jobs[f"{kind} running"] = self.workers.running_of(kind)
            jobs[f"{kind} retried"] = self._retries[kind]
            jobs[f"{kind} done"] = 0 if work is None else work.done
            jobs[f"{kind} set aside"] = 0 if work is None else work.set_aside
        return {
            "active_workers": self.workers.running,
            "workers": self.workers.states,
            "worker_deaths": self.workers.deaths,
            "jobs": jobs,
            "resources": as_dict(self._reading),
        }

    def state(self, otherwise: str) -> str:
        """What people should read: what the work waits for, or the given word."""
        waiting = self._waiting_for
        return waiting if waiting is not None and (self._some_wait or self.paused) else otherwise

    def training_is_due(self, *, hurry: bool = False) -> bool:
        """Whether a batch waits, and no longer for the machine.

        For the game it waits as long as it takes, for CPU and memory a while: others may need them always. The while is
        what the last batch took, so that on a busy machine training takes half of the time at most.
        """
        if self._training or not self.queue.waiting("train"):
            return False
        if hurry or self._waiting_for is None:
            self._held_since = None
            return True
        if self._held_since is None:
            self._held_since = time.monotonic()
        wait = min(self._patience, self._last_batch)
        return not self.paused and time.monotonic() - self._held_since >= wait

    def _start(
        self, allowed: int, kinds: list[Kind], train: Callable[[], bool] | None = None, *, hurry: bool = False
    ) -> bool:
        """Start jobs in their order. Where a batch has its turn and cannot be begun yet, nobody takes its place."""
        started = False
        while True:
            possible: list[Kind] = ["train"] if self.training_is_due(hurry=hurry) else []
            if self.workers.idle and self.workers.running < allowed:
                possible += kinds
            if self.queue.next_kind(possible) == "train" and (train is None or self.workers.running >= self._most):
                return started
            job = self.queue.take(possible)
            if job is None:
                return started
            if job.kind == "train" and train is not None:
                return self._train(job, train) or started
            started = True
            if not self.workers.start(job):
                self.queue.again(job)

    def _train(self, job: Job, train: Callable[[], bool]) -> bool:
        self._held_since = None
        self._training = True
        began = time.monotonic()
        try:
            return train()
        finally:
            self._training = False
            self._last_batch = time.monotonic() - began
            self.queue.done(job)

    def _settle(self, outcome: Outcome) -> None:
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
            self._reading = self._sensor.read(self.workers.pids)
            self._governor.decide(self._reading, now, read_step_time(self._run.step_time))

    def _look_for_work(self) -> None:
        for work in self._works.values():
            idle = not self.queue.waiting(work.kind) and not self.workers.running_of(work.kind)
            self.queue.add(*work.look(idle=idle))
