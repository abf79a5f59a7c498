from __future__ import annotations

import threading
import time

import cshogi
import numpy as np
import pytest
from numpy.typing import NDArray

from games.shogi.material import material
from understudy.games.shogi.inference import Outputs
from understudy.games.shogi.rules import ShogiGame
from understudy.games.shogi.search import Limits, Search, centipawns, mating_move


def usi(move: int) -> str:
    return str(cshogi.move_to_usi(move))


def test_a_mate_in_one_is_played() -> None:
    game = ShogiGame("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    thought = Search(material).think(game, Limits(nodes=50))
    assert usi(thought.move) == "G*5b"
    assert thought.value == 1


def test_a_piece_that_hangs_is_taken_and_the_value_is_that_of_the_player_to_move() -> None:
    sfen = "4k4/9/9/4r4/9/9/9/4R4/3K5 b - 1"
    for start, best in ((sfen, "5h5d"), (cshogi.rotate_sfen(sfen), "5b5f")):
        thought = Search(material).think(ShogiGame(start), Limits(nodes=300))
        assert usi(thought.move) == best
        assert thought.value > 0.5
        assert thought.line[0] == thought.move


def test_a_piece_is_not_given_for_a_defended_pawn() -> None:
    game = ShogiGame("4k4/4g4/4p4/9/9/9/9/4R4/3K5 b - 1")
    thought = Search(material).think(game, Limits(nodes=600))
    assert usi(thought.move) != "5h5c"


def test_the_search_ends_at_its_number_of_nodes_and_leaves_the_game_alone() -> None:
    game = ShogiGame()
    game.push_usi("7g7f")
    before = game.board.sfen()
    for nodes in (1, 2, 7, 100):
        thought = Search(material).think(game, Limits(nodes=nodes))
        assert thought.nodes == nodes
        assert sum(visits for _, visits in thought.visits) == nodes - 1
        assert (game.board.sfen(), len(game.moves), game.result) == (before, 1, None)


def test_the_search_ends_in_time_and_when_told_to() -> None:
    stop = threading.Event()
    stop.set()
    assert Search(material).think(ShogiGame(), Limits(stop=stop)).nodes == 1
    thought = Search(material).think(ShogiGame(), Limits(deadline=time.monotonic() + 0.05))
    assert thought.nodes > 1


def test_nothing_begins_that_would_end_after_the_deadline() -> None:
    limits = Limits(nodes=100, deadline=time.monotonic() + 1000)
    assert not limits.reached(99, next_seconds=10)
    assert limits.reached(99, next_seconds=2000)
    assert limits.reached(100)


def test_the_game_is_restored_when_the_evaluator_fails() -> None:
    calls = 0

    def failing(planes: NDArray[np.float32]) -> Outputs:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise RuntimeError("out of order")
        return material(planes)

    game = ShogiGame()
    with pytest.raises(RuntimeError):
        Search(failing).think(game, Limits(nodes=100))
    assert game.moves == []


def test_one_leaf_at_a_time_and_eight_count_visits_alike() -> None:
    for leaves in (1, 8):
        thought = Search(material, leaves).think(ShogiGame("4k4/9/9/4r4/9/9/9/4R4/3K5 b - 1"), Limits(nodes=200))
        assert sum(visits for _, visits in thought.visits) == 199
        assert abs(thought.value) <= 1


def test_repetition_is_a_draw_for_the_search_too() -> None:
    game = ShogiGame()
    for move in (["2h3h", "8b7b", "3h2h", "7b8b"] * 3)[:-1]:
        game.push_usi(move)
    assert game.result is None
    thought = Search(material).think(game, Limits(nodes=200))
    repeating = {usi(move): visits for move, visits in thought.visits}["7b8b"]
    assert repeating > 0
    assert game.result is None


def test_mating_moves_are_legal_mates() -> None:
    assert mating_move(ShogiGame()) == 0
    game = ShogiGame("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    result = game.push(mating_move(game))
    assert result is not None


def test_centipawns_are_symmetric_and_bounded() -> None:
    assert centipawns(0) == 0
    assert centipawns(0.5) == -centipawns(-0.5) > 0
    assert centipawns(1) == -centipawns(-1) < 10_000
