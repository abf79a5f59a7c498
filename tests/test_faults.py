"""Failures around a run: disks, clocks, other people's files. Bot and learner continue, and report what is wrong."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from game_files import ACTIONS, STATE_DIM, put_game
from runs import drained
from understudy.agent import RLAgent
from understudy.cli import main
from understudy.experience.episode import Expected
from understudy.experience.file_clock import FileClock
from understudy.experience.spool import Spool
from understudy.files.atomic import write_content
from understudy.files.locks import FileLock
from understudy.learner.loop import LearnerLoop
from understudy.ledger.connection import Ledger
from understudy.models import store as store_module
from understudy.models.live import Interface, new_model
from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, NetworkSettings, Settings, StorageSettings, TrainingSettings

pytestmark = pytest.mark.usefixtures("first_model")

DAY = 86_400.0
posix_only = pytest.mark.skipif(os.name != "posix", reason="Windows knows neither such names nor such links")


class Disk:
    """The disk under a test: nothing can be written to it while `full` is true."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.full = False
        real_open, real_connect = Path.open, sqlite3.connect

        def open_file(path: Path, mode: str = "r", *arguments: Any, **options: Any) -> Any:
            if self.full and set(mode) & set("wxa"):
                raise OSError(errno.ENOSPC, "No space left on device", str(path))
            return real_open(path, mode, *arguments, **options)

        def write(descriptor: int, data: bytes) -> int:
            if self.full:
                raise OSError(errno.ENOSPC, "No space left on device")
            return real_write(descriptor, data)

        def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
            if self.full:
                raise sqlite3.OperationalError("database or disk is full")
            connection: sqlite3.Connection = real_connect(*arguments, **options)
            return connection

        real_write = os.write
        patch.setattr(Path, "open", open_file)
        patch.setattr(os, "write", write)
        patch.setattr(sqlite3, "connect", connect)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def make_bot(run: RunDir, *, online: bool = False) -> RLAgent:
    return RLAgent(STATE_DIM, ACTIONS, run_dir=run.root, hidden=(8,), online_training=online)


def play(bot: RLAgent, decisions: int = 6) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    for _ in range(decisions):
        bot.select_action(rng.standard_normal(STATE_DIM))
        bot.observe_reward(1.0)
    return bot.end_episode("Victory")


def learn(run: RunDir) -> LearnerLoop:
    """Learn all that waits, in this process."""
    loop = LearnerLoop(run, Settings(learner=LearnerSettings(verbose=False)))
    loop.run(drained())
    return loop


def learned(run: RunDir) -> dict[str, str]:
    """Outcome by id of the games in the ledger; the model's own counter must agree."""
    with Ledger(run.ledger) as ledger:
        games = {game.id: outcome for game, outcome, _ in ledger.games()}
    assert read_model(run.model).counters["games"] == sum(outcome != "skipped" for outcome in games.values())
    return games


# ---- a full disk ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("online", [False, True])
def test_a_bot_on_a_full_disk_plays_on_and_loses_no_game(
    run: RunDir, disk: Disk, online: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with make_bot(run, online=online) as bot:
        disk.full = True
        kept = [play(bot) for _ in range(3)]
        assert [game["saved"] for game in kept] == [None] * 3
        assert "cannot be saved" in caplog.text
        disk.full = False
        last = play(bot)
    assert last["saved"].exists()
    learn(run)
    assert set(learned(run)) == {game["episode_id"] for game in (*kept, last)}


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts descriptors in /proc")
def test_games_kept_in_memory_hold_no_descriptors(run: RunDir, disk: Disk) -> None:
    with make_bot(run) as bot:
        disk.full = True
        play(bot)
        before = len(list(Path("/proc/self/fd").iterdir()))
        for _ in range(20):
            play(bot)
        assert len(list(Path("/proc/self/fd").iterdir())) == before
        disk.full = False


def test_a_bot_that_starts_on_a_full_disk_plays_and_publishes_its_model_later(tmp_path: Path, disk: Disk) -> None:
    run = RunDir.at(tmp_path / "new")
    run.create()
    disk.full = True
    with make_bot(run) as bot:
        kept = play(bot)
        assert bot.model_version == 0
        disk.full = False
        last = play(bot)
        assert bot.model_version == 1
    learn(run)
    assert learned(run) == {kept["episode_id"]: "learned", last["episode_id"]: "learned"}


@pytest.mark.parametrize("failing", ["the version", "the model, after the ledger"])
def test_a_publication_that_the_disk_cuts_off_is_neither_lost_nor_repeated(
    run: RunDir, failing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for seed in range(3):
        put_game(run.buffer, seed)

    def fail(path: Path, content: bytes) -> None:
        if (path == run.model) == (failing == "the model, after the ledger"):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        write_content(path, content)

    monkeypatch.setattr(store_module, "write_content", fail)
    loop = learn(run)
    assert "No space left" in (loop.stats.last_error or "")
    assert capsys.readouterr().out.count("Waiting:") == 1
    monkeypatch.setattr(store_module, "write_content", write_content)
    learn(run)
    assert list(learned(run).values()) == ["learned"] * 3
    assert read_model(run.model).version == 2


def test_a_lock_is_had_also_without_room_for_its_note(tmp_path: Path, disk: Disk) -> None:
    disk.full = True
    lock = FileLock(tmp_path / "x.lock", what="a test")
    assert lock.acquire()
    assert not FileLock(tmp_path / "x.lock").acquire(blocking=False)
    lock.release()
    assert FileLock(tmp_path / "x.lock").acquire(blocking=False)


def test_doctor_takes_a_ledger_that_cannot_be_opened_now_for_no_damaged_one(
    run: RunDir, disk: Disk, capsys: pytest.CaptureFixture[str]
) -> None:
    disk.full = True
    assert main(["doctor", str(run.root), "--fix"]) == 1
    disk.full = False
    out = capsys.readouterr().out
    assert "disk is full" in out
    assert "damaged" not in out
    with Ledger(run.ledger) as ledger:
        assert ledger.head() == 1


def test_learning_once_on_a_full_disk_ends_with_an_error(run: RunDir, monkeypatch: pytest.MonkeyPatch) -> None:
    put_game(run.buffer)

    def fail(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(store_module, "write_content", fail)
    assert main(["learn", str(run.root), "--once"]) == 1
    monkeypatch.undo()
    assert main(["learn", str(run.root), "--once"]) == 0


# ---- a read-only disk -----------------------------------------------------------------------------------------------


@pytest.fixture
def read_only_run(run: RunDir, disk: Disk, monkeypatch: pytest.MonkeyPatch) -> RunDir:
    """A run that may not be written to; this is also simulated for root, to whom file modes do not apply."""
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: not mode & os.W_OK and access(path, mode))
    disk.full = True  # writing fails all the same
    return run


def test_a_bot_on_a_read_only_run_plays_without_recording_and_says_so(
    read_only_run: RunDir, caplog: pytest.LogCaptureFixture
) -> None:
    with make_bot(read_only_run, online=True) as bot:
        assert bot.model_version == 1
        assert play(bot)["saved"] is None
    assert "read-only" in caplog.text
    assert "nothing is recorded" in caplog.text


def test_learning_on_a_read_only_run_ends_with_a_clear_error(
    read_only_run: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["learn", str(read_only_run.root), "--once"]) == 1
    error = capsys.readouterr().err
    assert "read-only" in error
    assert "allow writing" in error


def test_doctor_and_monitor_only_read_a_read_only_run(
    read_only_run: RunDir, disk: Disk, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr("understudy.files.locks.FileLock.acquire", refuse)
    disk.full = False
    read_only_run.learner_lock.touch()
    read_only_run.status.write_text('{"state": "running", "heartbeat": 0}')
    disk.full = True
    before = {path: path.stat().st_mtime_ns for path in read_only_run.root.rglob("*")}
    main(["doctor", str(read_only_run.root), "--fix"])
    out = capsys.readouterr().out
    assert "cannot be written to" in out
    assert "To record games and to learn, allow writing there" in out
    assert main(["monitor", str(read_only_run.root), "--once"]) == 0
    assert main(["status", str(read_only_run.root)]) in (0, 1)
    assert {path: path.stat().st_mtime_ns for path in read_only_run.root.rglob("*")} == before


# ---- models and ledgers that somebody damaged -----------------------------------------------------------------------


def _cut(run: RunDir) -> None:
    for path in (run.model, *run.versions.glob("*.npz")):
        path.write_bytes(path.read_bytes()[:100])


def _of_another_kind(run: RunDir) -> None:
    other = new_model(Interface(STATE_DIM + 1, ACTIONS), NetworkSettings(hidden=(8,)), TrainingSettings(), 0)
    run.model.unlink()
    for path in run.versions.glob("*.npz"):
        path.unlink()
    run.ledger.unlink()
    store = ModelStore(run.model, run.ledger)
    first = store.create(other)
    second = store.publish(first, first, publisher="test")
    store.publish(second, second, publisher="test")


@pytest.mark.parametrize("harm", [_cut, _of_another_kind], ids=["damaged", "of another kind"])
@pytest.mark.parametrize("online", [False, True])
def test_a_game_goes_on_when_the_model_on_disk_cannot_be_played(
    run: RunDir, harm: Callable[[RunDir], None], online: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with make_bot(run, online=online) as bot:
        play(bot)
        harm(run)
        assert play(bot)["steps"] == 6
    assert "cannot be played" in caplog.text


def test_a_ledger_with_damaged_pages_is_said_and_not_a_traceback(
    run: RunDir, capsys: pytest.CaptureFixture[str]
) -> None:
    put_game(run.buffer)
    with contextlib.closing(sqlite3.connect(run.ledger)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = db.execute("PRAGMA page_size").fetchone()[0]
    content = bytearray(run.ledger.read_bytes())
    content[size:] = b"\xff" * (len(content) - size)
    run.ledger.write_bytes(content)
    assert main(["learn", str(run.root), "--once"]) == 1
    assert "doctor" in capsys.readouterr().err
    assert main(["doctor", str(run.root)]) == 1
    assert "is damaged" in capsys.readouterr().out


def test_a_ledger_that_another_process_is_just_making_is_waited_for(tmp_path: Path) -> None:
    other = sqlite3.connect(tmp_path / "new.sqlite", isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    done = threading.Timer(0.1, other.execute, ["COMMIT"])
    done.start()
    with Ledger(tmp_path / "new.sqlite") as ledger:
        assert ledger.head() is None
    done.join()
    other.close()


# ---- what other people put into the folders -------------------------------------------------------------------------


def _dangling_link(run: RunDir) -> None:
    (run.buffer / "x.npz").symlink_to("nowhere")


def _endless_link(run: RunDir) -> None:
    (run.buffer / "x.npz").symlink_to("x.npz")


def _folder(run: RunDir) -> None:
    (run.buffer / "x.npz").mkdir()


def _long_name(run: RunDir) -> None:
    (run.buffer / f"{'x' * 240}.npz").write_bytes(b"no game")


def _game_without_a_text_for_a_name(run: RunDir) -> None:
    put_game(run.buffer, 7).rename(os.fsdecode(os.fsencode(run.buffer) + b"/game_\xff.npz"))


def _folder_for_a_journal(run: RunDir) -> None:
    (run.live / "x.journal").mkdir()


def _pipe_for_a_journal(run: RunDir) -> None:
    os.mkfifo(run.live / "x.journal")


@pytest.mark.slow
@posix_only
@pytest.mark.parametrize(
    "harm",
    [
        _dangling_link,
        _endless_link,
        _folder,
        _long_name,
        _game_without_a_text_for_a_name,
        _folder_for_a_journal,
        _pipe_for_a_journal,
    ],
)
def test_nothing_that_lies_in_the_folders_blocks_the_queue(run: RunDir, harm: Callable[[RunDir], None]) -> None:
    game = put_game(run.buffer, 1)
    harm(run)
    # In a separate process: a blocked queue may also be an endless loop.
    command = [sys.executable, "-m", "understudy", "learn", str(run.root), "--once"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "Waiting:" not in ended.stdout
    assert (run.archive / game.name).exists()
    assert list(run.buffer.glob("*.npz")) == []
    with Ledger(run.ledger) as ledger:
        notes = {path.name.removesuffix(".reason.json") for path in run.rejected.glob("*.reason.json")}
        assert {name for name, _ in ledger.rejections()} == notes


def test_half_written_files_are_swept_from_every_folder_after_an_hour(run: RunDir) -> None:
    folders = (run.root, run.buffer, run.live, run.archive, run.rejected, run.models, run.versions, run.logs)
    for folder in folders:
        for age in (10, 4000):
            path = folder / f".x.npz.{age}-00000000.tmp"
            path.touch()
            os.utime(path, (time.time() - age,) * 2)
    learn(run)
    assert {path.name for path in run.root.rglob("*.tmp")} == {".x.npz.10-00000000.tmp"}
    assert len(list(run.root.rglob("*.tmp"))) == len(folders)


# ---- clocks ---------------------------------------------------------------------------------------------------------


class Clock:
    """The system clock, which somebody sets."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.off = 0.0
        true_time = time.time
        patch.setattr(time, "time", lambda: true_time() + self.off)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


@pytest.mark.parametrize("jumps", [(DAY,), (-DAY,), (DAY, -DAY), (-DAY, DAY), (-DAY, DAY, -2 * DAY, 0.0)])
def test_no_game_is_too_old_because_the_clock_jumped_while_it_waited(
    run: RunDir, clock: Clock, jumps: tuple[float, ...], caplog: pytest.LogCaptureFixture
) -> None:
    with Ledger(run.ledger) as ledger:
        spool = Spool(run, ledger, StorageSettings())
        put_game(run.buffer, 0, id="before")
        spool.scan()
        for index, off in enumerate(jumps):
            clock.off = off
            put_game(run.buffer, 1 + index, id=f"after{index}")
            spool.scan()  # the learner looks several times a minute
        batch = spool.next_batch(Expected(STATE_DIM, len(ACTIONS)), 10, max_age=3600)
    assert len(batch) == 1 + len(jumps)
    assert "clock jumped" in caplog.text


def test_a_game_that_is_too_old_is_so_also_after_a_jump(clock: Clock) -> None:
    files = FileClock()
    modified = time.time() - 7200
    clock.off = DAY
    assert files.age(modified) == pytest.approx(7200, abs=60)
    clock.off = -DAY
    assert files.age(modified) == pytest.approx(7200, abs=60)
