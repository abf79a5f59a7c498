"""Where there is no Chromium the tests of the dashboard say so; `make test` installs it where apt-get can."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tools import chromium

from watch.dashboard.conftest import chromium_or_skip


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with nothing on its PATH but what a test puts there."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(chromium, "PLACES", ())
    return tmp_path


def program(path: Path, text: str = "") -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def test_without_one_tests_are_skipped_with_what_to_do(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert chromium.find_chromium() is None
    with pytest.raises(
        pytest.skip.Exception, match=r"Install it \(Debian: apt-get install chromium\), or set CHROMIUM"
    ):
        chromium_or_skip()
    assert chromium.main() == 0  # not a reason for `make test` to fail
    assert capsys.readouterr().out == f"{chromium.MISSING} The tests of the dashboard are skipped.\n"


@pytest.mark.skipif(os.name != "posix", reason="apt-get is a program of Debian")
def test_where_apt_get_can_install_it_it_does(
    bare: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    asked = bare / "asked"
    installs = f'case "$*" in *install*) echo "#!/bin/sh" > {bare}/chromium; /bin/chmod +x {bare}/chromium;; esac'
    program(bare / "apt-get", f'echo "$@" >> {asked}\n{installs}')
    assert chromium.main() == 0
    assert asked.read_text().splitlines() == ["-qq update", "-qq install -y --no-install-recommends chromium"]
    assert capfd.readouterr().out.splitlines()[-1] == f"Chromium: {bare / 'chromium'}"
    assert chromium_or_skip() == str(bare / "chromium")


@pytest.mark.skipif(os.name != "posix", reason="a script is no program elsewhere")
def test_a_relative_of_it_will_do_and_a_variable_goes_first(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(bare / "google-chrome")
    assert chromium.find_chromium() == str(bare / "google-chrome")
    monkeypatch.setenv("CHROMIUM", "/opt/mine")
    assert chromium.find_chromium() == "/opt/mine"
