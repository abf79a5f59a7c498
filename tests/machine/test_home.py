from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from understudy.machine.home import have_a_home

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has a home for everybody")


@pytest.fixture
def homeless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """HOME is not set, and the user is not in the list of users; the folder for temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("HOME", "so that it is restored")
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", lambda uid: {}[uid])
    return tmp_path


def test_a_user_without_a_home_gets_a_private_one_that_stays(homeless: Path) -> None:
    with pytest.raises(RuntimeError):
        Path.home()
    have_a_home()
    first = Path.home()
    assert first.parent == homeless
    assert first.stat().st_mode & 0o777 == 0o700
    del os.environ["HOME"]
    have_a_home()
    assert Path.home() == first


def test_a_folder_that_others_can_write_to_is_not_trusted(homeless: Path) -> None:
    planted = homeless / f"understudy-home-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    have_a_home()
    assert Path.home() not in (planted, homeless)


def test_a_home_that_is_there_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    have_a_home()
    assert Path.home() == tmp_path
