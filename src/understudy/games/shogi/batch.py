"""Many games at once: writes their observations and legal actions directly into the caller's arrays.

Planes, as the player to move sees the board (turned by 180° for White):
    0-7    own P L N S G B R K      8-13   own promoted P L N S B R
    14-27  the opponent's, in the same order
    28-34  own hand, P L N S G B R, divided by 18      35-41  the opponent's
    42     1 if Black is to move    43     moves made, divided by the maximum
    44     earlier occurrences of the position, divided by 3      45     1 if in check
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.games.shogi.actions import ACTIONS, BLACK, WHITE, actions_of_moves, moves16_of_actions
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.rules import MAX_MOVES, START, Ending, Result, ShogiGame

PLANES = 46
SHAPE = (PLANES, 9, 9)
_PIECE_PLANES = 28
_COLOUR, _PLY = 42, 43
# cshogi numbers Black's pieces 1-14 as P L N S B R G K +P +L +N +S +B +R, and White's 16 higher.
_PLANE_OF_PIECE = (0, 1, 2, 3, 5, 6, 4, 7, 8, 9, 10, 11, 12, 13)


def _offsets() -> NDArray[np.int64]:
    """(turn, cshogi square, cshogi piece) → index of its 1 among the 46·81 numbers of an observation.

    An empty square points into the colour plane, which is written afterwards, so empty squares need no special case.
    """
    offsets = np.full((2, 81, 32), _COLOUR * 81, np.int64)
    for turn in (BLACK, WHITE):
        for cshogi_square in range(81):
            square = 9 * (cshogi_square % 9) + 8 - cshogi_square // 9
            seen = 80 - square if turn == WHITE else square
            for number, plane in enumerate(_PLANE_OF_PIECE, start=1):
                offsets[turn, cshogi_square, number] = (plane + 14 * (turn == WHITE)) * 81 + seen
                offsets[turn, cshogi_square, number + 16] = (plane + 14 * (turn == BLACK)) * 81 + seen
    return offsets


_OFFSETS = _offsets()
_SQUARES = np.arange(81)


def observe(games: Sequence[ShogiGame], planes: NDArray[np.float32], legal: NDArray[np.bool_] | None = None) -> None:
    """Write the observations into `planes` (N, 46, 9, 9) and the legal actions into `legal` (N, 13527).

    Both must be contiguous. A finished game still shows its legal actions, if there are any.
    """
    write_planes(games, planes.reshape(len(games), PLANES * 81))
    if legal is not None:
        mark_legal(games, np.array([game.board.turn for game in games]), legal)


def write_planes(games: Sequence[ShogiGame], out: NDArray[np.float32]) -> None:
    """Write the observations into the first 46·81 columns of `out`, which must be contiguous."""
    n, width = out.shape
    boards = [game.board for game in games]
    pieces = np.frombuffer(b"".join([bytes(board.pieces) for board in boards]), np.uint8).reshape(n, 81)
    turns = np.array([board.turn for board in boards])
    hands = np.frombuffer(bytes(chain.from_iterable(chain.from_iterable(b.pieces_in_hand for b in boards))), np.uint8)
    out[:, : _PIECE_PLANES * 81] = 0
    places = _OFFSETS[turns[:, None], _SQUARES, pieces]
    places += np.arange(0, n * width, width)[:, None]
    out.reshape(-1)[places] = 1
    own_first = np.where(turns[:, None, None] == BLACK, hands.reshape(n, 2, 7), hands.reshape(n, 2, 7)[:, ::-1])
    flat = out[:, : PLANES * 81].reshape(n, PLANES, 81)  # a view, because only columns are left out
    flat[:, _PIECE_PLANES:_COLOUR] = own_first.reshape(n, 14, 1) * np.float32(1 / 18)
    last = [(len(game.moves) / game.max_moves, (game.occurrences - 1) / 3, game.in_check) for game in games]
    flat[:, _COLOUR] = (turns == BLACK)[:, None]
    flat[:, _PLY:] = np.array(last, np.float32)[:, :, None]


def mark_legal(games: Sequence[ShogiGame], turns: NDArray[np.int64], legal: NDArray[np.bool_]) -> None:
    """Write the legal actions into `legal` (N, 13527), which must be contiguous; `turns` are the players to move."""
    lists = [game.legal_moves for game in games]
    counts = [len(moves) for moves in lists]
    rows = np.repeat(np.arange(len(games)), counts)
    moves = np.fromiter(chain.from_iterable(lists), np.int32, sum(counts))
    legal[...] = False
    legal.reshape(-1)[rows * ACTIONS + actions_of_moves(moves, turns[rows])] = True


class Stepped(NamedTuple):
    """The results of a move in every game; rewards are for the player who moved."""

    rewards: NDArray[np.float32]
    over: NDArray[np.bool_]
    """Whether the game has a result; also for a game cut off at its maximum number of moves, which is in `cut` too."""
    cut: NDArray[np.bool_]
    results: list[Result | None]


class ShogiBatch:
    """N games that are played side by side. A finished game stays finished until `reset`."""

    def __init__(self, n: int, max_moves: int = MAX_MOVES, sfen: str = START) -> None:
        self.max_moves = max_moves
        self.sfen = sfen
        self.games = [ShogiGame(sfen, max_moves) for _ in range(n)]

    @property
    def turns(self) -> NDArray[np.int64]:
        """The players to move, 0 for Black and 1 for White."""
        return np.array([game.board.turn for game in self.games])

    def observe(self, planes: NDArray[np.float32], legal: NDArray[np.bool_]) -> None:
        """Write the observations and legal actions of the players to move; see the function `observe`."""
        observe(self.games, planes, legal)

    def step(self, actions: NDArray[np.integer], legal: NDArray[np.bool_]) -> Stepped:
        """Play one action in every game; `legal` is what `observe` wrote. GameError for an illegal one."""
        n = len(self.games)
        allowed = legal[np.arange(n), actions]
        if not allowed.all():
            bad = int(np.flatnonzero(~allowed)[0])
            raise GameError(f"Action {actions[bad]} of game {bad} is not legal in {self.games[bad].board.sfen()}.")
        results: list[Result | None] = []
        rewards, over, cut = np.zeros(n, np.float32), np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        turns = self.turns
        for i, (game, move16) in enumerate(zip(self.games, moves16_of_actions(actions, turns).tolist(), strict=True)):
            result = game.push(game.board.move_from_move16(move16))
            results.append(result)
            if result is not None:
                rewards[i], over[i], cut[i] = result.for_player(turns[i]), True, result.ending is Ending.MAX_MOVES
        return Stepped(rewards, over, cut, results)

    def reset(self, which: Sequence[int] | NDArray[np.integer] | None = None) -> None:
        """Set up the start position in these games, or in all of them without an argument."""
        for i in range(len(self.games)) if which is None else which:
            self.games[int(i)] = ShogiGame(self.sfen, self.max_moves)
