"""A small instance of the torture run, which is `python tools/torture` when it is full-sized."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="kills with SIGKILL and forks, which is POSIX"),
    pytest.mark.slow,
]


def torture(*arguments: str, checks: int) -> None:
    """Run parts of the torture; every check must pass, and there must be at least `checks` of them."""
    command = [sys.executable, str(ROOT / "tools" / "torture"), *arguments]
    ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert ended.returncode == 0, ended.stdout
    (held,) = re.findall(r"(\d+) checks held, 0 failed", ended.stdout)
    assert int(held) >= checks, ended.stdout


def test_a_process_that_ends_at_any_step_towards_the_disk_loses_and_repeats_nothing() -> None:
    torture("--parts", "steps", "--stride", "11", checks=6)


def test_a_decision_of_the_gate_that_ends_at_any_step_is_made_once_and_leaves_one_champion() -> None:
    torture("--parts", "gate", "--stride", "7", checks=7)


def test_bots_and_learner_that_are_killed_lose_and_repeat_nothing() -> None:
    torture("--parts", "kills", "--kills", "20", "--seed", "1", checks=23)


def test_publishers_that_are_killed_lose_no_update() -> None:
    torture("--parts", "updates", "--kills", "30", "--seed", "1", checks=6)


def test_a_process_group_that_is_killed_loses_no_game() -> None:
    torture("--parts", "groups", "--kills", "2", "--seed", "1", checks=4)
