from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest

from understudy.sc2.build_orders import OVERALL, SCHEMA
from understudy.sc2.openings import OpeningBook
from understudy.sc2.opponents import OpponentMemory

TERRAN, ZERG, PROTOSS = 1, 2, 3
USUAL = {"wall": 0.5, "expand": 0.5}


def learned(folder: Path) -> Path:
    def matchup(*clusters: tuple[str, str, float]) -> dict[str, object]:
        found = [{"name": name, "opening": steps, "win_rate": rate} for name, steps, rate in clusters]
        return {"clusters": found, "opening": clusters[0][1], "milestones": {}}

    path = folder / "learned_build_orders.json"
    both = [("barracks first", "14 supply depot, 16 barracks", 0.6), ("command centre first", "16 command centre", 0.7)]
    content = {"schema": SCHEMA, "matchups": {OVERALL: matchup(*both), "TvZ": matchup(both[0])}}
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_every_opening_is_tried_and_the_one_that_wins_is_played_most() -> None:
    book, memory, chance = OpeningBook(USUAL, race=TERRAN), OpponentMemory(None), random.Random(0)
    for _ in range(12):
        memory.record("rusher", ZERG, "Victory", rushed=True, opening="wall")
        memory.record("rusher", ZERG, "Defeat", rushed=True, opening="expand")
    drawn = Counter(book.choose(memory, "rusher", ZERG, chance) for _ in range(300))
    assert drawn["wall"] > 270
    assert min(Counter(book.choose(OpponentMemory(None), "", 0, chance) for _ in range(300)).values()) > 100
    assert book.choose(memory, "rusher", ZERG, None) == "wall"


def test_what_replays_taught_takes_the_place_of_the_usual_openings(tmp_path: Path) -> None:
    book = OpeningBook(USUAL, race=TERRAN, learned=learned(tmp_path))
    assert book.against(ZERG) == {"barracks first": 0.6}
    assert set(book.against(0)) == set(book.against(PROTOSS)) == {"barracks first", "command centre first"}
    assert [str(step) for step in book.steps("barracks first", ZERG)] == ["14 supply depot", "16 barracks"]
    assert book.steps("wall", ZERG) == []
    assert book.choose(OpponentMemory(None), "", PROTOSS, None) == "command centre first"


def test_a_file_that_cannot_be_read_is_said_and_not_used(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "learned_build_orders.json"
    path.write_text("{", encoding="utf-8")
    assert OpeningBook(USUAL, learned=path).against(ZERG) == USUAL
    assert "cannot be used" in caplog.text


def test_a_bot_without_openings_has_none_to_choose() -> None:
    assert OpeningBook({}).choose(OpponentMemory(None), "", 0, random.Random(0)) == ""
