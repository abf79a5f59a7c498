from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator

from understudy.parallel.communicator import Wanted, WorkerField
from understudy.parallel.worker import Worker


class Changing(defaultdict[WorkerField, int]):
    """Numbers that the learner changes between any two looks at what it wants."""

    def __init__(self, wanted: Iterator[int]) -> None:
        super().__init__(int)
        self._wanted = wanted

    def __getitem__(self, field: WorkerField) -> int:
        return next(self._wanted) if field == WorkerField.WANTED else super().__getitem__(field)


def stays(*wanted: Wanted) -> bool:
    worker = Worker.__new__(Worker)
    worker._numbers = Changing(iter(wanted))
    worker._parent_seen = time.monotonic_ns()
    return worker._stays()


def test_a_pause_that_comes_while_a_worker_looks_is_not_the_end() -> None:
    assert stays(Wanted.RUN, Wanted.PAUSE)


def test_a_paused_worker_goes_on_or_ends_as_it_is_told() -> None:
    assert stays(Wanted.PAUSE, Wanted.PAUSE, Wanted.RUN)
    assert not stays(Wanted.PAUSE, Wanted.STOP)
    assert not stays(Wanted.STOP)
