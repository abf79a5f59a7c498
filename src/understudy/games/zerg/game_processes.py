"""Processes that play games for this one, and end with it."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from understudy.machine.priority import ONE_BLAS_THREAD


@contextmanager
def players(count: int) -> Iterator[ProcessPoolExecutor]:
    """So many processes. When this one is interrupted, what has not begun is not begun any more."""
    os.environ.update(ONE_BLAS_THREAD)
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, mp_context=spawn, initializer=_end_with_parent)
    try:
        yield pool
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _end_with_parent() -> None:
    """A pool's processes would wait for ever for work from a parent that was killed."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
