"""The guides for authors, followed from an empty folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from page_blocks import run_blocks


@pytest.mark.slow
def test_the_guide_for_a_bot_of_ones_own(tmp_path: Path) -> None:
    pytest.importorskip("sc2")
    pytest.importorskip("numba")
    printed = run_blocks("your-bot.md", tmp_path)
    assert "bot against Zerg (VeryEasy)" in printed[0]
    assert (tmp_path / "my_bot" / "my_bot.zip").exists()
    assert printed[1].split()[0] == "15"


@pytest.mark.slow
def test_the_guide_for_an_environment_of_ones_own(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    printed = run_blocks("your-environment.md", tmp_path)
    score = re.search(r"mean return (-?[\d.]+)", printed[0])
    assert score is not None, printed[0]
    assert float(score[1]) == pytest.approx(0.94, abs=0.01)
    assert len(list(tmp_path.glob("my_run/data/archive/*.npz"))) == 20
