"""Cache of the network's evaluations, for positions that are reached again by another order of moves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.games.shogi.rules import ShogiGame

_ENTRY = 500  # bytes of an entry besides its moves
_MOVE = 8  # bytes of a move and its prior


class Judgement(NamedTuple):
    """The legal moves, their probabilities, and the chances of a win, a draw and a loss for the player to move."""

    moves: NDArray[np.int32]
    priors: NDArray[np.float32]
    wdl: tuple[float, float, float]


class EvaluationCache:
    """The evaluations of as many positions as fit; the oldest are removed first."""

    def __init__(self, megabytes: int) -> None:
        self._most = megabytes << 20
        self._size = 0
        self._known: dict[tuple[int, int, int], Judgement] = {}
        self.hits = 0

    @staticmethod
    def key(game: ShogiGame) -> tuple[int, int, int]:
        """Everything that the network sees of a position: pieces and player, the move number, earlier occurrences."""
        return game.key, len(game.moves), game.occurrences

    def get(self, game: ShogiGame) -> Judgement | None:
        """The cached evaluation of the position, or None."""
        found = self._known.get(self.key(game))
        self.hits += found is not None
        return found

    def put(self, key: tuple[int, int, int], evaluation: Judgement) -> None:
        """Keep an evaluation."""
        if key in self._known:
            return
        self._known[key] = evaluation
        self._size += _bytes(evaluation)
        while self._size > self._most:
            oldest = next(iter(self._known))
            self._size -= _bytes(self._known.pop(oldest))

    def clear(self) -> None:
        """Forget everything."""
        self._known.clear()
        self._size = 0

    @property
    def full(self) -> float:
        """The used share of its capacity, 0 to 1."""
        return self._size / self._most


def _bytes(evaluation: Judgement) -> int:
    return _ENTRY + _MOVE * len(evaluation.moves)
