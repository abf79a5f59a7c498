"""A pool of processes that play games and end when their parent ends."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from understudy.machine.priority import ONE_BLAS_THREAD
from understudy.machine.signals import end_with_parent


@contextmanager
def process_pool(count: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of this many processes. When this one is interrupted, work that has not started is cancelled."""
    os.environ.update(ONE_BLAS_THREAD)
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, mp_context=spawn, initializer=end_with_parent)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
