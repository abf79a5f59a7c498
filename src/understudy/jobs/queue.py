"""The queue that orders jobs: evaluation first, then the work of games; no kind waits forever.

Waiting jobs are also kept in the ledger, so they survive a restart.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from understudy.ledger.jobs import KINDS, Job, JobLedger, Kind

_PATIENCE = 4  # jobs of more urgent kinds that may overtake a waiting one of a less urgent kind


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """The outcome of a job: a `result`, a `refusal` (not worth another try) or a `failure` (worth another try)."""

    job: Job
    result: Mapping[str, Any] | None = None
    refusal: str | None = None
    failure: str | None = None
    seconds: float = 0.0


class Work(Protocol):
    """A kind of work for workers: it creates jobs and uses their results."""

    @property
    def kind(self) -> Kind:
        """The name of this kind in the queue."""

    @property
    def done(self) -> int:
        """The number of completed jobs, over all processes of the run."""

    @property
    def set_aside(self) -> int:
        """The number of jobs that were refused or failed too often."""

    @property
    def looking(self) -> bool:
        """Whether the last `look` ran out of time."""

    def look(self, *, idle: bool) -> list[Job]:
        """New jobs, if there are any, within a tenth of a second. `idle`: no job of this kind is waiting or running."""

    def settle(self, outcome: JobOutcome) -> bool:
        """Record the outcome of a job; False if it should be tried again."""

    def close(self) -> None:
        """Called when the learner ends: finish what can be finished quickly."""


class JobQueue:
    """A priority queue without duplicates, in which less urgent kinds also get their turn."""

    def __init__(self, store: JobLedger | None = None) -> None:
        self._waiting: dict[Kind, deque[Job]] = {kind: deque() for kind in KINDS}
        self._present: set[tuple[Kind, str]] = set()
        self._passed_over: Counter[Kind] = Counter()
        self._store = store
        for job in store.waiting_jobs() if store is not None else ():
            self._append(job)

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def waiting(self, kind: Kind) -> int:
        """The number of waiting jobs of this kind."""
        return len(self._waiting[kind])

    def add(self, *jobs: Job) -> int:
        """Add jobs at the end of their kind and return how many; jobs that already wait or run are left out."""
        new = [job for job in jobs if self._append(job)]
        if self._store is not None and new:
            self._store.save_jobs(new)
        return len(new)

    def take(self, kinds: Collection[Kind] = KINDS) -> Job | None:
        """The next job of these kinds, or None. It counts as running until `done` or `again` is called with it.

        The most urgent kind comes first, unless another has waited too long.
        """
        possible = [kind for kind in KINDS if kind in kinds and self._waiting[kind]]
        if not possible:
            return None
        chosen = next((kind for kind in possible if self._passed_over[kind] >= _PATIENCE), possible[0])
        for kind in KINDS[KINDS.index(chosen) + 1 :]:
            self._passed_over[kind] += bool(self._waiting[kind])
        self._passed_over[chosen] = 0
        return self._waiting[chosen].popleft()

    def done(self, job: Job) -> None:
        """A job has ended; the same job may be added again."""
        self._present.discard(job.identity)
        if self._store is not None:
            self._store.forget_job(job)

    def again(self, job: Job) -> None:
        """Retry a job, after the others of its kind."""
        self._waiting[job.kind].append(job)

    def _append(self, job: Job) -> bool:
        if job.identity in self._present:
            return False
        self._present.add(job.identity)
        self._waiting[job.kind].append(job)
        return True
