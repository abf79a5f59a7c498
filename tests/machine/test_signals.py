"""Ctrl-C and SIGTERM, at any moment, to one process or to its group: it ends in order and without a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from understudy.machine.signals import apart, deaf_children

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no process groups that get signals")

ROOT = Path(__file__).parents[2]
SELFPLAY = ["-m", "understudy", "selfplay", "drift", "--workers", "2", "--run-dir", "run"]
SHORT = ["--difficulty", "VeryEasy", "--practice", "1", "--game", "proving-ground", "--games", "0"]
TRAINING = [str(ROOT / "run_with_training.py"), "--run-dir", "run", *SHORT]


def interrupted(folder: Path, arguments: list[str], number: signal.Signals, wait_for: str | float) -> tuple[int, str]:
    """Exit code and output of a process whose group gets a signal after some seconds, or once it printed a text."""
    with (folder / "output.txt").open("w") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=folder, stdout=output, stderr=output, start_new_session=True
        )
    try:
        if isinstance(wait_for, float):
            time.sleep(wait_for)
        else:
            deadline = time.monotonic() + 90
            while wait_for not in (folder / "output.txt").read_text() and time.monotonic() < deadline:
                time.sleep(0.05)
        os.killpg(process.pid, number)
        code = process.wait(60)
    finally:
        process.kill()
    return code, (folder / "output.txt").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("seconds", [0.1, 0.3, 0.6])
def test_it_ends_without_a_traceback_while_it_starts(tmp_path: Path, number: signal.Signals, seconds: float) -> None:
    code, printed = interrupted(tmp_path, SELFPLAY, number, seconds)
    assert "Traceback" not in printed
    assert code in (0, 130, -number)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_selfplay_with_workers_finishes_its_batch(tmp_path: Path, number: signal.Signals) -> None:
    code, printed = interrupted(tmp_path, SELFPLAY, number, "update")
    assert "Finishing the current batch" in printed
    assert "Traceback" not in printed
    assert code == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_training_run_prints_its_table_and_learns_what_waits(tmp_path: Path, number: signal.Signals) -> None:
    pytest.importorskip("sc2")
    pytest.importorskip("numba")
    code, printed = interrupted(tmp_path, TRAINING, number, "[GAME 2]")
    assert "Traceback" not in printed
    assert "Stopping: the current game is saved" in printed
    assert "win rate" in printed
    assert code == 0
    assert not list((tmp_path / "run" / "data" / "buffer").glob("*.npz"))


def test_a_child_that_was_started_apart_does_not_hear_the_group(tmp_path: Path) -> None:
    code = (
        "import subprocess, sys, signal, os; from understudy.machine.signals import apart;"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "child = subprocess.Popen([sys.executable, '-c', 'import sys; sys.stdin.read(); print(7)'],"
        " stdin=subprocess.PIPE, stdout=subprocess.PIPE, **apart());"
        "os.killpg(os.getpgrp(), signal.SIGTERM);"
        "print(child.communicate()[0].decode())"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, **apart())
    assert ran.stdout.strip() == "7"


def test_children_are_deaf_only_to_what_they_were_started_with() -> None:
    with deaf_children():
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    child.terminate()
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.5)
    child.kill()
    assert child.wait() == -signal.SIGKILL
    assert child.stdin is not None
    child.stdin.close()
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & {signal.SIGINT, signal.SIGTERM}
