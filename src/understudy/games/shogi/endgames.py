"""Won games, restarted shortly before their end, so that a beginner sees mates long before it can reach one."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import cshogi
import numpy as np

from understudy.games.shogi.rules import START, Ending, ShogiGame, played

KEPT = 64
MOST_MOVES = 24  # moves of the winner until the end


class Endgame(NamedTuple):
    """A position, and the player to move in it, who won that game."""

    sfen: str
    winner: int


class Endgames:
    """The latest games that ended by mate."""

    def __init__(self) -> None:
        self._won: deque[tuple[int, ...]] = deque(maxlen=KEPT)

    def clear(self) -> None:
        """Forget all games."""
        self._won.clear()

    def moves(self) -> list[list[int]]:
        """The games, for `restore`."""
        return [list(moves) for moves in self._won]

    def restore(self, games: Sequence[Sequence[int]]) -> None:
        """Replace the games by these; GameError if one has an illegal move."""
        won = [tuple(played(START, moves, len(moves) + 1).moves) for moves in games]
        self._won.clear()
        self._won.extend(won)

    def add(self, game: ShogiGame) -> None:
        """Remember a finished game if it was played from the start and ended by mate."""
        if game.start == START and game.result is not None and game.result.ending is Ending.MATE:
            self._won.append(tuple(game.moves))

    def draw(self, rng: np.random.Generator) -> Endgame | None:
        """A position a few moves before a mate, with the winner to move; None if there is no game yet.

        Small distances are more likely: each doubling of the distance has the same probability.
        """
        if not self._won:
            return None
        moves = self._won[rng.integers(len(self._won))]
        most = min((len(moves) + 1) // 2, MOST_MOVES)
        to_go = int(math.exp(rng.uniform(0, math.log(most + 1))))  # 1 … most
        board = cshogi.Board()
        for move in moves[: len(moves) + 1 - 2 * to_go]:
            board.push(move)
        return Endgame(board.sfen(), int(board.turn))
