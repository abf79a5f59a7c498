"""Ctrl-C and SIGTERM, at any moment, to one process or to its group: it ends in order and without a traceback."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from understudy.machine.signals import apart, deaf_children
from understudy.rundir import RunDir

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no process groups that get signals")

ROOT = Path(__file__).parents[2]
IMPORTS = ["-X", "importtime"]  # each module that has been imported is a line
SELFPLAY = ["-m", "understudy", "selfplay", "drift", "--workers", "2", "--run-dir", "run"]
SHORT = ["--difficulty", "VeryEasy", "--practice", "1", "--game", "proving-ground", "--games", "0"]
TRAINING = [str(ROOT / "run_with_training.py"), "--run-dir", "run", *SHORT]


def interrupted(
    folder: Path, arguments: list[str], number: signal.Signals, wait_for: str, seconds: float = 0.0, times: int = 1
) -> tuple[int, str]:
    """Exit code and output of a process whose group gets a signal seconds after a text came `times` times."""
    with (folder / "output.txt").open("w") as output:
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=folder,
            stdin=subprocess.PIPE,  # a USI engine reads it to its end
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    assert process.stdin is not None
    try:
        deadline = time.monotonic() + 120
        while (folder / "output.txt").read_text().count(wait_for) < times and time.monotonic() < deadline:
            assert process.poll() is None, (folder / "output.txt").read_text()
            time.sleep(0.01)
        time.sleep(seconds)
        os.killpg(process.pid, number)
        code = process.wait(60)
    finally:
        process.kill()
        process.stdin.close()
    return code, (folder / "output.txt").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.3, 0.6])
def test_it_ends_without_a_traceback_while_it_starts(tmp_path: Path, number: signal.Signals, seconds: float) -> None:
    """From the first module that the command line imports; before it, Python itself answers."""
    code, printed = interrupted(tmp_path, IMPORTS + SELFPLAY, number, " understudy.", seconds)
    assert "Traceback" not in printed
    assert code in (0, 130, -number)


def test_the_package_imports_next_to_nothing_by_itself() -> None:
    """Ctrl-C gives a traceback until the command line hears it: that comes right after the package is imported."""
    code = "import sys, importlib; before = set(sys.modules); import understudy; print(*set(sys.modules) - before)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(ran.stdout.split()) <= {"__future__", "understudy"}


@pytest.mark.slow
@pytest.mark.parametrize("loaded", [" torch.torch_version", " torch._C", " torch.fx"])
def test_a_usi_engine_ends_while_torch_loads(tmp_path: Path, loaded: str) -> None:
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    usi = ["-m", "understudy", "usi", "nothing.npz"]
    code, printed = interrupted(tmp_path, IMPORTS + usi, signal.SIGINT, loaded)
    assert "Traceback" not in printed
    assert "no checkpoint" not in printed
    assert code in (130, -signal.SIGINT)


BOT = """
from sc2.bot_ai import BotAI

class Waits(BotAI):
    async def on_step(self, iteration):
        if iteration == 20:
            print("It plays", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("wait_for", "times"), [(" sc2.data\n", 1), (" sc2.data\n", 2), ("It plays", 1)])
def test_games_of_the_proving_ground_end(tmp_path: Path, wait_for: str, times: int) -> None:
    """Ctrl-C while the command imports, while the processes that play do (the second time), and in a game."""
    pytest.importorskip("sc2")
    pytest.importorskip("numba")
    (tmp_path / "waits.py").write_text(BOT)
    playing = [*IMPORTS, "-m", "understudy", "proving-ground", "play", "waits.py"]
    for games in ([], ["--games", "3", "--parallel", "2"])[times - 1 :]:
        code, printed = interrupted(tmp_path, [*playing, *games], signal.SIGINT, wait_for, times=times)
        assert "Traceback" not in printed
        assert code in (130, -signal.SIGINT)


COMPILES = """
import signal, time
from understudy.games.zerg.game_processes import process_pool
from understudy.games.zerg.proving_ground.compile_kernels import _end_at_once
if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _end_at_once)
    with process_pool(2) as pool:
        pool.submit(time.perf_counter).result()
        waits = pool.submit(time.sleep, 600)
        print("It compiles", flush=True)
        waits.result()
"""


@pytest.mark.slow
def test_the_compiler_does_not_finish_a_function_first(tmp_path: Path) -> None:
    pytest.importorskip("numba")
    (tmp_path / "compiles.py").write_text(COMPILES)
    code, printed = interrupted(tmp_path, ["compiles.py"], signal.SIGTERM, "It compiles")
    assert code == 1
    assert printed == "It compiles\n"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_monitor_gives_the_terminal_back(tmp_path: Path, number: signal.Signals) -> None:
    pty = pytest.importorskip("pty")
    RunDir.at(tmp_path / "run").create()
    ours, theirs = pty.openpty()
    watching = [sys.executable, "-m", "understudy", "monitor", "run"]
    process = subprocess.Popen(
        watching, cwd=tmp_path, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm"}
    )
    os.close(theirs)
    printed, asked = b"", False
    with contextlib.suppress(OSError):  # Linux' way to say that nobody has the other end any more
        while part := os.read(ours, 65536):
            printed += part
            if not asked and b"Ctrl+C" in printed:
                process.send_signal(number)
                asked = True
    os.close(ours)
    assert process.wait() == (0 if number == signal.SIGINT else -signal.SIGTERM)
    assert printed.rindex(b"\x1b[?1049l") > printed.rindex(b"\x1b[?1049h")
    assert b"Traceback" not in printed


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
    assert not signal.pthread_sigmask(signal.SIG_BLOCK, ()) & {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "wait_for"),
    [
        (["-m", "understudy", "dashboard", "run", "--dashboard.port", "0"], "[OK] Dashboard"),
        ([*SELFPLAY, "--updates", "1000000"], " updates "),
    ],
)
def test_a_terminal_that_is_closed_leaves_no_traceback(run: RunDir, command: list[str], wait_for: str) -> None:
    code = (  # these tests may run under nohup themselves
        "import os, signal, sys; signal.signal(signal.SIGHUP, signal.SIG_DFL);"
        "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    _, printed = interrupted(run.root.parent, ["-c", code, *command], signal.SIGHUP, wait_for, seconds=0.5)
    assert "Traceback" not in printed
    assert "resource_tracker" not in printed


@pytest.mark.slow
def test_another_ctrl_c_while_the_process_ends_leaves_no_traceback(tmp_path: Path) -> None:
    code = (
        "import atexit, time; from understudy import __main__, cli;"
        "atexit.register(lambda: (print('It ends', flush=True), time.sleep(60)));"
        "cli.program = lambda: 0; __main__.run()"
    )
    ended, printed = interrupted(tmp_path, ["-c", code], signal.SIGINT, "It ends")
    assert ended == -signal.SIGINT
    assert "Traceback" not in printed


def test_a_signal_in_the_middle_of_a_print_ends_the_run_in_order() -> None:
    code = """
import io, os, signal, sys
from understudy.machine.signals import stop_on_end_signals

class Terminal(io.RawIOBase):
    def writable(self):
        return True

    def fileno(self):
        return 1

    def write(self, content):
        if b"one" in bytes(content):
            signal.raise_signal(signal.SIGINT)
        return os.write(1, content)

sys.stdout = io.TextIOWrapper(io.BufferedWriter(Terminal()))
stop_on_end_signals(lambda: os.write(1, b"asked "))
print("one", flush=True)
print("two", flush=True)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "press again to stop at once" in ran.stdout
    assert ran.stdout.endswith("asked one\ntwo\n")
