"""Shogi's contestants of the arena: engines by name and level, even games, resignation."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from understudy.check.contestants import contestants_of
from understudy.errors import SettingsError
from understudy.games.shogi.arena_players import known, matches
from understudy.games.shogi.errors import EngineError
from understudy.games.shogi.usi_process import find_engines
from understudy.parallel.arena import ArenaPlayer, can_meet, play_pairs

ENGINE = """
import sys
for line in sys.stdin:
    word = line.split()[:1]
    if word == ["usi"]:
        print("option name Level type spin default 0 min -20 max 20", "usiok", sep="\\n", flush=True)
    elif word == ["isready"]:
        print("readyok", flush=True)
    elif word == ["go"]:
        print("bestmove resign" if sys.argv[1] == "resigns" else sys.exit(3), flush=True)
"""


def engine(folder: Path, how: str) -> str:
    script = folder / "engine.py"
    script.write_text(ENGINE)
    return f"usi:{sys.executable} {script} {how}"


def test_names_with_levels_mean_engines(tmp_path: Path) -> None:
    assert known("usi:my-engine --option")
    assert known("usi:my-engine@nodes 500,Skill Level=-10")
    assert known("greedy")
    assert not known("nobody")
    assert not known("nobody@depth 1")
    for name in find_engines():
        assert known(f"{name}@depth 1")
    with pytest.raises(SettingsError, match="usi:COMMAND"):
        contestants_of(["nobody"], "shogi")


def test_pairs_have_the_same_opening_and_other_pairs_another() -> None:
    one, other, later = matches(3), matches(3), matches(3)
    one.reset(np.random.SeedSequence(1))
    other.reset(np.random.SeedSequence(1))
    later.reset(np.random.SeedSequence(2))
    assert [game.moves for game in one.games] == [game.moves for game in other.games]
    assert len({tuple(game.moves) for game in (*one.games, *later.games)}) == 6


@pytest.mark.slow
def test_an_engine_that_resigns_loses_on_both_sides(tmp_path: Path) -> None:
    loser = ArenaPlayer("loser", scripted=engine(tmp_path, "resigns") + "@depth 1,Level=-20")
    found = play_pairs("shogi", ArenaPlayer("random", scripted="random"), loser, [3])
    assert found == [("random", "loser", 3, 1), ("loser", "random", 3, -1)]


def test_an_engine_that_dies_is_an_error_of_that_game_only(tmp_path: Path) -> None:
    dead = ArenaPlayer("dead", scripted=engine(tmp_path, "dies"))
    with pytest.raises(EngineError, match="ended"):
        play_pairs("shogi", ArenaPlayer("random", scripted="random"), dead, [3])


@pytest.mark.slow
@pytest.mark.skipif("fairy-stockfish" not in find_engines(), reason="fairy-stockfish is not installed")
def test_a_real_engine_beats_a_random_player() -> None:
    strong = ArenaPlayer("strong", scripted="fairy-stockfish@depth 1")
    found = play_pairs("shogi", strong, ArenaPlayer("random", scripted="random"), [1])
    assert [result for *_, result in found] == [1, -1]


@pytest.mark.slow
def test_who_has_no_game_to_play_does_not_meet() -> None:
    version = ArenaPlayer("run v1", ("some.npz",))
    easy, hard = (ArenaPlayer(name, scripted=name) for name in ("VeryEasy", "CheatInsane"))
    assert can_meet("zerg", version, easy)
    assert not can_meet("zerg", easy, hard)
    assert can_meet("shogi", ArenaPlayer("greedy", scripted="greedy"), ArenaPlayer("random", scripted="random"))
