from __future__ import annotations

from pathlib import Path

import pytest

from understudy.games.zerg.learned_openings import read_opening
from understudy.games.zerg.macro import Opening


def test_timings_from_replays_are_played(tmp_path: Path) -> None:
    path = tmp_path / "learned_build_orders.json"
    path.write_text('{"zerg": {"pool": 14, "gas": 18}}')
    assert read_opening(path) == Opening(pool=14, gas=18)


def test_without_a_file_the_usual_opening_is_played(tmp_path: Path) -> None:
    assert read_opening(tmp_path / "nothing.json") == Opening()


@pytest.mark.parametrize("content", ["", "[]", '{"terran": {}}', '{"zerg": {"pool": "soon"}}'])
def test_a_file_that_cannot_be_used_is_said(tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "learned_build_orders.json"
    path.write_text(content)
    assert read_opening(path) == Opening()
    assert "usual opening" in caplog.text


def test_a_supply_that_is_no_opening_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "learned_build_orders.json"
    path.write_text('{"zerg": {"pool": 500, "hatchery": 18}}')
    assert read_opening(path) == Opening(hatchery=18)
    assert "500" in caplog.text
