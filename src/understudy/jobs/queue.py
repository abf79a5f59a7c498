"""The queue that orders jobs: evaluation first, then the work of games; no kind waits forever.

Waiting jobs are kept in the ledger too, and are there again after a restart.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from understudy.ledger.jobs import KINDS, Job, JobLedger, Kind

_PATIENCE = 4  # jobs of more urgent kinds that may go first while one of a less urgent kind waits


@dataclass(frozen=True, slots=True)
class JobOutcome:
    """How a job ended: with a `result`, a `refusal` (not worth another try) or a `failure` (worth one)."""

    job: Job
    result: Mapping[str, Any] | None = None
    refusal: str | None = None
    failure: str | None = None
    seconds: float = 0.0


class Work(Protocol):
    """One kind of work for workers: where its jobs come from, and how their results are used."""

    @property
    def kind(self) -> Kind:
        """What it is in the queue."""

    @property
    def done(self) -> int:
        """How many jobs were done, in all processes of the run."""

    @property
    def set_aside(self) -> int:
        """Jobs that were refused, or failed too often."""

    @property
    def looking(self) -> bool:
        """Whether the last `look` had no time to find everything."""

    def look(self, *, idle: bool) -> list[Job]:
        """New jobs, if there are any, within a tenth of a second. `idle`: none of this kind waits or runs."""

    def settle(self, outcome: JobOutcome) -> bool:
        """Record how a job ended; False if it is to be tried again."""

    def close(self) -> None:
        """The learner ends: put in order what can be put in order quickly."""


class JobQueue:
    """A priority queue in which each job is at most once, and in which less urgent kinds get their turn."""

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
        """How many jobs of this kind wait."""
        return len(self._waiting[kind])

    def add(self, *jobs: Job) -> int:
        """Put jobs at the end of their kind, and return how many; those that wait or run already are left out."""
        new = [job for job in jobs if self._append(job)]
        if self._store is not None and new:
            self._store.save_jobs(new)
        return len(new)

    def take(self, kinds: Collection[Kind] = KINDS) -> Job | None:
        """The next job of these kinds, or None. It counts as running until `done` or `again` is called with it.

        The most urgent kind goes first, unless another has waited too long.
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
        """The job has ended; the same one may be added again."""
        self._present.discard(job.identity)
        if self._store is not None:
            self._store.forget_job(job)

    def again(self, job: Job) -> None:
        """The job is to be tried once more, after the others of its kind."""
        self._waiting[job.kind].append(job)

    def _append(self, job: Job) -> bool:
        if job.identity in self._present:
            return False
        self._present.add(job.identity)
        self._waiting[job.kind].append(job)
        return True
