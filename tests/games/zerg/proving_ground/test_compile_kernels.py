"""Compiling beforehand is worth its while only if what it makes is what games then use."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from understudy.games.zerg.direct.batch import compile_simulation
from understudy.games.zerg.proving_ground import compile_kernels, compiled


def test_games_use_the_very_versions_that_were_compiled_beforehand() -> None:
    compile_simulation()
    doors = [function for function in compiled.functions if function.signatures]
    assert len(doors) >= 10
    for door in doors:
        assert door.signatures == [compile_kernels._signature(door.py_func)], door


def test_every_function_is_compiled_once_and_no_other_version_of_it() -> None:
    compile_simulation()
    versions = [path.name for path in compiled.cache_folder().rglob("*.nbc")]
    assert len(versions) == len(compiled.functions), sorted(versions)


def test_machine_code_for_sources_at_another_place_is_not_taken_for_complete(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """numba keeps code by the place of its source: a second copy of this project would find nothing compiled."""
    here = Path(compiled.__file__).parent
    copy = shutil.copytree(here, tmp_path / here.name)
    monkeypatch.setattr(compiled, "__file__", str(copy / "compiled.py"))
    assert compiled.cache_folder.__wrapped__() != compiled.cache_folder()
    monkeypatch.setattr(compiled, "__file__", str(here / "compiled.py"))
    assert compiled.cache_folder.__wrapped__() == compiled.cache_folder()


def test_a_function_waits_for_those_it_calls() -> None:
    names = [f"{f.py_func.__module__.rsplit('.', 1)[-1]}.{f.py_func.__name__}" for f in compiled.functions]
    issue = compiled.functions[names.index("entry_points.issue")]
    called = {names[number] for number in compile_kernels._callees(issue)}
    assert "orders.issue" in called
    assert "entry_points.issue" not in called


def test_a_cache_that_cannot_be_written_is_said_in_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(compiled, "cache_folder", lambda: tmp_path / "file" / "kernels")
    handler = signal.getsignal(signal.SIGTERM)
    assert compile_kernels.main() == 1
    signal.signal(signal.SIGTERM, handler)
    assert "Set XDG_CACHE_HOME" in capsys.readouterr().err
