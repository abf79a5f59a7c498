from __future__ import annotations

from pathlib import Path

import pytest

from understudy.games.shogi import kernels


def test_a_function_is_compiled_where_no_code_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(kernels, "_folder", lambda: tmp_path / "file" / "folder")

    def double(x: int) -> int:
        return 2 * x

    assert kernels.compiled(double)(21) == 42


def test_what_is_compiled_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernels, "_folder", lambda: tmp_path)
    with pytest.raises(KeyboardInterrupt), kernels.announced("a net"):
        raise KeyboardInterrupt
    for what in ("a net", "a net", "a tower"):
        with kernels.announced(what):
            pass
    said = [line.partition(",")[0] for line in capsys.readouterr().err.splitlines()]
    assert said == ["Compiling a net", "Compiling a net", "Compiling a tower"]
