from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

TOOL = Path(__file__).parent.parent / "tools" / "test_background_training.py"


@pytest.fixture
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("background_training_checks", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_four_checks_pass_and_print_what_they_saw(tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert tool.main() == 0
    out = capsys.readouterr().out
    assert out.count("PASSED") == 5
    assert "Files processed: 5" in out
    assert "States shape: (30, 50)" in out


def test_a_check_that_does_not_hold_fails_the_run(
    tool: ModuleType, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool.RLAgent, "save_model", lambda self, path=None: True)  # returns True, but saves nothing
    assert tool.main() == 1
    out = capsys.readouterr().out
    assert "Test 2 FAILED" in out
    assert "ALL TESTS PASSED" not in out
