from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from understudy.background.priority import ONE_BLAS_THREAD

KILLS = Path(__file__).parent.parent.parent / "tools" / "selfplay_kills.py"


def test_a_run_that_was_killed_at_random_ends_as_if_nothing_had_happened() -> None:
    done = subprocess.run(
        [sys.executable, str(KILLS), "--game", "tictactoe", "--kills", "3", "--updates", "400"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **ONE_BLAS_THREAD},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 kills" in done.stdout
    assert "differences: none" in done.stdout
