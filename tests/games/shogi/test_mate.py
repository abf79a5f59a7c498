from __future__ import annotations

import threading
import time
from itertools import islice

import cshogi
import pytest

from games.shogi.material import material
from games.shogi.mates import Exhaustive, holds, known_mates, positions
from games.shogi.random_games import random_positions
from understudy.games.shogi.mate import MateSearch, mate_of, root_mate
from understudy.games.shogi.rules import ShogiGame
from understudy.games.shogi.search import Limits, Search, SearchSettings

IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
IN_THREE = "1n6b/lsgp1+Bsgl/p4pnp1/1p2p1p1p/9/P1k1PPPPP/3P3G1/L1G2SKR1/1N2S2NL b RP2p 1"


def usi(moves: tuple[int, ...]) -> list[str]:
    return [cshogi.move_to_usi(move) for move in moves]


def after(sfen: str, *moves: str, max_moves: int = 500) -> ShogiGame:
    game = ShogiGame(sfen, max_moves)
    for move in moves:
        game.push_usi(move)
    return game


def test_a_mate_in_one_and_its_end() -> None:
    answer = mate_of(ShogiGame(IN_ONE))
    assert (usi(answer.line), answer.none, answer.shortest) == (["G*5b"], False, True)


def test_both_colours_are_alike() -> None:
    answer = mate_of(ShogiGame(cshogi.rotate_sfen(IN_ONE)))
    assert usi(answer.line) == ["G*5h"]


def test_the_checks_of_the_generator_are_all_moves_that_give_check() -> None:
    seen = 0
    for game in random_positions(3, 2000):
        if game.result is None:
            board = game.board.copy()
            checks = set()
            for move in game.legal_moves:
                board.push(move)
                if board.is_check():
                    checks.add(move)
                board.pop()
            assert set(game.board.check_moves) == checks
            seen += len(checks)
    assert seen > 1000


def test_a_dropped_pawn_does_not_mate() -> None:
    """The king has no square, and nobody can take on 1b: a lance there is mate, a pawn is not allowed."""
    board = "7nk/7s1/8G/9/9/9/9/9/4K4"
    assert usi(mate_of(ShogiGame(f"{board} b L 1")).line) == ["L*1b"]
    assert usi(mate_of(ShogiGame(f"{board} b P 1")).line)[:1] != ["P*1b"]


def test_no_mate_is_a_proof() -> None:
    answer = mate_of(ShogiGame())
    assert (answer.line, answer.none) == ((), True)
    assert mate_of(ShogiGame("4k4/9/9/9/9/9/9/9/4K4 b G 1")).none


def test_the_game_is_left_as_it_was_and_a_game_that_is_over_has_no_mate() -> None:
    game = next(islice(positions(1), 40, None))
    before = game.board.sfen(), list(game.moves), game.result
    mate_of(game, 500)
    assert (game.board.sfen(), list(game.moves), game.result) == before
    over = after(IN_ONE, "G*5b")
    assert mate_of(over).line == ()


def test_mates_of_each_length_are_found_by_the_shortest_line() -> None:
    for length, sfens in known_mates(4, 1, most=4000, lengths=(1, 3, 5)).items():
        for sfen in sfens:
            answer = mate_of(ShogiGame(sfen))
            assert (len(answer.line), answer.shortest) == (length, True)


@pytest.mark.slow
def test_what_it_proves_is_what_looking_at_everything_finds() -> None:
    mates = none = 0
    for game in islice(positions(2), 400):
        answer = mate_of(game, 3000)
        if answer.line:
            assert len(answer.line) % 2
            if answer.shortest and len(answer.line) <= 5:
                assert Exhaustive(game, 200_000).shortest(5) == len(answer.line)
                mates += 1
        elif answer.none:
            assert Exhaustive(game, 200_000).shortest(5) == 0
            none += 1
    assert mates >= 10
    assert none >= 50


@pytest.mark.slow
def test_no_mate_is_false() -> None:
    """`python benchmarks/shogi_mates.py --false 10000` looks at more positions."""
    claimed = 0
    for game in islice(positions(6), 600):
        search = MateSearch(game, 2000)
        if search.solve().line:
            claimed += 1
            assert holds(search, game)
    assert claimed >= 20


def test_a_fourth_occurrence_is_no_mate() -> None:
    """The position after the first move of the mate was on the board three times: once more ends the game."""
    sfen = IN_THREE
    line = usi(mate_of(ShogiGame(sfen)).line)
    assert len(line) >= 3
    game = ShogiGame(sfen)
    game.push_usi(line[0])
    key = game.key
    game.pop()
    game._counts[key] = 3  # as if it had been there
    answer = mate_of(game)
    assert usi(answer.line)[:1] != line[:1]


def test_a_mate_must_come_before_the_game_is_cut() -> None:
    length = len(mate_of(ShogiGame(IN_THREE)).line)
    assert len(mate_of(ShogiGame(IN_THREE, max_moves=length)).line) == length
    cut = mate_of(ShogiGame(IN_THREE, max_moves=length - 1))
    assert cut.line == ()


def test_limits_end_it() -> None:
    hard = next(game for game in positions(5) if not mate_of(game, 300).line and not mate_of(game, 300).none)
    answer = mate_of(hard, 300)
    assert (answer.line, answer.none) == ((), False)
    assert answer.nodes < 300 + 600
    stop = threading.Event()
    stop.set()
    assert mate_of(hard, 10_000_000, Limits(stop=stop)).nodes < 100_000
    assert mate_of(hard, 10_000_000, Limits(deadline=time.monotonic())).nodes < 100_000


def test_the_search_plays_a_mate_that_it_gives() -> None:
    settings = SearchSettings(leaf_mate=lambda _: 0, root_mate=root_mate(1000))
    thought = Search(material, settings).think(ShogiGame(IN_THREE), Limits(nodes=5))
    assert thought.mate
    assert thought.line == mate_of(ShogiGame(IN_THREE)).line


def test_a_declaration_after_a_check_wins() -> None:
    """Black's king and ten pieces are in the camp, but it is in check: it takes the rook with check, then declares."""
    game = ShogiGame("+P+P+P+P+P+P+P+P1/4K4/+B7G/9/9/4r3+R/9/4k4/9 b B8P 1")
    assert (game.result, game.in_check) == (None, True)
    search = MateSearch(game)
    answer = search.solve()
    assert (usi(answer.line)[0], len(answer.line)) == ("1f5f", 2)
    assert holds(search, game)
