"""Ctrl-C ends a check in an orderly way."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PATIENCE = 120.0  # seconds until a hanging process fails the test


@pytest.mark.skipif(os.name == "nt", reason="a terminal's Ctrl-C is sent to a group of processes")
def test_ctrl_c_ends_players_and_learner_and_prints_what_was_done(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "understudy", "learn-check", "--tasks", "ladder", "--seeds", "0", "1", "--no-peer"]
    command += ["--out", str(tmp_path / "out.json")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as check:
        assert check.stdout is not None
        seen = ""
        while "games, mean return" not in seen:  # it plays, and the learner learns
            line = check.stdout.readline()
            assert line, seen
            seen += line
        os.killpg(check.pid, signal.SIGINT)
        rest, _ = check.communicate(timeout=PATIENCE)
    assert check.returncode == 130, rest
    assert "Traceback" not in rest
    assert "0 of 1 solved interrupted" in rest
    assert "Interrupted; the table shows the runs that finished." in rest
    assert (tmp_path / "out.json").exists()
    wait_until_gone(check.pid)


def wait_until_gone(group: int) -> None:
    """Wait for the last process of a group, which may end a moment after its leader."""
    deadline = time.monotonic() + PATIENCE
    with contextlib.suppress(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(group, 0)
            time.sleep(0.1)
        pytest.fail("a process outlived the check")
