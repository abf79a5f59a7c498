"""The 13,527 actions of shogi and what they mean on the board.

A square is 9·row + column; row 0 is rank a, column 0 is file 9. Actions are seen by the player to move: for White the
board is turned by 180°, so that one network plays both colours.

    board move   160·from + 2·(to − [to > from]) + promote    0 … 12,959
    drop         12,960 + 7·to + piece, of P L N S G B R      12,960 … 13,526
"""

from __future__ import annotations

from typing import NamedTuple

import cshogi
import numpy as np
from numpy.typing import NDArray

from understudy.games.shogi.errors import GameError

SQUARES = 81
HAND_PIECES = "PLNSGBR"
BOARD_ACTIONS = SQUARES * (SQUARES - 1) * 2
ACTIONS = BOARD_ACTIONS + SQUARES * len(HAND_PIECES)

BLACK, WHITE = 0, 1

# cshogi's move: bits 0-6 are the target, 7-13 the origin (81 and more: a drop), 14 promotion; the pieces are above
# that.
_MOVE16 = 0x7FFF
_DROP_ORIGIN = 81
_DROP_ORDER = "PLNSBRG"  # cshogi's order of piece types


class BoardMove(NamedTuple):
    """A move, with squares as Black sees them for both players. A drop has no origin, a board move no dropped piece."""

    origin: int | None
    target: int
    promote: bool
    dropped: str | None


def square_name(square: int) -> str:
    """The USI name of a square, such as 7g."""
    row, column = divmod(square, 9)
    return f"{9 - column}{'abcdefghi'[row]}"


def square_named(name: str) -> int:
    """The square with a USI name; GameError if there is none."""
    if len(name) != 2 or name[0] not in "123456789" or name[1] not in "abcdefghi":
        raise GameError(f"{name!r} is not a square; squares are 1a to 9i.")
    return 9 * "abcdefghi".index(name[1]) + 9 - int(name[0])


def step_of_action(action: int, turn: int) -> BoardMove:
    """The move that an action stands for when the player `turn` is to move."""
    if not 0 <= action < ACTIONS:
        raise GameError(f"{action} is not an action; actions are 0 to {ACTIONS - 1}.")
    if action >= BOARD_ACTIONS:
        target, piece = divmod(action - BOARD_ACTIONS, len(HAND_PIECES))
        return BoardMove(None, _seen(target, turn), False, HAND_PIECES[piece])
    origin, rest = divmod(action, 160)
    target, promote = divmod(rest, 2)
    target += target >= origin
    return BoardMove(_seen(origin, turn), _seen(target, turn), bool(promote), None)


def action_of_step(step: BoardMove, turn: int) -> int:
    """The action that stands for a move of the player `turn`."""
    target = _seen(step.target, turn)
    if step.dropped is not None:
        return BOARD_ACTIONS + len(HAND_PIECES) * target + HAND_PIECES.index(step.dropped)
    if step.origin is None or step.origin == step.target:
        raise GameError(f"{step} is not a move: a piece goes from one square to another, or is dropped.")
    origin = _seen(step.origin, turn)
    return 160 * origin + 2 * (target - (target > origin)) + step.promote


def step_of_usi(usi: str) -> BoardMove:
    """Read a move such as 7g7f, 8h2b+ or P*5e; GameError for any other text. Legality is not checked."""
    promote = len(usi) == 5 and usi[4] == "+"
    if len(usi) != 4 + promote:
        raise GameError(f"{usi!r} is not a move; moves look like 7g7f, 8h2b+ or P*5e.")
    if usi[1] == "*":
        if promote or usi[0] not in HAND_PIECES:
            raise GameError(f"{usi!r} is not a move; pieces to drop are {' '.join(HAND_PIECES)}, unpromoted.")
        return BoardMove(None, square_named(usi[2:4]), False, usi[0])
    return BoardMove(square_named(usi[:2]), square_named(usi[2:4]), promote, None)


def usi_of_step(step: BoardMove) -> str:
    """The USI text of a move."""
    if step.origin is None:
        return f"{step.dropped}*{square_name(step.target)}"
    return square_name(step.origin) + square_name(step.target) + "+" * step.promote


def _seen(square: int, turn: int) -> int:
    """A square as the player sees it, and back again: White sees the board turned by 180°."""
    return 80 - square if turn == WHITE else square


def _move16_of_step(step: BoardMove) -> int:
    target = cshogi.SQUARE_NAMES.index(square_name(step.target))
    if step.dropped is not None:
        origin = _DROP_ORIGIN + _DROP_ORDER.index(step.dropped)
    else:
        assert step.origin is not None
        origin = cshogi.SQUARE_NAMES.index(square_name(step.origin))
    return int(target | origin << 7 | step.promote << 14)


def _tables() -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """cshogi's 15 low bits → action, and the inverse, for each player; −1 where there is no such move."""
    to_action = np.full((2, _MOVE16 + 1), -1, np.int32)
    to_move16 = np.empty((2, ACTIONS), np.int32)
    for action in range(ACTIONS):
        move16 = _move16_of_step(step_of_action(action, BLACK))
        to_action[BLACK, move16] = action
        to_move16[BLACK, action] = move16
    for action in range(ACTIONS):
        turned = action_of_step(step_of_action(action, WHITE), BLACK)
        to_move16[WHITE, action] = to_move16[BLACK, turned]
        to_action[WHITE, to_move16[BLACK, turned]] = action
    return to_action, to_move16


_TO_ACTION, _TO_MOVE16 = _tables()


def actions_of_moves(moves: NDArray[np.int32], turns: NDArray[np.integer]) -> NDArray[np.int32]:
    """The actions of many cshogi moves, each by the player in `turns`."""
    actions: NDArray[np.int32] = _TO_ACTION[turns, moves & _MOVE16]
    return actions


def moves16_of_actions(actions: NDArray[np.integer], turns: NDArray[np.integer]) -> NDArray[np.int32]:
    """The low bits of the cshogi moves for many actions; `Board.move_from_move16` completes them."""
    moves16: NDArray[np.int32] = _TO_MOVE16[turns, actions]
    return moves16


class PolicyOutputMapper:
    """Moves to action indices and back. Moves are USI strings or cshogi moves; neither says who plays them, so every
    method takes the player to move: 0 for Black, 1 for White, as in `cshogi.Board.turn`.
    """

    def get_total_actions(self) -> int:
        """13,527."""
        return ACTIONS

    def shogi_move_to_policy_index(self, move: str | int, turn: int) -> int:
        """The action of a move; GameError if there is none."""
        if isinstance(move, str):
            return action_of_step(step_of_usi(move), turn)
        action = int(_TO_ACTION[turn, move & _MOVE16])
        if action < 0:
            raise GameError(f"{move} is not a cshogi move that an action stands for.")
        return action

    def policy_index_to_usi(self, index: int, turn: int) -> str:
        """The USI text of an action."""
        return usi_of_step(step_of_action(index, turn))

    def policy_index_to_shogi_move(self, index: int, board: cshogi.Board) -> int:
        """The cshogi move of an action of the player to move; GameError if it is not legal there."""
        usi = self.policy_index_to_usi(index, board.turn)
        # Not board.is_legal: it accepts promotions outside the promotion zone.
        for move in board.legal_moves:
            if move & _MOVE16 == _TO_MOVE16[board.turn, index]:
                return int(move)
        raise GameError(f"{usi} (action {index}) is not legal in {board.sfen()}.")

    def get_legal_mask(self, board: cshogi.Board, out: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Which of the 13,527 actions are legal for the player to move; written to `out` if it is given."""
        out = np.empty(ACTIONS, np.bool_) if out is None else out
        out[:] = False
        moves = np.fromiter(board.legal_moves, np.int32)
        out[_TO_ACTION[board.turn, moves & _MOVE16]] = True
        return out
