from __future__ import annotations

import cshogi
import pytest

from games.shogi import slow_shogi
from games.shogi.random_games import random_positions
from understudy.games.shogi.actions import BLACK, WHITE
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.rules import START, Ending, Result, ShogiGame, check_sfen, game_of_position


def perft(game: ShogiGame, depth: int) -> int:
    if depth == 1:
        return len(game.legal_moves)
    total = 0
    for move in list(game.legal_moves):
        game.push(move)
        total += perft(game, depth - 1)
        game.pop()
    return total


@pytest.mark.parametrize(("depth", "nodes"), [(1, 30), (2, 900), (3, 25_470), (4, 719_731)])
def test_perft_from_the_start(depth: int, nodes: int) -> None:
    assert perft(ShogiGame(), depth) == nodes


@pytest.mark.slow
def test_legal_moves_of_random_positions_are_those_of_a_slow_generator() -> None:
    for number, game in enumerate(random_positions(seed=3, count=4_000)):
        if number % 20 == 0 or (game.in_check and number % 4 == 0):
            moves = {cshogi.move_to_usi(move) for move in game.legal_moves}
            assert moves == slow_shogi.legal_moves(game.board.sfen()), game.board.sfen()


@pytest.mark.parametrize(
    ("sfen", "illegal", "legal"),
    [
        # A pawn may not be dropped for mate; a lance may, and a pawn that only gives check.
        ("6snk/9/7+P1/9/9/9/9/9/4K4 b LP 1", ["P*1b"], ["L*1b"]),
        ("6s1k/9/9/9/9/9/9/9/4K4 b P 1", [], ["P*1b"]),
        # Two pawns on a file, and pieces that could never move again.
        ("4k4/9/9/9/9/9/4P4/9/4K4 b PNL 1", ["P*5e", "P*4a", "N*4b", "N*4a", "L*4a"], ["P*4b", "N*4c", "L*4b"]),
    ],
)
def test_drops_that_are_forbidden(sfen: str, illegal: list[str], legal: list[str]) -> None:
    moves = {cshogi.move_to_usi(move) for move in ShogiGame(sfen).legal_moves}
    assert moves == slow_shogi.legal_moves(sfen)
    assert not moves & set(illegal)
    assert moves >= set(legal)


def test_mate_wins_for_the_mover() -> None:
    game = ShogiGame("4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    assert game.push_usi("G*5b") == Result(BLACK, Ending.MATE)
    assert game.board.is_game_over()


def test_stalemate_loses_for_the_player_without_a_move() -> None:
    game = ShogiGame("8k/9/6+RK1/9/9/9/9/9/9 b - 1")
    assert game.push_usi("3c3b") == Result(BLACK, Ending.MATE)
    assert not game.in_check


SHUFFLE = ["2h3h", "8b7b", "3h2h", "7b8b"]


def test_the_fourth_occurrence_is_a_draw_and_the_third_is_not() -> None:
    game = ShogiGame()
    for number, usi in enumerate(SHUFFLE * 3, start=1):
        assert game.result is None
        result = game.push_usi(usi)
        assert (result is not None) == (number == 12)
    assert game.result == Result(None, Ending.REPETITION)
    assert game.occurrences == 4
    assert game.board.is_draw() == cshogi.REPETITION_DRAW


def test_a_repetition_that_begins_later_counts_from_there() -> None:
    game = ShogiGame()
    for usi in ["7g7f", "3c3d", *SHUFFLE * 3]:
        assert game.result is None
        game.push_usi(usi)
    assert game.result == Result(None, Ending.REPETITION)


def test_positions_with_other_hands_are_other_positions() -> None:
    game = ShogiGame("k8/9/9/9/9/9/9/4R4/K8 w 4p 1")
    for usi in ["P*5e", "5h5e", "9a8a", "5e5f", "8a9a", "5f5h"]:  # the board is as before, Black has gained a pawn
        game.push_usi(usi)
    assert game.board.sfen().split()[:2] == game.start.split()[:2]
    assert game.occurrences == 1


@pytest.mark.parametrize("checker", [BLACK, WHITE])
def test_perpetual_check_loses_for_the_checker(checker: int) -> None:
    # The rook checks from 5h and 4h while the king goes to and fro.
    sfen = "5k3/9/9/9/9/9/9/4R4/K8 b - 1"
    moves = ["5h4h", "4a5a", "4h5h", "5a4a"]
    if checker == WHITE:
        sfen, moves = cshogi.rotate_sfen(sfen), [_turned(usi) for usi in moves]
    game = ShogiGame(sfen)
    for usi in moves * 3:
        assert game.result is None
        game.push_usi(usi)
    assert game.result == Result(1 - checker, Ending.PERPETUAL_CHECK)
    # cshogi speaks of the player to move, who is the checker here.
    assert game.board.is_draw() == cshogi.REPETITION_LOSE


def test_perpetual_check_also_loses_when_the_evader_is_to_move_at_the_fourth_occurrence() -> None:
    game = ShogiGame("5k3/9/9/9/9/9/9/6R2/K8 b - 1")
    for usi in ["3h4h", *["4a5a", "4h5h", "5a4a", "5h4h"] * 3]:
        assert game.result is None
        game.push_usi(usi)
    assert game.result == Result(WHITE, Ending.PERPETUAL_CHECK)
    assert game.board.is_draw() == cshogi.REPETITION_WIN


def test_one_quiet_move_among_the_checks_makes_it_a_draw() -> None:
    game = ShogiGame("5k3/9/9/9/9/9/9/4R4/K8 b - 1")
    check = ["5h4h", "4a5a", "4h5h", "5a4a"]
    quiet = ["5h3h", "4a5a", "3h5h", "5a4a"]
    for usi in [*check, *quiet, *check]:
        assert game.result is None
        game.push_usi(usi)
    assert game.result == Result(None, Ending.REPETITION)


CAMP = "+P+P+P+P+P+P+P+P1/4K4/+R+B7/9/9/9/9/9/4k4"


@pytest.mark.parametrize(
    ("sfen", "declared"),
    [
        (f"{CAMP} b RB8P 1", True),  # 8 + 5 + 5 + 5 + 5 + 8 = 36
        (f"{CAMP} b 10P 1", True),  # 8 + 10 + 10 = 28
        (f"{CAMP} b 9P 1", False),  # 27: enough for White only
        ("+P+P+P+P+P+P3/4K4/+R+B7/9/9/9/9/9/4k4 b RB8P 1", False),  # eight pieces in the camp, ten are needed
        ("+P+P+P+P+P+P+P+P1/9/+R+B7/4K4/9/9/9/9/4k4 b RB8P 1", False),  # the king has not entered
        (f"{CAMP} w RB8P 1", False),  # not the player who is to move
    ],
)
def test_declaration(sfen: str, declared: bool) -> None:
    game = ShogiGame(sfen)
    assert game.result == (Result(BLACK, Ending.DECLARATION) if declared else None)
    assert bool(game.board.is_nyugyoku()) is declared


def test_white_declares_with_27_points() -> None:
    sfen = cshogi.rotate_sfen(f"{CAMP} b 9P 1")
    assert ShogiGame(sfen).result == Result(WHITE, Ending.DECLARATION)


def test_nobody_declares_in_check() -> None:
    assert ShogiGame("+P+P+P+P+P+P+P+P1/4K4/+R+B7/9/4r4/9/9/9/4k4 b B8P 1").result is None


def test_a_game_is_cut_after_its_maximum_of_moves() -> None:
    game = ShogiGame(max_moves=2)
    assert game.push_usi("7g7f") is None
    assert game.push_usi("3c3d") == Result(None, Ending.MAX_MOVES)


def test_mate_on_the_last_move_is_mate() -> None:
    game = ShogiGame("4k4/9/4P4/9/9/9/9/9/4K4 b G 1", max_moves=1)
    assert game.push_usi("G*5b") == Result(BLACK, Ending.MATE)


def test_resignation_loses_for_the_player_to_move() -> None:
    game = ShogiGame()
    assert game.resign() == Result(WHITE, Ending.RESIGNATION)
    with pytest.raises(GameError, match="after the end"):
        game.push_usi("7g7f")


def test_results_are_seen_from_both_sides() -> None:
    won = Result(WHITE, Ending.MATE)
    assert (won.for_player(WHITE), won.for_player(BLACK)) == (1, -1)
    assert Result(None, Ending.REPETITION).for_player(BLACK) == 0


def test_taking_moves_back_restores_everything() -> None:
    for number, game in enumerate(random_positions(seed=4, count=400)):
        if number % 10 or not game.moves:
            continue
        fresh = ShogiGame()
        for move in game.moves:
            fresh.push(move)
        for move in list(game.legal_moves)[:5]:
            fresh.push(move)
            fresh.pop()
        assert fresh.board.sfen() == game.board.sfen()
        assert (fresh.occurrences, fresh.in_check, fresh.result) == (game.occurrences, game.in_check, game.result)
        assert fresh.legal_moves == game.legal_moves


@pytest.mark.parametrize("usi", ["7g7f+", "7g7e", "P*5e", "3c3d"])
def test_illegal_moves_are_refused_and_change_nothing(usi: str) -> None:
    game = ShogiGame()
    with pytest.raises(GameError, match="not legal"):
        game.push_usi(usi)
    assert (game.board.sfen(), game.moves) == (START, [])


def test_a_usi_position_is_read() -> None:
    game = game_of_position("position startpos moves 7g7f 3c3d")
    assert game.usi_moves() == ["7g7f", "3c3d"]
    again = game_of_position(f"sfen {game.board.sfen()}")
    assert again.board.sfen() == game.board.sfen()
    for bad in ("", "nonsense", "startpos moves 7g7e", "sfen 9/9 b - 1"):
        with pytest.raises(GameError):
            game_of_position(bad)


@pytest.mark.parametrize(
    "sfen",
    [
        "",
        "garbage",
        "lnsgkgsnl/9 b - 1",
        "9/9/9/9/9/9/9/9/9 b - 1",
        "k8/9/9/9/9/9/9/9/kK7 b - 1",
        START.replace(" - ", " 2P "),
        START.replace("1r5b1", "1r6b1"),
        START.replace(" b ", " x "),
        START.replace("LNSGKGSNL", "LNSG+KGSNL"),
        "4k4/4R4/9/9/9/9/9/9/4K4 b - 1",
        START + " moves",
    ],
)
def test_impossible_positions_are_refused(sfen: str) -> None:
    with pytest.raises(GameError):
        check_sfen(sfen)


def _turned(usi: str) -> str:
    def square(text: str) -> str:
        return f"{10 - int(text[0])}{'ihgfedcba'['abcdefghi'.index(text[1])]}"

    return square(usi[:2]) + square(usi[2:4]) + usi[4:]
