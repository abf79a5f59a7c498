"""Hundreds of damaged files through a real learner process; `python tools/torture` feeds it thousands."""

from __future__ import annotations

import os

import pytest

from test_torture import torture

pytestmark = pytest.mark.slow


@pytest.mark.skipif(os.name != "posix", reason="measures the memory of a child process, which is POSIX")
def test_the_learner_sets_damaged_files_aside_in_bounded_memory_and_learns_the_good_ones() -> None:
    torture("--parts", "mutants", "--mutants", "300", "--seed", "1", checks=13)
