from __future__ import annotations

import errno
import os
import stat
import sys
import time
from pathlib import Path
from typing import BinaryIO

import pytest

from files.children import kill, start
from understudy.files import atomic
from understudy.files.atomic import move, remove_if_there, remove_stale_temporaries, write_atomically


def test_a_file_appears_with_its_content_and_nothing_else_remains(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes(b"old")
    write_atomically(path, lambda stream: stream.write(b"new"))
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_while_being_written_no_reader_would_take_the_file(tmp_path: Path) -> None:
    seen: list[str] = []

    def write(stream: BinaryIO) -> None:
        stream.write(b"half")
        seen.extend(entry.name for entry in tmp_path.iterdir())

    write_atomically(tmp_path / "x.npz", write)
    assert len(seen) == 1
    assert seen[0].startswith(".x.npz.")
    assert not seen[0].endswith((".npz", ".json"))


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_failed_write_leaves_the_old_file_and_no_temporary(tmp_path: Path, error: BaseException) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(b"old")

    def write(stream: BinaryIO) -> None:
        stream.write(b"half")
        raise error

    with pytest.raises(type(error)) as caught:
        write_atomically(path, write)
    assert str(path) in str(caught.value) + "".join(getattr(caught.value, "__notes__", ()))
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot sync a folder")
def test_durable_means_data_on_disk_before_the_name_and_the_name_on_disk_before_return(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    real_fsync, real_move = os.fsync, atomic.move

    def fsync(descriptor: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "data")
        real_fsync(descriptor)

    def record_move(source: Path, target: Path) -> None:
        assert source.read_bytes() == b"content"
        steps.append("move")
        real_move(source, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(atomic, "move", record_move)
    write_atomically(tmp_path / "a", lambda stream: stream.write(b"content"))
    assert steps == ["data", "move", "folder"]
    steps.clear()
    write_atomically(tmp_path / "a", lambda stream: stream.write(b"content"), durable=False)
    assert steps == ["move"]


def refuse(times: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Make the next `times` replaces fail as they do on Windows while a reader has the file open."""
    attempts = [0]
    real = Path.replace

    def replace(self: Path, target: Path) -> Path:
        attempts[0] += 1
        if attempts[0] <= times:
            raise PermissionError(errno.EACCES, "in use")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    return attempts


def test_a_replace_that_meets_a_reader_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "_RETRY_SECONDS", 30.0)
    attempts = refuse(3, monkeypatch)
    write_atomically(tmp_path / "a", lambda stream: stream.write(b"content"))
    assert attempts == [4]
    assert (tmp_path / "a").read_bytes() == b"content"


def test_patience_ends_with_the_error_and_without_a_temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atomic, "_RETRY_SECONDS", 0.05)
    attempts = refuse(10**9, monkeypatch)
    with pytest.raises(PermissionError):
        write_atomically(tmp_path / "a", lambda stream: stream.write(b"content"))
    assert attempts[0] > 1
    assert list(tmp_path.iterdir()) == []


def test_move_replaces_and_remove_tells_whether_there_was_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    (tmp_path / "b").write_bytes(b"b")
    move(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"a"
    assert remove_if_there(tmp_path / "b")
    assert not remove_if_there(tmp_path / "b")


def test_a_writer_killed_half_way_leaves_the_old_file_and_a_temporary_that_is_swept(tmp_path: Path) -> None:
    code = """
import sys, time
from pathlib import Path
from understudy.files.atomic import write_atomically
def write(stream):
    stream.write(b"half"); stream.flush(); print("ready", flush=True); time.sleep(60)
write_atomically(Path(sys.argv[1]), write)
"""
    path = tmp_path / "x.npz"
    path.write_bytes(b"old")
    kill(start(code, path))
    assert path.read_bytes() == b"old"
    (left,) = (entry for entry in tmp_path.iterdir() if entry != path)
    assert remove_stale_temporaries(tmp_path, older_than_seconds=3600) == 0
    os.utime(left, (time.time() - 7200, time.time() - 7200))
    assert remove_stale_temporaries(tmp_path, older_than_seconds=3600) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_sweeping_keeps_what_this_package_did_not_write(tmp_path: Path) -> None:
    for name in ("notes.tmp", ".hidden.tmp", "game.npz", ".x.npz.12-0123abcd.tmp.npz"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    assert remove_stale_temporaries(tmp_path, 1) == 0
    assert len(list(tmp_path.iterdir())) == 4
