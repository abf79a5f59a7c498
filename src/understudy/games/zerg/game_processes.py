"""A pool of processes that play games and end when their parent ends."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from understudy.machine.priority import ONE_BLAS_THREAD


@contextmanager
def process_pool(count: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of this many processes. When this one is interrupted, work that has not started is cancelled."""
    os.environ.update(ONE_BLAS_THREAD)
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, mp_context=spawn, initializer=_end_with_parent)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """Without this, the processes of a pool whose parent was killed would wait for work indefinitely."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
