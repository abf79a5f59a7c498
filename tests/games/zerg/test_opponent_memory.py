from __future__ import annotations

from pathlib import Path

import pytest

from understudy.games.zerg.opponent_memory import OpponentMemory

TERRAN, ZERG = 1, 2


def test_results_are_there_after_a_restart_and_recent_ones_count_most(tmp_path: Path) -> None:
    path = tmp_path / "data" / "opponents.json"
    memory = OpponentMemory(path)
    for result in ("Victory", "Victory", "Victory", "Defeat", "Defeat", "Defeat"):
        memory.record("bot-a", TERRAN, result, rushed=False)
    for result in ("Defeat", "Defeat", "Defeat", "Victory", "Victory", "Victory"):
        memory.record("bot-b", ZERG, result, rushed=True)
    again = OpponentMemory(path)
    assert again.prior("bot-a", TERRAN) == memory.prior("bot-a", TERRAN)
    assert again.prior("bot-a", TERRAN)[0] < 0.5 < again.prior("bot-b", ZERG)[0]
    assert again.prior("bot-a", TERRAN)[1] < again.prior("bot-b", ZERG)[1]


def test_an_unknown_opponent_is_expected_to_be_like_its_race(tmp_path: Path) -> None:
    memory = OpponentMemory(tmp_path / "opponents.json")
    for _ in range(5):
        memory.record("bot-a", TERRAN, "Defeat", rushed=True)
        memory.record("bot-b", ZERG, "Victory", rushed=False)
    won_terran, rushed_terran = memory.prior("new", TERRAN)
    won_zerg, rushed_zerg = memory.prior("new", ZERG)
    assert won_terran < won_zerg
    assert rushed_terran > rushed_zerg


def test_nothing_known_is_an_even_game(tmp_path: Path) -> None:
    assert OpponentMemory(tmp_path / "opponents.json").prior("new", TERRAN) == (0.5, 0.2)


def test_a_crash_is_no_result(tmp_path: Path) -> None:
    memory = OpponentMemory(tmp_path / "opponents.json")
    memory.record("bot-a", TERRAN, "Crash", rushed=True)
    assert memory.prior("bot-a", TERRAN) == (0.5, 0.2)


@pytest.mark.parametrize("content", ["", "{", '{"opponents": [1]}', '{"opponents": {"a": {}}}'])
def test_a_damaged_file_is_said_and_begun_anew(tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "opponents.json"
    path.write_text(content)
    memory = OpponentMemory(path)
    assert "begun anew" in caplog.text
    memory.record("bot-a", TERRAN, "Victory", rushed=False)
    assert OpponentMemory(path).prior("bot-a", TERRAN)[0] > 0.5


def test_the_file_stays_bounded(tmp_path: Path) -> None:
    memory = OpponentMemory(tmp_path / "opponents.json")
    for number in range(520):
        memory._records[f"id {number}"] = {"games": 1.0, "points": 1.0, "rushes": 0.0}
    memory.record("newest", TERRAN, "Victory", rushed=False)
    assert len(memory._records) == 500
    assert "id newest" in memory._records
