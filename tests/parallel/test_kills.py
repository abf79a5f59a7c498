from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from understudy.machine.priority import ONE_BLAS_THREAD

pytestmark = pytest.mark.slow

KILLS = Path(__file__).parent.parent.parent / "tools" / "selfplay_kills.py"


@pytest.mark.parametrize(
    "flags",
    [["--game", "tictactoe", "--updates", "400"], ["--game", "gym:CartPole-v1", "--updates", "60", "--workers"]],
)
def test_a_run_that_was_killed_at_random_ends_as_if_nothing_had_happened(flags: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, str(KILLS), "--kills", "3", *flags],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={**os.environ, **ONE_BLAS_THREAD},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 kills" in done.stdout
    assert "differences: none" in done.stdout
