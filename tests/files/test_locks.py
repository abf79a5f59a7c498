from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from files.children import kill, start
from understudy.files import locks
from understudy.files.locks import FileLock, read_holder


def test_a_lock_excludes_others_until_it_is_released(tmp_path: Path) -> None:
    first, second = FileLock(tmp_path / "lock"), FileLock(tmp_path / "lock")
    assert first.acquire()
    assert first.held
    assert not second.acquire(blocking=False)
    assert not second.acquire(timeout=0.02)
    assert not second.held
    first.release()
    first.release()
    assert second.acquire(blocking=False)
    second.release()


def test_a_waiting_thread_gets_the_lock_when_it_is_released(tmp_path: Path) -> None:
    got = threading.Event()

    def wait() -> None:
        with FileLock(tmp_path / "lock"):
            got.set()

    with FileLock(tmp_path / "lock"):
        thread = threading.Thread(target=wait)
        thread.start()
        assert not got.wait(0.05)
    assert got.wait(10)
    thread.join()


def test_a_lock_is_not_reentrant(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock")
    with lock, pytest.raises(RuntimeError, match="not re-entrant"):
        lock.acquire()
    assert not lock.held


def test_a_lock_is_not_inherited_by_child_programs(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock") as lock:
        assert lock._descriptor is not None
        assert not os.get_inheritable(lock._descriptor)


HOLD = """
import sys, time
from pathlib import Path
from understudy.files.locks import FileLock
lock = FileLock(Path(sys.argv[1]), what="testing")
lock.acquire()
print("ready", flush=True)
time.sleep(60)
"""


def test_the_lock_of_a_killed_process_is_free_and_its_note_says_who_it_was(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    child = start(HOLD, path)
    try:
        assert not FileLock(path).acquire(blocking=False)
        holder = read_holder(path)
        assert holder is not None
        assert holder["pid"] == child.pid
        assert holder["what"] == "testing"
        assert holder["since"] <= time.time()
        assert holder["host"]
    finally:
        kill(child)
    if sys.platform != "win32":
        assert child.returncode == -signal.SIGKILL
    assert FileLock(path).acquire(timeout=10)


def test_the_note_is_gone_after_an_orderly_release(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with FileLock(path, what="a long description " * 20):
        pass
    assert read_holder(path) is None
    with FileLock(path, what="short"):
        holder = read_holder(path)
    assert holder is not None
    assert holder["what"] == "short"


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b"[" * 5000])
def test_a_note_that_is_none_is_no_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "lock").write_bytes(content)
    assert read_holder(tmp_path / "lock") is None
    assert read_holder(tmp_path / "missing") is None


def test_locking_leaves_the_content_alone_and_open_to_others(tmp_path: Path) -> None:
    path = tmp_path / "x.journal"
    path.write_bytes(b"content")
    with FileLock(path):
        assert path.read_bytes() == b"content"
        with path.open("ab") as stream:
            stream.write(b" and more")
    assert path.read_bytes() == b"content and more"


def test_a_lock_on_a_file_that_was_removed_meanwhile_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "lock"
    real, calls = locks._lock, [0]

    def lock_after_removal(descriptor: int) -> bool:
        calls[0] += 1
        if calls[0] == 1:
            path.unlink()
        return real(descriptor)

    if sys.platform == "win32":
        pytest.skip("Windows removes no open file")
    monkeypatch.setattr(locks, "_lock", lock_after_removal)
    with FileLock(path):
        assert calls == [2]
        assert not FileLock(path).acquire(blocking=False)


def test_without_create_a_missing_lock_file_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FileLock(tmp_path / "lock", create=False).acquire()
    assert list(tmp_path.iterdir()) == []
