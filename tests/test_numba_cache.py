from __future__ import annotations

from pathlib import Path

from understudy.numba_cache import code_folder


def test_code_lies_elsewhere_when_anything_that_goes_into_it_has_changed(tmp_path: Path) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("a = 1\n")
    two.write_text("b = 1\n")
    before = code_folder("test", {}, [one, two], tmp_path)
    assert code_folder("test", {}, [two, one], tmp_path) == before
    two.write_text("b = 2\n")
    after = code_folder("test", {}, [one, two], tmp_path)
    others = (
        code_folder("test", {"fastmath": True}, [one, two], tmp_path),
        code_folder("test", {}, [one, two], tmp_path / "elsewhere"),
    )
    assert len({before, after, *others}) == 4
