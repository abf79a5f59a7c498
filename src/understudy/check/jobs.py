"""Runs of a check, each in its own process, several at a time; Ctrl-C ends them cleanly."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar

from understudy.machine.priority import ONE_BLAS_THREAD
from understudy.machine.signals import end_with_parent
from understudy.run.log import show

Job = TypeVar("Job")
Result = TypeVar("Result")
_stop: Any = None  # in a run's process: the event that asks it to end


def stopped() -> bool:
    """Whether this run should stop; called in the process of the run."""
    return _stop is not None and bool(_stop.is_set())


def run_all(
    function: Callable[[Job], Result], jobs: Sequence[Job], at_once: int, done: Callable[[Job, Result | str], None]
) -> None:
    """Call a function for every job in a separate process, and `done` with each result or error.

    On an interrupt, the runs in progress are asked to stop, `done` gets what they return, and the interrupt is raised
    again.
    """
    os.environ.update(ONE_BLAS_THREAD)  # inherited by the processes, which read it before they load NumPy
    spawn = multiprocessing.get_context("spawn")
    stop = spawn.Event()

    def one(job: Job) -> Result | str:
        with ProcessPoolExecutor(1, mp_context=spawn, initializer=_begin, initargs=(stop,)) as pool:
            try:
                return pool.submit(function, job).result()
            except BrokenProcessPool:
                return "its process died"
            except Exception as error:  # noqa: BLE001 - a process boundary: one failed run must not end the check
                return f"{type(error).__name__}: {error}"

    with ThreadPoolExecutor(at_once) as threads:
        futures = {threads.submit(one, job): job for job in jobs}
        try:
            for future in as_completed(futures):
                done(futures.pop(future), future.result())
        except KeyboardInterrupt:
            show("\nStopping the runs in progress; Ctrl-C again does not wait for them ...")
            stop.set()
            for future in as_completed([future for future in futures if not future.cancel()]):
                done(futures[future], future.result())
            raise


def _begin(stop: Any) -> None:
    """Prepare the process of a run: Ctrl-C reaches every process of a terminal, but only the parent may stop this one.
    If the parent dies, the process ends at once."""
    global _stop  # noqa: PLW0603 - one process, one run
    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
