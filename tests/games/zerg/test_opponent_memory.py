from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from understudy.games.zerg.opponent_memory import OpponentMemory, Record

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


def test_the_memory_stays_bounded() -> None:
    memory = OpponentMemory(None)
    for number in range(520):
        memory._records[f"id {number}"] = Record(1.0, 1.0, 0.0)
    memory.record("newest", TERRAN, "Victory", rushed=False)
    assert len(memory._records) == 500
    assert "id newest" in memory._records


OPENINGS = {"early": 0.5, "greedy": 0.5}


def test_an_opening_that_loses_to_an_opponent_gives_way_to_another(tmp_path: Path) -> None:
    memory = OpponentMemory(tmp_path / "opponents.json")
    for _ in range(4):
        memory.record("rusher", ZERG, "Defeat", rushed=True, opening="greedy")
        memory.record("rusher", ZERG, "Victory", rushed=True, opening="early")
        memory.record("builder", TERRAN, "Defeat", rushed=False, opening="early")
        memory.record("builder", TERRAN, "Victory", rushed=False, opening="greedy")
    again = OpponentMemory(tmp_path / "opponents.json")
    assert again.choose_opening("rusher", ZERG, OPENINGS) == "early"
    assert again.choose_opening("builder", TERRAN, OPENINGS) == "greedy"
    assert again.choose_opening("stranger", ZERG, OPENINGS) == "early"  # as against others of its race


def test_replays_decide_where_nothing_is_remembered_and_lately_counts_most_where_something_is(tmp_path: Path) -> None:
    memory = OpponentMemory(None)
    assert memory.choose_opening("new", TERRAN, {"early": 0.4, "greedy": 0.6}) == "greedy"
    for result, opening in [("Victory", "early")] * 5 + [("Defeat", "early")] * 8 + [("Victory", "greedy")]:
        memory.record("a", TERRAN, result, rushed=False, opening=opening)
    assert memory.choose_opening("a", TERRAN, OPENINGS) == "greedy"


def test_a_draw_tries_everything_and_prefers_what_wins() -> None:
    memory, chance = OpponentMemory(None), random.Random(0)
    drawn = Counter(memory.choose_opening("new", TERRAN, OPENINGS, chance) for _ in range(200))
    assert min(drawn["early"], drawn["greedy"]) > 60
    memory.record("new", TERRAN, "Victory", rushed=False, opening="early")
    memory.record("new", TERRAN, "Defeat", rushed=False, opening="greedy")
    drawn = Counter(memory.choose_opening("new", TERRAN, OPENINGS, chance) for _ in range(200))
    assert drawn["early"] > 3 * drawn["greedy"] > 0


def test_a_file_without_openings_is_read(tmp_path: Path) -> None:
    path = tmp_path / "opponents.json"
    path.write_text('{"opponents": {"id a": {"games": 4, "points": 4, "rushes": 0}}}')
    assert OpponentMemory(path).prior("a", TERRAN)[0] > 0.7


def test_games_that_end_at_the_same_moment_do_not_overwrite_each_other(tmp_path: Path) -> None:
    path = tmp_path / "o.json"

    def play(player: int) -> None:
        memory = OpponentMemory(path)
        for game in range(15):
            memory.record(f"{player}-{game}", TERRAN, "Victory", rushed=False)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(play, range(4)))
    assert {f"id {player}-{game}" for player in range(4) for game in range(15)} <= OpponentMemory(path)._records.keys()
