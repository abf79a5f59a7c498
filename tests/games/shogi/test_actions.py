from __future__ import annotations

import cshogi
import numpy as np
import pytest

from games.shogi import slow_shogi
from games.shogi.random_games import random_positions
from understudy.games.shogi.actions import (
    ACTIONS,
    BLACK,
    BOARD_ACTIONS,
    WHITE,
    PolicyOutputMapper,
    action_of_step,
    actions_of_moves,
    moves16_of_actions,
    step_of_action,
    step_of_usi,
    usi_of_step,
)
from understudy.games.shogi.errors import GameError

MAPPER = PolicyOutputMapper()


def test_there_are_13527_actions() -> None:
    assert MAPPER.get_total_actions() == ACTIONS == 81 * 80 * 2 + 81 * 7 == 13_527


@pytest.mark.parametrize(
    ("usi", "turn", "index"),
    [
        ("9a8a", BLACK, 0),
        ("9a8a+", BLACK, 1),
        ("1i2i+", BLACK, BOARD_ACTIONS - 1),
        ("7g7f", BLACK, 160 * 56 + 2 * 47),
        ("3c3d", WHITE, 160 * 56 + 2 * 47),
        ("P*9a", BLACK, BOARD_ACTIONS),
        ("R*1i", BLACK, ACTIONS - 1),
        ("R*9a", WHITE, ACTIONS - 1),
        ("B*5e", WHITE, BOARD_ACTIONS + 7 * 40 + 5),
    ],
)
def test_known_moves_have_known_indices(usi: str, turn: int, index: int) -> None:
    assert MAPPER.shogi_move_to_policy_index(usi, turn) == index
    assert MAPPER.policy_index_to_usi(index, turn) == usi


@pytest.mark.parametrize("turn", [BLACK, WHITE])
def test_every_action_is_another_move_and_comes_back(turn: int) -> None:
    steps = [step_of_action(action, turn) for action in range(ACTIONS)]
    assert len(set(steps)) == ACTIONS
    for action, step in enumerate(steps):
        assert action_of_step(step, turn) == action
        assert step_of_usi(usi_of_step(step)) == step
    everything, turns = np.arange(ACTIONS), np.full(ACTIONS, turn)
    np.testing.assert_array_equal(actions_of_moves(moves16_of_actions(everything, turns), turns), everything)


def test_an_action_of_white_is_the_same_action_of_black_on_the_turned_board() -> None:
    for action in range(ACTIONS):
        black, white = step_of_action(action, BLACK), step_of_action(action, WHITE)
        assert (white.promote, white.dropped) == (black.promote, black.dropped)
        assert white.target == 80 - black.target
        assert (black.origin is None) == (white.origin is None)
        assert black.origin is None or white.origin == 80 - black.origin


@pytest.mark.slow
def test_legal_moves_round_trip_in_12000_random_positions_and_nothing_else_is_legal() -> None:
    colours = set()
    for game in random_positions(seed=1, count=12_000):
        board, turn = game.board, game.turn
        colours.add(turn)
        indices = [MAPPER.shogi_move_to_policy_index(move, turn) for move in game.legal_moves]
        mask = MAPPER.get_legal_mask(board)
        assert sorted(indices) == np.flatnonzero(mask).tolist()
        moves16 = moves16_of_actions(np.array(indices), np.full(len(indices), turn))
        assert [board.move_from_move16(move16) for move16 in moves16.tolist()] == game.legal_moves
    assert colours == {BLACK, WHITE}


@pytest.mark.slow
def test_indices_of_random_positions_are_those_of_the_slow_definition() -> None:
    for game in random_positions(seed=2, count=600):
        turn = "bw"[game.turn]
        for move in game.legal_moves:
            usi = cshogi.move_to_usi(move)
            index = slow_shogi.action(usi, turn)
            assert MAPPER.shogi_move_to_policy_index(move, game.turn) == index
            assert MAPPER.shogi_move_to_policy_index(usi, game.turn) == index
            assert MAPPER.policy_index_to_shogi_move(index, game.board) == move


def test_an_illegal_action_has_no_move_on_the_board() -> None:
    board = cshogi.Board()
    for usi in ("7g7f+", "7g7e", "P*5e", "3c3d"):
        with pytest.raises(GameError, match="not legal"):
            MAPPER.policy_index_to_shogi_move(MAPPER.shogi_move_to_policy_index(usi, BLACK), board)


@pytest.mark.parametrize("usi", ["", "7g", "7g7", "0a1b", "7g7f*", "K*5e", "P*5e+", "7j7f", "resign", "7g7g", "7g7f++"])
def test_what_is_no_move_is_refused(usi: str) -> None:
    with pytest.raises(GameError):
        MAPPER.shogi_move_to_policy_index(usi, BLACK)


@pytest.mark.parametrize("index", [-1, ACTIONS])
def test_what_is_no_action_is_refused(index: int) -> None:
    with pytest.raises(GameError, match="not an action"):
        MAPPER.policy_index_to_usi(index, BLACK)


def test_a_mask_is_written_where_the_caller_wants_it() -> None:
    out = np.ones(ACTIONS, np.bool_)
    assert MAPPER.get_legal_mask(cshogi.Board(), out) is out
    assert out.sum() == 30
