"""Giving way to the game: the learner's place among the machine's processes."""

from __future__ import annotations

import os
import sys

ONE_BLAS_THREAD = dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"
)
"""Environment of a process that uses one thread for linear algebra: two collapse when anything else wants a core."""
ONE_BLAS_THREAD["OMP_WAIT_POLICY"] = "PASSIVE"  # should somebody choose more after all: threads that wait sleep


def lower_priority() -> None:
    """Let every other process go first. Cannot be undone, and needs no rights."""
    if sys.platform == "win32":
        import ctypes

        idle_priority_class = 0x40
        kernel = ctypes.windll.kernel32
        kernel.SetPriorityClass(kernel.GetCurrentProcess(), idle_priority_class)
    else:
        os.nice(19)
