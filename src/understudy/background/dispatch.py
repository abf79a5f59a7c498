"""The dispatcher: takes jobs from the queue to where they are done, and records how they ended.

Training is done by the learner process itself, which alone writes models; everything else by workers. Both together
are never more than `max_workers` at a time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

from understudy.background.jobs import KINDS, JobQueue, Kind
from understudy.background.replays import ReplayJobs
from understudy.background.resources import Governor, Reading, Sensor, as_dict, read_step_time
from understudy.background.workers import Limits, Workers
from understudy.rundir import RunDir
from understudy.settings import Settings

_SAMPLE_SECONDS = 1.0
_FIRST_SAMPLE_SECONDS = 0.25
_SCAN_SLICE_SECONDS = 0.1  # thousands of replays take seconds to hash; training must not wait for that
_GRACE_SECONDS = 2.0
_WRITE_SECONDS = 10.0  # between two versions of the build orders while replays keep coming


class Dispatcher:
    """One queue, its workers, and the load that limits them. `replays=None`: only training.

    Work that somebody waits for (`governed=False`) pays no attention to the load.
    """

    def __init__(self, run: RunDir, settings: Settings, replays: ReplayJobs | None, *, governed: bool = True) -> None:
        self.queue = JobQueue()
        self.replays = replays
        self._run = run
        self._most = settings.learner.max_workers
        self._scan_seconds = settings.replays.scan_seconds
        self.workers = Workers(Limits(settings.replays.time_limit, settings.replays.memory_limit), gentle=governed)
        self._governor = Governor(settings.resources, self._most) if governed else None
        self._sensor = Sensor()
        self._reading = Reading()
        self._next_sample = time.monotonic() + _FIRST_SAMPLE_SECONDS
        self._next_scan = self._next_write = 0.0
        self._retries = 0

    @property
    def busy(self) -> bool:
        """Whether workers have something to do, or could."""
        scanning = self.replays is not None and self.replays.scanning
        return scanning or self.workers.running > 0 or len(self.queue) > 0

    @property
    def paused(self) -> bool:
        """Whether the game needs the machine for itself."""
        return self._waiting_for == "paused for the game"

    @property
    def _waiting_for(self) -> str | None:
        return None if self._governor is None else self._governor.waiting_for

    def turn(self, timeout: float, train: Callable[[], bool] | None = None, *, hurry: bool = False) -> bool:
        """Start what can be started, wait for workers up to `timeout` seconds, and record what ended.

        A training job is done here and now, by `train`. In a hurry the load does not count. True if anything was done.
        """
        self._look_around()
        allowed = self._most if self._governor is None or hurry else self._governor.allowed
        wanted = min(allowed, self.queue.waiting("evaluate") + self.queue.waiting("analyse") + self.workers.running)
        self.workers.resize(wanted)
        worked = self._start(allowed, train if hurry or not self.paused else None)
        for outcome in self.workers.finished(0.0 if worked else timeout):
            worked = True
            if self.replays is None or self.replays.settle(outcome):
                self.queue.done(outcome.job)
            else:
                self._retries += 1
                self.queue.again(outcome.job)
        return worked

    def close(self) -> None:
        """Let workers finish what they are at, for a moment; record it, end them, and write what was learned."""
        try:
            deadline = time.monotonic() + _GRACE_SECONDS
            while self.workers.running and time.monotonic() < deadline:
                for outcome in self.workers.finished(0.1):
                    if self.replays is not None:
                        self.replays.settle(outcome)
            if self.replays is not None:
                self.replays.write()
        finally:
            self.workers.close()

    def facts(self) -> dict[str, Any]:
        """The figures for the learner's statistics."""
        running = self.workers.running
        return {
            "active_workers": running,
            "workers": self.workers.states,
            "worker_deaths": self.workers.deaths,
            "jobs": {
                **{f"{kind} waiting": self.queue.waiting(kind) for kind in KINDS},
                "analyse running": running,
                "analyse retried": self._retries,
                "analyse done": 0 if self.replays is None else self.replays.analysed,
                "analyse set aside": 0 if self.replays is None else self.replays.rejected,
            },
            "resources": as_dict(self._reading),
        }

    def state(self, otherwise: str) -> str:
        """What people should read: what the work waits for, or the given word."""
        waiting = self._waiting_for
        return waiting if waiting is not None and (self.busy or self.paused) else otherwise

    def _start(self, allowed: int, train: Callable[[], bool] | None) -> bool:
        started = False
        while True:
            kinds: list[Kind] = []
            if train is not None and self.workers.running < self._most:
                kinds.append("train")
            if self.workers.idle and self.workers.running < allowed:
                kinds += ["evaluate", "analyse"]
            job = self.queue.take(kinds)
            if job is None:
                return started
            if train is not None and job.kind == "train":
                try:
                    return train() or started
                finally:
                    self.queue.done(job)
            started = True
            if not self.workers.start(job):
                self.queue.again(job)

    def _look_around(self) -> None:
        now = time.monotonic()
        if self._governor is not None and now >= self._next_sample:
            self._next_sample = now + _SAMPLE_SECONDS
            self._reading = self._sensor.read(self.workers.pids)
            self._governor.decide(self._reading, now, read_step_time(self._run.step_time))
        if self.replays is None:
            return
        if now >= self._next_scan or self.replays.scanning:
            for job in self.replays.scan(math.inf if self._governor is None else _SCAN_SLICE_SECONDS):
                self.queue.add(job)
            self._next_scan = time.monotonic() + self._scan_seconds
        if now >= self._next_write or not self.busy:
            self.replays.write()
            self._next_write = now + _WRITE_SECONDS
