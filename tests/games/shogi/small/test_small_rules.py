"""The rules of animal shogi and minishogi, beside a second, slow generator and fairy-stockfish."""

from __future__ import annotations

import re
import subprocess

import numpy as np
import pytest

from games.shogi.small.slow_small import SlowPosition
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.small.rules import (
    SmallGame,
    SmallPosition,
    decided,
    legal_actions,
    mirrored,
    parse,
    play,
    start,
    turned,
)
from understudy.games.shogi.small.variant import ANIMAL, MINI, Variant
from understudy.games.shogi.usi_process import find_engines

BOTH = pytest.mark.parametrize("variant", [ANIMAL, MINI], ids=lambda variant: variant.name)
ENGINE = find_engines().get("fairy-stockfish")


def perft(variant: Variant, position: SmallPosition, depth: int) -> int:
    if decided(variant, position):
        return 0
    actions = legal_actions(variant, position)
    if depth == 1:
        return len(actions)
    return sum(perft(variant, play(variant, position, number), depth - 1) for number in actions)


def after(variant: Variant, *moves: str, position: SmallPosition | None = None) -> SmallGame:
    game = SmallGame(variant, position)
    for usi in moves:
        push(game, usi)
    return game


def push(game: SmallGame, usi: str) -> None:
    game.push(next(n for n in game.actions if game.variant.usi(n, game.turn == 1) == usi))


def usi_moves(game: SmallGame) -> set[str]:
    return {game.variant.usi(number, game.turn == 1) for number in game.actions}


@pytest.mark.parametrize(
    ("variant", "counts"),
    [(ANIMAL, (4, 17, 123, 976, 8122)), (MINI, (14, 181, 2512, 35401))],
    ids=lambda value: value.name if isinstance(value, Variant) else "",
)
def test_perft(variant: Variant, counts: tuple[int, ...]) -> None:
    assert tuple(perft(variant, start(variant), depth) for depth in range(1, len(counts) + 1)) == counts


@pytest.mark.slow
@pytest.mark.skipif(ENGINE is None, reason="fairy-stockfish is not installed")
def test_fairy_stockfish_counts_the_same_positions_of_minishogi() -> None:
    assert ENGINE is not None
    rng = np.random.default_rng(5)
    for moves in (0, 6, 15, 30):
        game = SmallGame(MINI)
        for _ in range(moves):
            if not game.over:
                game.push(int(rng.choice(game.actions)))
        line = " ".join(game.usi_moves())
        asked = f"usi\nsetoption name UCI_Variant value minishogi\nposition startpos moves {line}\ngo perft 3\nquit\n"
        said = subprocess.run(ENGINE, input=asked, capture_output=True, text=True, check=True, timeout=60).stdout
        assert perft(MINI, game.position, 3) == int(re.findall(r"Nodes searched: (\d+)", said)[-1])


@pytest.mark.slow
@BOTH
def test_moves_are_those_of_the_slow_generator_in_random_games(variant: Variant) -> None:
    rng, seen = np.random.default_rng(1), 0
    while seen < 300:
        game, slow = SmallGame(variant), SlowPosition.of(variant is ANIMAL, variant.start)
        while not game.over and len(game.moves) < 80:
            assert usi_moves(game) == slow.legal(), game.usi_moves()
            number = int(rng.choice(game.actions))
            slow = slow.after(variant.usi(number, game.turn == 1))
            game.push(number)
            seen += 1
            if variant is ANIMAL:
                assert decided(variant, game.position) == slow.won()


@BOTH
def test_turned_and_mirrored_positions_are_the_same_ones_again(variant: Variant) -> None:
    position = after(variant, *(["1d1c"] if variant is ANIMAL else ["5d5c"])).position
    assert turned(turned(position)) == position
    assert mirrored(variant, mirrored(variant, position)) == position
    assert len(legal_actions(variant, mirrored(variant, position))) == len(legal_actions(variant, position))


def test_a_lion_wins_on_the_last_rank_only_where_it_cannot_be_taken() -> None:
    free = parse(ANIMAL, "3/L1l/3/3")
    assert decided(ANIMAL, after(ANIMAL, "3b3a", position=free).position) == -1
    guarded = after(ANIMAL, "3b3a", position=parse(ANIMAL, "3/Ll1/3/3"))
    assert not guarded.over
    push(guarded, "2b3a")
    assert guarded.result == -1
    overlooked = after(ANIMAL, "3b3a", "2b2c", position=parse(ANIMAL, "3/Ll1/3/3"))
    assert overlooked.result == 1


def test_a_chick_promotes_by_itself_and_goes_back_to_a_chick_in_the_hand() -> None:
    game = after(ANIMAL, "1b1a", "2b1a", position=parse(ANIMAL, "3/1lC/3/1L1"))
    assert game.position.hands == (0, 0, 0, 1, 0, 0)
    game = after(ANIMAL, "1b1a", position=parse(ANIMAL, "l2/2C/3/1L1"))
    assert -5 in game.position.board


def test_a_lion_may_be_left_to_be_taken() -> None:
    game = after(ANIMAL, "2d2c", "2b2c", position=parse(ANIMAL, "3/1l1/3/1L1"))
    assert game.result == -1
    assert game.over


def test_two_pawns_and_mate_by_dropping_a_pawn_are_illegal_in_minishogi() -> None:
    two = SmallGame(MINI, parse(MINI, "k4/5/5/P4/4K", "P"))
    assert not any(usi.startswith("P*5") for usi in usi_moves(two))
    assert "P*4b" in usi_moves(two)
    assert "P*4a" not in usi_moves(two)
    mate = SmallGame(MINI, parse(MINI, "k4/2G2/KG3/5/5", "P"))
    assert "P*5b" not in usi_moves(mate)
    check = SmallGame(MINI, parse(MINI, "k4/5/G4/5/4K", "P"))
    assert "P*5b" in usi_moves(check)


def test_a_player_without_a_legal_move_loses() -> None:
    game = after(MINI, "4c4d", position=parse(MINI, "k4/5/KG3/5/5"))
    assert not game.over
    game = after(MINI, "4c5b", position=parse(MINI, "k4/5/KG3/5/5"))
    assert game.result == 1
    with pytest.raises(GameError):
        game.push(0)


def test_the_third_occurrence_is_a_draw_in_animal_shogi() -> None:
    game = after(ANIMAL, *["1d1c", "3a3b", "1c1d", "3b3a"] * 2)
    assert game.over
    assert game.result == 0


def test_the_fourth_occurrence_is_lost_by_black_or_by_who_gave_check_all_the_time_in_minishogi() -> None:
    quiet = after(MINI, *["4e4d", "2a2b", "4d4e", "2b2a"] * 3)
    assert quiet.result == -1
    checks = after(MINI, *["1d1a", "5a5b", "1a1b", "5b5a", "1b1a"][:1], position=parse(MINI, "k4/5/5/4R/4K"))
    for _ in range(3):
        for usi in ("5a5b", "1a1b", "5b5a", "1b1a"):
            assert not checks.over
            push(checks, usi)
    assert checks.result == -1
    received = after(MINI, "1e2e", position=parse(MINI, "k4/5/4r/5/4K"))
    assert not received.over


def test_perpetual_check_by_white_wins_for_black() -> None:
    game = after(MINI, "5e4e", "1b1e", position=parse(MINI, "4k/4r/5/5/K4"))
    for _ in range(3):
        for usi in ("4e4d", "1e1d", "4d4e", "1d1e"):
            assert not game.over
            push(game, usi)
    assert game.result == 1


def test_a_long_game_is_cut_and_pop_takes_everything_back() -> None:
    game = SmallGame(MINI, max_moves=2)
    for _ in range(2):
        game.push(game.actions[0])
    assert game.cut
    assert game.over
    assert game.result is None
    game.pop()
    game.pop()
    assert game.position == start(MINI)
    assert (game.turn, game.moves, game.occurrences, game.over) == (0, [], 1, False)
