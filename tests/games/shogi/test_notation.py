from __future__ import annotations

import cshogi
import pytest

from games.shogi.random_games import random_positions
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.notation import japanese, japanese_line, typed_move
from understudy.games.shogi.rules import ShogiGame


def test_every_legal_move_is_understood_as_it_is_written() -> None:
    seen = 0
    for game in random_positions(8, 300):
        if game.result is None:
            for move in game.legal_moves:
                assert typed_move(japanese(cshogi.move_to_usi(move), game), game) == move
                seen += 1
    assert seen > 5000


@pytest.mark.parametrize("text", ["7g7f", "７六歩", "76歩", "7六歩", "▲７六歩(77)", "７六歩(77)", "☗76歩"])
def test_one_move_in_many_ways(text: str) -> None:
    assert cshogi.move_to_usi(typed_move(text, ShogiGame())) == "7g7f"


def test_the_square_of_the_last_move_promotion_and_drops() -> None:
    game = ShogiGame()
    for text in ("７六歩", "３四歩", "２二角成", "同銀", "５五角打"):
        game.push(typed_move(text, game))
    assert game.usi_moves() == ["7g7f", "3c3d", "8h2b+", "3a2b", "B*5e"]
    assert japanese_line(("7a6b", "5e2b+", "9z9z"), game) == ["△６二銀(71)", "▲２二角成(55)"]
    assert len(game.moves) == 5


def test_what_is_not_clear_or_not_legal_is_said() -> None:
    with pytest.raises(GameError, match=r"(?s)may be .*\(49\).*\(69\)|may be .*\(69\).*\(49\)"):
        typed_move("５八金", ShogiGame())
    assert cshogi.move_to_usi(typed_move("５八金(49)", ShogiGame())) == "4i5h"
    for text in ("７五歩", "同歩", "hello", "７六銀", ""):
        with pytest.raises(GameError):
            typed_move(text, ShogiGame())
