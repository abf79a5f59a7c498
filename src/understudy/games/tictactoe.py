"""Tic-tac-toe for many boards at once: the smallest game for two players."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.games.game import Bools, Game, Sides, Singles, Step
from understudy.games.saved import pack, unpack, unpacking

LINES = np.array([[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]])


class TicTacToe(Game):
    """B boards. A state is the nine squares with own stones, then the nine with the opponent's."""

    name, players, state_dim, masked = "tictactoe", 2, 18, True
    actions = tuple(f"{row}{column}" for row in "abc" for column in "123")

    def __init__(self, matches: int) -> None:
        super().__init__(matches)
        self._rows = np.arange(matches)
        self.stones = np.zeros((matches, 2, 9), np.bool_)
        self._sides = np.zeros(matches, np.int8)
        self._never = np.zeros(matches, np.bool_)
        self._finals = np.zeros((matches, 18), np.float32)

    def reset(self, seed: np.random.SeedSequence) -> None:
        """See Game.reset; nothing here is random."""
        self.stones[:] = False
        self._sides[:] = 0

    def observe(self, out: Singles) -> None:
        """See Game.observe."""
        out[:, :9] = self.stones[self._rows, self._sides]
        out[:, 9:] = self.stones[self._rows, 1 - self._sides]

    def legal(self, out: Bools) -> None:
        """See Game.legal."""
        np.logical_not(self.stones.any(axis=1), out=out)

    def to_move(self) -> Sides:
        """See Game.to_move."""
        return self._sides.copy()

    def step(self, actions: NDArray[np.int64]) -> Step:
        """See Game.step."""
        self.stones[self._rows, self._sides, actions] = True
        own: Bools = self.stones[self._rows, self._sides]
        won: Bools = np.any(own[:, LINES].all(axis=2), axis=1)
        over: Bools = won | (self.stones.sum(axis=(1, 2)) == 9)
        self._sides = 1 - self._sides
        self.stones[over] = False
        self._sides[over] = 0
        return Step(won.astype(np.float32), over, self._never, self._finals, self._sides)

    def begin_anew(self, which: Bools) -> Bools:
        """See Game.begin_anew."""
        self.stones[which] = False
        self._sides[which] = 0
        return which

    def snapshot(self) -> bytes:
        """See Game.snapshot."""
        return pack({}, {"stones": self.stones, "sides": self._sides})

    def restore(self, saved: bytes) -> Bools:
        """See Game.restore."""
        _, arrays = unpack(saved)
        with unpacking():
            stones, sides = arrays["stones"], arrays["sides"]
            np.copyto(self.stones, stones)
            self._sides = np.where(sides == 0, np.int8(0), np.int8(1)).reshape(self.matches)
        return ~self._never
