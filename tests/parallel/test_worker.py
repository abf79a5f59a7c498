from __future__ import annotations

import multiprocessing
from types import SimpleNamespace

import numpy as np
import pytest

from understudy.parallel.communicator import Wanted, WorkerField
from understudy.parallel.worker import Worker


def test_a_worker_whose_learner_is_gone_ends_whoever_asks_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two decisions and between two rollouts: an answer given only once would leave it playing."""
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: SimpleNamespace(is_alive=lambda: False))
    worker = Worker.__new__(Worker)
    worker._numbers = np.zeros(len(WorkerField), np.int64)
    worker._numbers[WorkerField.WANTED] = Wanted.RUN
    worker._parent_seen = 0
    assert [worker._stays() for _ in range(3)] == [False] * 3
