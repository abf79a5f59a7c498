"""Jobs and the queue that orders them: training first, then evaluation, then replays, and nobody waits forever.

What waits is in the ledger, too, and is there again after a restart. Batches are the exception: the games of the buffer
are what waits, and the ledger knows which of them have been learned from.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Kind = Literal["train", "evaluate", "analyse"]
KINDS: tuple[Kind, ...] = ("train", "evaluate", "analyse")  # in order of priority

MOST_ATTEMPTS = 3  # the first and two more
_PATIENCE = 4  # so many jobs of more urgent kinds may go first while one of a less urgent kind waits


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do. Kind and key identify it; `function` is "module:name" and gets `argument`, in a worker.

    A worker that takes longer than `seconds`, or needs more than `memory` bytes for it, is ended. A job without a
    function is done by the learner process itself.
    """

    kind: Kind
    key: str
    name: str = ""
    function: str = ""
    argument: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 60.0
    memory: int = 1_000_000_000

    @property
    def identity(self) -> tuple[Kind, str]:
        """What makes two jobs the same."""
        return self.kind, self.key


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a job ended: with a `result`, a `refusal` (not worth another try) or a `failure` (worth one)."""

    job: Job
    result: Mapping[str, Any] | None = None
    refusal: str | None = None
    failure: str | None = None
    seconds: float = 0.0


class Work(Protocol):
    """One kind of work for workers: where its jobs come from, and what becomes of their results."""

    @property
    def kind(self) -> Kind:
        """What it is in the queue."""

    @property
    def done(self) -> int:
        """What has come of it, in all processes of the run."""

    @property
    def set_aside(self) -> int:
        """Jobs that were refused, or failed too often."""

    @property
    def looking(self) -> bool:
        """Whether the last `look` had no time to find everything."""

    def look(self, *, idle: bool) -> list[Job]:
        """New jobs, if there are any, within a tenth of a second. `idle`: none of this kind waits or runs."""

    def settle(self, outcome: Outcome) -> bool:
        """Record how a job ended; False if it is to be tried again."""

    def close(self) -> None:
        """The learner ends: put in order what can be put in order quickly."""


class JobStore(Protocol):
    """Where waiting jobs are kept over a restart."""

    def save_jobs(self, jobs: Iterable[Job]) -> None:
        """Keep these jobs; those that are there already stay as they are."""

    def forget_job(self, job: Job) -> None:
        """The job has ended."""

    def waiting_jobs(self) -> list[Job]:
        """All jobs that are kept, oldest first."""


class JobQueue:
    """A priority queue in which each job is at most once, and in which less urgent kinds get their turn."""

    def __init__(self, store: JobStore | None = None) -> None:
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
            self._store.save_jobs(job for job in new if job.function)
        return len(new)

    def next_kind(self, kinds: Collection[Kind] = KINDS) -> Kind | None:
        """Which of these kinds has its turn now: the most urgent one, unless another has waited too long."""
        possible = [kind for kind in KINDS if kind in kinds and self._waiting[kind]]
        impatient = [kind for kind in possible if self._passed_over[kind] >= _PATIENCE]
        return next(iter(impatient or possible), None)

    def take(self, kinds: Collection[Kind] = KINDS) -> Job | None:
        """The next job of these kinds, or None. It counts as running until `done` or `again` is called with it."""
        chosen = self.next_kind(kinds)
        if chosen is None:
            return None
        for kind in KINDS[KINDS.index(chosen) + 1 :]:
            self._passed_over[kind] += bool(self._waiting[kind])
        self._passed_over[chosen] = 0
        return self._waiting[chosen].popleft()

    def done(self, job: Job) -> None:
        """The job has ended; the same one may be added again."""
        self._present.discard(job.identity)
        if self._store is not None and job.function:
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
