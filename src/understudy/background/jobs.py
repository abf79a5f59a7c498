"""Jobs and the queue that orders them: training first, then evaluation, then replays, and nobody waits forever.

The queue lives in memory. What waits is found again on every start, where it lies: games in the buffer, replays in
their folder, less what the ledger has recorded. The ledger also keeps how often a job has failed.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["train", "evaluate", "analyse"]
KINDS: tuple[Kind, ...] = ("train", "evaluate", "analyse")  # in order of priority

MOST_ATTEMPTS = 3  # the first and two more
_PATIENCE = 4  # so many jobs of more urgent kinds may go first while one of a less urgent kind waits


@dataclass(frozen=True, slots=True)
class Job:
    """Something to do. Kind and key identify it; `function` is "module:name" and gets `argument`, in a worker.

    A job without a function is done by the learner process itself.
    """

    kind: Kind
    key: str
    name: str = ""
    function: str = ""
    argument: Mapping[str, Any] = field(default_factory=dict)

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


class JobQueue:
    """A priority queue in which each job is at most once, and in which less urgent kinds get their turn."""

    def __init__(self) -> None:
        self._waiting: dict[Kind, deque[Job]] = {kind: deque() for kind in KINDS}
        self._present: set[tuple[Kind, str]] = set()
        self._passed_over: Counter[Kind] = Counter()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def waiting(self, kind: Kind) -> int:
        """How many jobs of this kind wait."""
        return len(self._waiting[kind])

    def add(self, job: Job) -> bool:
        """Put a job at the end of its kind; False if it waits or runs already."""
        if job.identity in self._present:
            return False
        self._present.add(job.identity)
        self._waiting[job.kind].append(job)
        return True

    def take(self, kinds: Collection[Kind] = KINDS) -> Job | None:
        """The next job of these kinds, or None. It counts as running until `done` or `again` is called with it."""
        possible = [kind for kind in KINDS if kind in kinds and self._waiting[kind]]
        if not possible:
            return None
        impatient = [kind for kind in possible if self._passed_over[kind] >= _PATIENCE]
        chosen = (impatient or possible)[0]
        for kind in KINDS[KINDS.index(chosen) + 1 :]:
            self._passed_over[kind] += bool(self._waiting[kind])
        self._passed_over[chosen] = 0
        return self._waiting[chosen].popleft()

    def done(self, job: Job) -> None:
        """The job has ended; the same one may be added again."""
        self._present.discard(job.identity)

    def again(self, job: Job) -> None:
        """The job is to be tried once more, after the others of its kind."""
        self._waiting[job.kind].append(job)
