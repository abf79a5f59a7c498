"""When the next batch begins. Training runs in the learner process itself; jobs run in worker processes beside it.

Together they never use more than `learner.max_workers` processes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from understudy.jobs.dispatch import Dispatcher
from understudy.learner.arrivals import Arrivals
from understudy.machine.resources import Hold
from understudy.settings import Settings

_BATCHES_IN_A_ROW = 4  # while jobs are waiting and none is running
_TURN_SECONDS = 10.0  # longest time a batch waits for a job to start; a worker may fail to start


class Schedule:
    """How many games a batch waits for, and whether the machine and the jobs allow it to begin.

    `worthwhile` is the number of games from which the model learns best.
    """

    def __init__(self, settings: Settings, jobs: Dispatcher, worthwhile: Callable[[], int]) -> None:
        self._settings = settings.learner
        self._most_games = settings.storage.buffer_games
        self._patience = settings.resources.training_patience
        self._worthwhile = worthwhile
        self._jobs = jobs
        self._arrivals = Arrivals(time.monotonic())
        self._held_since: float | None = None  # when the load began to delay a batch
        self._last_batch = 0.0  # its duration in seconds
        self._in_a_row = 0
        self._turn_since: float | None = None  # when the jobs' turn began
        self.ready = False
        """Whether enough games for a batch are waiting."""
        self.running = False

    def wanted(self, learned: int) -> int:
        """The size of a whole batch, after `learned` games. Early on, small batches teach most; later, large ones."""
        least, growth = self._settings.min_batch_games, self._settings.batch_growth
        if growth:
            least = max(least, 1)
            return max(least, min(least + learned // growth, self._settings.batch_games))
        return least or min(self._worthwhile(), self._most_games)

    def needed(self, learned: int, waiting: int) -> int:
        """Games needed to begin: a whole batch, or one if no more games seem to come."""
        return 1 if self._arrivals.ended(waiting, time.monotonic()) else self.wanted(learned)

    @property
    def reserved(self) -> int:
        """Places that jobs must leave free: one for the batch that runs or is ready, unless it is the jobs' turn."""
        return int(self.running or (self.ready and not self._jobs_turn()))

    def may_begin(self, *, hurry: bool = False) -> bool:
        """Whether a batch is ready, a place is free, and the machine allows it. With `hurry` the load is ignored."""
        if not self.ready or self._jobs.workers.running >= self._jobs.most or (self._jobs_turn() and not hurry):
            return False
        return hurry or not self._held()

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Context manager around one batch."""
        self._held_since, self._turn_since = None, None
        self.running, self.ready = True, False
        self._in_a_row += 1
        began = time.monotonic()
        try:
            yield
        finally:
            self.running = False
            self._last_batch = time.monotonic() - began

    def _held(self) -> bool:
        """Whether the load delays a batch.

        The game takes precedence for any length of time. Other programs may use CPU and memory all the time, so for
        them a batch waits only as long as the last batch took. So training takes at most half of the time on a busy
        machine.
        """
        hold = self._jobs.hold
        if hold is None:
            self._held_since = None
            return False
        if self._held_since is None:
            self._held_since = time.monotonic()
        waited = time.monotonic() - self._held_since
        return hold is Hold.GAME or waited < min(self._patience, self._last_batch)

    def _jobs_turn(self) -> bool:
        """Whether a job must run before the next batch, because several batches in a row left no place for one."""
        if self._jobs.workers.running:
            self._in_a_row = 0
        turn = self._in_a_row >= _BATCHES_IN_A_ROW and self._jobs.waiting > 0 and self._jobs.allowed > 0
        if not turn:
            self._turn_since = None
            return False
        if self._turn_since is None:
            self._turn_since = time.monotonic()
        return time.monotonic() < self._turn_since + _TURN_SECONDS
