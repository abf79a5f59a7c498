from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from understudy.machine.priority import ONE_BLAS_THREAD

pytestmark = pytest.mark.slow

STORM = Path(__file__).parent.parent.parent / "tools" / "selfplay_storm.py"


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_workers_killed_at_random_lose_double_and_leave_nothing() -> None:
    done = subprocess.run(
        [sys.executable, str(STORM), "--kills", "6"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **ONE_BLAS_THREAD},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("6 kills in ")
    assert "Nothing lost, doubled or left behind." in done.stdout
