from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from understudy.games.shogi.book import BookMove, book_move, make_book, position_key, read_book, write_book
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.record import GameRecord
from understudy.games.shogi.rules import START, ShogiGame

FIRST = position_key(START)
GAMES = [
    GameRecord(("7g7f", "3c3d", "2g2f"), evaluations=(30, -20, None)),
    GameRecord(("7g7f", "8c8d", "2g2f"), evaluations=(50, None, None)),
    GameRecord(("7g7f", "3c3d"), evaluations=(10, -40)),
    GameRecord(("2g2f",)),
]


def test_a_book_counts_moves_answers_and_values_for_the_player_to_move() -> None:
    book = make_book(GAMES, moves=2)
    assert book[FIRST] == [BookMove("7g7f", "3c3d", 30, 0, 3), BookMove("2g2f", None, 0, 0, 1)]
    game = ShogiGame()
    game.push_usi("7g7f")
    assert book[position_key(game.board.sfen())] == [
        BookMove("3c3d", "2g2f", 30, 0, 2),
        BookMove("8c8d", "2g2f", 0, 0, 1),
    ]
    assert len(book) == 2
    assert [move.usi for move in make_book(GAMES, 2, least=2)[FIRST]] == ["7g7f"]


def test_a_book_is_read_as_it_was_written_and_as_others_write_it(tmp_path: Path) -> None:
    path = tmp_path / "book.db"
    book = make_book(GAMES, moves=3)
    write_book(path, book)
    assert read_book(path) == book
    assert path.read_text().startswith("#YANEURAOU-DB2016 1.00\nsfen ")
    path.write_text(
        f"#YANEURAOU-DB2016 1.00\r\n// a comment\r\nsfen {START}\r\n7g7f none -12 32 5 // main\r\n2g2f 8c8d\r\n"
        f"sfen {FIRST.replace(' b ', ' w ')}\r\n"
    )
    read = read_book(path)
    assert read[FIRST] == [BookMove("7g7f", None, -12, 32, 5), BookMove("2g2f", "8c8d", 0, 0, 1)]


@pytest.mark.parametrize(
    "text", ["7g7f none 0 0 1", f"sfen {START}\nnonsense", "sfen 9/9 b - 1", f"sfen {START}\n7g7f none x"]
)
def test_what_is_no_book_is_refused_with_its_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "book.db"
    path.write_text(text)
    with pytest.raises(GameError, match=r"book\.db, line \d"):
        read_book(path)


def test_moves_are_drawn_by_how_often_they_were_played_and_only_legal_ones() -> None:
    rng = np.random.default_rng(0)
    book = {FIRST: [BookMove("7g7f", times=3), BookMove("2g2f", times=1), BookMove("7g7d", times=100)]}
    drawn = [book_move(book, ShogiGame(), rng) for _ in range(400)]
    shares = [sum(move is not None and move.usi == usi for move in drawn) / 400 for usi in ("7g7f", "2g2f")]
    assert abs(shares[0] - 0.75) < 0.07
    assert sum(shares) == 1
    assert book_move(book, ShogiGame("4k4/9/9/9/9/9/9/9/4K4 b - 1"), rng) is None
