"""Surroundings that turn against a run: pipes, terminals, folders that move, names, locks and limits of the system."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from game_files import make_model, put_game
from runs import drained
from understudy.cli import main
from understudy.errors import RunDirError, RunReplaced, explained
from understudy.files.locks import FileLock
from understudy.learner.loop import LearnerLoop
from understudy.ledger.connection import Ledger
from understudy.ledger.reading import too_long
from understudy.models.store import ModelStore
from understudy.parallel.worker import run_worker
from understudy.run.lock import StopRequest, hold_run
from understudy.run.status import write_status
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, Settings
from understudy.watch.health import judge
from understudy.watch.snapshot import read_run

posix = pytest.mark.skipif(os.name != "posix", reason="signals, pipes and names as POSIX has them")
UNDERSTUDY = [sys.executable, "-m", "understudy"]


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    run = RunDir.at(tmp_path / "run")
    run.create()
    ModelStore(run.model, run.ledger).create(make_model())
    return run


def learner(run: RunDir) -> LearnerLoop:
    return LearnerLoop(run, Settings(learner=LearnerSettings(verbose=False)))


# ---- output ---------------------------------------------------------------------------------------------------------


@posix
@pytest.mark.slow
@pytest.mark.parametrize("command", ["models", "gate", "doctor", "monitor"])
def test_a_reader_that_leaves_ends_the_command_without_a_word(run: RunDir, command: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [*UNDERSTUDY, command, str(run.root)], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)
    assert done.stderr == ""
    assert done.returncode == (1 if command == "monitor" else 141)  # rich ends the monitor


@pytest.mark.slow
def test_the_monitor_shows_one_frame_where_the_output_is_no_terminal(run: RunDir) -> None:
    done = subprocess.run(
        [*UNDERSTUDY, "monitor", str(run.root)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0
    assert "version 1" in done.stdout


# ---- folders --------------------------------------------------------------------------------------------------------


@posix
def test_a_path_that_is_too_long_for_sqlite_is_said_by_the_command_and_the_light(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunDir.at(tmp_path.joinpath(*["ü" * 100] * 3, "run"))
    run.create()
    assert too_long(run.ledger)
    assert not too_long(tmp_path / "understudy.sqlite")
    assert main(["learn", str(run.root)]) == 1
    assert "path is too long for SQLite" in capsys.readouterr().err
    assert judge(read_run(run)).light == "red"
    assert main(["doctor", str(run.root)]) == 1
    assert "shorter path" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform != "linux", reason="only there a name may be any bytes")
def test_a_folder_whose_name_is_not_utf_8_is_used_like_any_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunDir.at(tmp_path / os.fsdecode(b"bad\xff\xfe"))
    run.create()
    ModelStore(run.model, run.ledger).create(make_model())
    put_game(run.buffer)
    assert main(["learn", str(run.root), "--once"]) == 0
    assert "1 games learned from in all" in capsys.readouterr().out
    assert "bad\\udcff\\udcfe" in run.log.read_text(encoding="utf-8")
    for command in ("doctor", "monitor --once", "status", "models"):
        name, *flags = command.split()
        assert main([name, str(run.root), *flags]) == 0
        capsys.readouterr().out.encode()  # nothing that a terminal could not show


@posix
def test_a_folder_that_no_longer_exists_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert main(["status"]) == 1
    assert "current folder no longer exists" in capsys.readouterr().err


def test_a_learner_whose_run_is_moved_waits_until_it_is_back(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    loop, away = learner(run), run.root.with_name("moved")
    put_game(run.buffer)
    try:
        run.root.rename(away)
    except PermissionError:
        pytest.skip("this system does not let a folder with open files be moved")
    request = drained()
    assert not loop._pass(request)
    assert "the run was moved or deleted. Put it back, or end this process" in capsys.readouterr().out
    away.rename(run.root)
    assert loop.run(request)
    assert loop.stats.files_processed == 1


def test_a_learner_whose_run_was_replaced_ends_and_says_so(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    loop = learner(run)
    try:
        run.root.rename(run.root.with_name("moved"))
    except PermissionError:
        pytest.skip("this system does not let a folder with open files be moved")
    run.create()
    ModelStore(run.model, run.ledger).create(make_model())
    game = put_game(run.buffer)
    assert not loop.run(drained())
    assert "was replaced while it was open" in capsys.readouterr().out
    assert game.exists(), "the learner of another run left it alone"


# ---- locks, signals and limits --------------------------------------------------------------------------------------


def test_a_ledger_that_another_program_holds_is_said_with_what_to_do(run: RunDir) -> None:
    with Ledger(run.ledger) as ours, Ledger(run.ledger) as theirs:
        ours.query("PRAGMA busy_timeout = 10")
        with (
            theirs.transaction() as db,
            pytest.raises(RunDirError, match=r"database is locked.*close what has it open"),
            ours.transaction(),
        ):
            pass
        assert db is not None


def test_a_ledger_knows_when_its_file_is_another_one(run: RunDir) -> None:
    with Ledger(run.ledger) as ledger:
        ledger.require_in_place()
        aside = run.ledger.with_name("aside")
        try:
            run.ledger.rename(aside)
        except PermissionError:
            pytest.skip("this system does not let an open file be moved")
        with pytest.raises(RunDirError, match="is gone"):
            ledger.require_in_place()
        run.ledger.write_bytes(b"")
        with pytest.raises(RunReplaced):
            ledger.require_in_place()


def test_more_memory_than_there_is_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--run-dir", str(tmp_path / "run"), "--updates", "1", "--parallel.batch-size", "100000000000"]
    assert main(["selfplay", "tictactoe", *more]) == 1
    assert "There is not enough memory: Unable to allocate" in capsys.readouterr().err


def _with_hangup(handler: str, *arguments: str) -> list[str]:
    """A command line of understudy that starts with this handler of SIGHUP."""
    code = (
        f"import os, signal, sys; signal.signal(signal.SIGHUP, signal.{handler}); os.execv(sys.argv[1], sys.argv[1:])"
    )
    return [sys.executable, "-c", code, *UNDERSTUDY, *arguments]


@posix
@pytest.mark.slow
def test_a_terminal_that_is_closed_ends_the_learner_in_order(run: RunDir) -> None:
    command = _with_hangup("SIG_DFL", "learn", str(run.root))  # these tests may run under nohup themselves
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        assert "Watching" in process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        rest = process.stdout.read()
    assert process.returncode == 0, rest
    assert "Stopped." in rest
    assert '"state": "stopped"' in run.status.read_text()


@posix
@pytest.mark.slow
def test_a_learner_under_nohup_goes_on_when_the_terminal_is_closed(run: RunDir) -> None:
    command = _with_hangup("SIG_IGN", "learn", str(run.root))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        assert "Watching" in process.stdout.readline()
        process.send_signal(signal.SIGHUP)
        put_game(run.buffer)
        deadline = time.monotonic() + 30
        while any(run.buffer.glob("*.npz")) and time.monotonic() < deadline:
            time.sleep(0.05)
        process.terminate()
        process.stdout.read()
    assert not any(run.buffer.glob("*.npz")), "it went on learning"
    assert process.returncode == 0


@posix
@pytest.mark.slow
def test_of_two_learners_started_at_once_one_learns_and_the_other_says_who(run: RunDir) -> None:
    put_game(run.buffer)
    command = [*UNDERSTUDY, "learn", str(run.root)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for _ in range(2)]
    deadline = time.monotonic() + 60
    while all(one.poll() is None for one in both) and time.monotonic() < deadline:
        time.sleep(0.05)
    (loser,) = (one for one in both if one.poll() is not None)
    (winner,) = (one for one in both if one is not loser)
    winner.terminate()
    said = [one.communicate(timeout=60)[0] for one in (winner, loser)]
    assert (winner.returncode, loser.returncode) == (0, 3)
    assert f"Another learner holds {run.root} (pid {winner.pid}" in said[1]


def test_a_learner_is_refused_while_another_machine_learns_on_the_same_network_drive(
    run: RunDir, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    game = put_game(run.buffer)
    monkeypatch.setattr("understudy.machine.file_systems.network_kind", lambda _: "fuse.sshfs")
    write_status(run.status, {"state": "running", "host": "the other PC"})
    assert main(["learn", str(run.root), "--once"]) == 3
    assert "A learner on the other PC uses" in capsys.readouterr().err
    assert game.exists()
    write_status(run.status, {"state": "stopped", "host": "the other PC"})
    assert main(["learn", str(run.root), "--once"]) == 0
    assert not game.exists()


def test_a_monitor_that_tries_the_lock_for_a_moment_keeps_no_learner_out(run: RunDir) -> None:
    lock = FileLock(run.learner_lock)
    assert lock.acquire(blocking=False)
    threading.Timer(0.05, lock.release).start()
    with hold_run(run, StopRequest(), wait=False):
        assert not lock.held


def test_a_worker_whose_memory_is_gone_ends_without_a_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    spec = SimpleNamespace(plan=SimpleNamespace(nbytes=1), segment="understudy_0000000000000000")
    run_worker(spec, None)  # type: ignore[arg-type]
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("number", "said"),
    [
        ("EDQUOT", "quota"),
        ("EFBIG", "quota"),
        ("ENOSPC", "Make room"),
        ("EROFS", "read-only"),
        ("EACCES", "Allow this user"),
        ("ENAMETOOLONG", "shorter"),
        ("EMFILE", "ulimit -n"),
    ],
)
def test_an_error_of_the_system_says_what_to_do(number: str, said: str) -> None:
    code = getattr(errno, number, None)
    if code is None:
        pytest.skip(f"this system has no {number}")
    sentence = explained(OSError(code, os.strerror(code), "model.npz"))
    assert said in sentence
    assert "model.npz" in sentence
    assert "Errno" not in sentence
