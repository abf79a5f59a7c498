from __future__ import annotations

import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from understudy.games.zerg.opponent_memory import NOTHING_KNOWN, zerg_memory
from understudy.games.zerg.strategies import NAMES as STRATEGIES
from understudy.sc2.opponents import OpponentRecord

TERRAN, ZERG = 1, 2
ATTACK, DEFEND = STRATEGIES.index("ATTACK"), STRATEGIES.index("DEFEND")


def test_results_are_there_after_a_restart_and_recent_ones_count_most(tmp_path: Path) -> None:
    path = tmp_path / "data" / "opponents.json"
    memory = zerg_memory(path)
    for result in ("Victory", "Victory", "Victory", "Defeat", "Defeat", "Defeat"):
        memory.record("bot-a", TERRAN, result, rushed=False, start="ATTACK")
    for result in ("Defeat", "Defeat", "Defeat", "Victory", "Victory", "Victory"):
        memory.record("bot-b", ZERG, result, rushed=True, start="ATTACK")
    again = zerg_memory(path)
    of_a, of_b = again.expect("bot-a", TERRAN), again.expect("bot-b", ZERG)
    assert of_a == memory.expect("bot-a", TERRAN)
    assert of_a.won[ATTACK] < 0.5 < of_b.won[ATTACK]
    assert of_a.rushes < of_b.rushes


def test_an_unknown_opponent_is_expected_to_be_like_its_race(tmp_path: Path) -> None:
    memory = zerg_memory(tmp_path / "opponents.json")
    for _ in range(5):
        memory.record("bot-a", TERRAN, "Defeat", rushed=True, start="ATTACK")
        memory.record("bot-b", ZERG, "Victory", rushed=False, start="ATTACK")
    of_terran, of_zerg = memory.expect("new", TERRAN), memory.expect("new", ZERG)
    assert of_terran.won[ATTACK] < of_zerg.won[ATTACK]
    assert of_terran.rushes > of_zerg.rushes


def test_nothing_known_is_an_even_game(tmp_path: Path) -> None:
    assert zerg_memory(tmp_path / "opponents.json").expect("new", TERRAN) == NOTHING_KNOWN
    assert NOTHING_KNOWN.won == (0.5,) * len(STRATEGIES)


def test_results_are_kept_apart_by_how_a_game_began_and_one_start_does_not_fade_while_others_are_played() -> None:
    memory = zerg_memory(None)
    for _ in range(6):
        memory.record("rusher", ZERG, "Defeat", rushed=True, start="ATTACK")
    once = memory.expect("rusher", ZERG).won[ATTACK]
    for _ in range(100):
        memory.record("rusher", ZERG, "Victory", rushed=True, start="DEFEND")
    expected = memory.expect("rusher", ZERG)
    assert expected.won[ATTACK] == once < 0.2
    assert expected.won[DEFEND] > 0.9
    assert [expected.won[i] for i in range(len(STRATEGIES)) if i not in (ATTACK, DEFEND)] == [0.5] * 4


def test_every_start_is_tried_and_the_one_that_wins_most_often() -> None:
    memory, chance = zerg_memory(None), random.Random(0)
    drawn = Counter(memory.draw_start("new", ZERG, chance) for _ in range(300))
    assert drawn.keys() == set(range(len(STRATEGIES)))
    for _ in range(8):
        memory.record("rusher", ZERG, "Defeat", rushed=True, start="ATTACK")
        memory.record("rusher", ZERG, "Victory", rushed=True, start="DEFEND")
        memory.record("other", TERRAN, "Victory", rushed=False, start="ATTACK")
    against_rusher = Counter(memory.draw_start("rusher", ZERG, chance) for _ in range(300))
    assert against_rusher[DEFEND] > 150
    assert against_rusher[ATTACK] < 10
    against_other = Counter(memory.draw_start("other", TERRAN, chance) for _ in range(300))
    assert against_other[ATTACK] > against_other[DEFEND] > 0


def test_a_crash_is_no_result(tmp_path: Path) -> None:
    memory = zerg_memory(tmp_path / "opponents.json")
    memory.record("bot-a", TERRAN, "Crash", rushed=True)
    assert memory.expect("bot-a", TERRAN) == NOTHING_KNOWN


@pytest.mark.parametrize("content", ["", "{", '{"opponents": [1]}', '{"opponents": {"a": {}}}'])
def test_a_damaged_file_is_said_and_begun_anew(tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "opponents.json"
    path.write_text(content)
    memory = zerg_memory(path)
    assert "it is replaced" in caplog.text
    memory.record("bot-a", TERRAN, "Victory", rushed=False, start="ATTACK")
    assert zerg_memory(path).expect("bot-a", TERRAN).won[ATTACK] > 0.5


def test_the_memory_stays_bounded() -> None:
    memory = zerg_memory(None)
    for number in range(520):
        memory._records[f"id {number}"] = OpponentRecord(1.0, 0.0)
    memory.record("newest", TERRAN, "Victory", rushed=False)
    assert len(memory._records) == 500
    assert "id newest" in memory._records


OPENINGS = {"early": 0.5, "greedy": 0.5}


def test_an_opening_that_loses_to_an_opponent_gives_way_to_another(tmp_path: Path) -> None:
    memory = zerg_memory(tmp_path / "opponents.json")
    for _ in range(4):
        memory.record("rusher", ZERG, "Defeat", rushed=True, opening="greedy")
        memory.record("rusher", ZERG, "Victory", rushed=True, opening="early")
        memory.record("builder", TERRAN, "Defeat", rushed=False, opening="early")
        memory.record("builder", TERRAN, "Victory", rushed=False, opening="greedy")
    again = zerg_memory(tmp_path / "opponents.json")
    assert again.choose_opening("rusher", ZERG, OPENINGS) == "early"
    assert again.choose_opening("builder", TERRAN, OPENINGS) == "greedy"
    assert again.choose_opening("stranger", ZERG, OPENINGS) == "early"  # as against others of its race


def test_replays_decide_where_nothing_is_remembered_and_lately_counts_most_where_something_is(tmp_path: Path) -> None:
    memory = zerg_memory(None)
    assert memory.choose_opening("new", TERRAN, {"early": 0.4, "greedy": 0.6}) == "greedy"
    for result, opening in [("Victory", "early")] * 5 + [("Defeat", "early")] * 8 + [("Victory", "greedy")]:
        memory.record("a", TERRAN, result, rushed=False, opening=opening)
    assert memory.choose_opening("a", TERRAN, OPENINGS) == "greedy"


def test_a_draw_tries_everything_and_prefers_what_wins() -> None:
    memory, chance = zerg_memory(None), random.Random(0)
    drawn = Counter(memory.choose_opening("new", TERRAN, OPENINGS, chance) for _ in range(200))
    assert min(drawn["early"], drawn["greedy"]) > 60
    memory.record("new", TERRAN, "Victory", rushed=False, opening="early")
    memory.record("new", TERRAN, "Defeat", rushed=False, opening="greedy")
    drawn = Counter(memory.choose_opening("new", TERRAN, OPENINGS, chance) for _ in range(200))
    assert drawn["early"] > 3 * drawn["greedy"] > 0


def test_a_file_of_an_earlier_version_is_read(tmp_path: Path) -> None:
    path = tmp_path / "opponents.json"
    path.write_text('{"opponents": {"id a": {"games": 4, "points": 4, "rushes": 4}}}')
    assert zerg_memory(path).expect("a", TERRAN).rushes > 0.6


def test_games_that_end_at_the_same_moment_do_not_overwrite_each_other(tmp_path: Path) -> None:
    path = tmp_path / "o.json"

    def play(player: int) -> None:
        memory = zerg_memory(path)
        for game in range(15):
            memory.record(f"{player}-{game}", TERRAN, "Victory", rushed=False)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(play, range(4)))
    assert {f"id {player}-{game}" for player in range(4) for game in range(15)} <= zerg_memory(path)._records.keys()
