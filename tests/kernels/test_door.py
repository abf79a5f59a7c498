from __future__ import annotations

from pathlib import Path

import pytest

from understudy import kernels as compiled


def test_code_lies_elsewhere_when_anything_that_goes_into_it_has_changed(tmp_path: Path) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("a = 1\n")
    two.write_text("b = 1\n")
    before = compiled.code_folder("test", {}, [one, two], tmp_path)
    assert compiled.code_folder("test", {}, [two, one], tmp_path) == before
    two.write_text("b = 2\n")
    after = compiled.code_folder("test", {}, [one, two], tmp_path)
    others = (
        compiled.code_folder("test", {"fastmath": True}, [one, two], tmp_path),
        compiled.code_folder("test", {}, [one, two], tmp_path / "elsewhere"),
    )
    assert len({before, after, *others}) == 4


def test_a_function_is_compiled_where_no_code_can_be_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path / "file" / "folder")

    def double(x: int) -> int:
        return 2 * x

    assert compiled.compiled(double)(21) == 42


def test_what_is_compiled_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(compiled, "_folder", lambda: tmp_path)
    with pytest.raises(KeyboardInterrupt), compiled.once("a net"):
        raise KeyboardInterrupt
    for what in ("a net", "a net", "a tower"):
        with compiled.once(what):
            pass
    said = [line.partition(",")[0] for line in capsys.readouterr().err.splitlines()]
    assert said == ["Compiling a net", "Compiling a net", "Compiling a tower"]
