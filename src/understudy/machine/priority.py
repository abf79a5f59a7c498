"""Process priority: the learner yields to the game."""

from __future__ import annotations

import math
import os
import sys

ONE_BLAS_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)
"""Environment of a process with one thread for linear algebra: two threads collapse when others need a core."""
ONE_BLAS_THREAD["OMP_WAIT_POLICY"] = "PASSIVE"  # if more threads are chosen, waiting ones sleep


def lower_priority() -> None:
    """Let every other process run first. This cannot be undone and needs no privileges."""
    if sys.platform == "win32":
        import ctypes

        idle_priority_class = 0x40
        kernel = ctypes.windll.kernel32
        kernel.SetPriorityClass(kernel.GetCurrentProcess(), idle_priority_class)
    else:
        os.nice(19)


def stand_back() -> None:
    """Let every other process run first, at once: on Linux, a waking process does not wait for a time slice to end.

    For work that may starve; for training, `lower_priority` is enough.
    """
    lower_priority()
    if sys.platform == "linux":
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def take_share(share: float) -> None:
    """Get about this share of a core beside one ordinary process that uses all of it; more if a core is free."""
    if sys.platform == "win32":
        import ctypes

        below_normal_priority_class = 0x4000
        kernel = ctypes.windll.kernel32
        kernel.SetPriorityClass(kernel.GetCurrentProcess(), below_normal_priority_class)
    else:
        os.nice(niceness_of(share))


def niceness_of(share: float) -> int:
    """The niceness that gives about this share beside a process of niceness 0; each step is a factor of 1.25."""
    return min(max(round(math.log((1 - share) / share) / math.log(1.25)), 0), 19)
