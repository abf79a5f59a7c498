"""Shogi as a batch of matches for self-play: a match that ends begins anew within the same step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.games.shogi.batch import PLANES, SHAPE, ShogiBatch, mark_legal, observe
from understudy.games.shogi.policy import ACTIONS, BLACK, step_of_action, usi_of_step
from understudy.games.shogi.rules import MAX_MOVES, ShogiGame


class Step(NamedTuple):
    """What one decision in each of B matches led to."""

    rewards: NDArray[np.float32]
    """(B,) for the player who decided; the other one gets the negative."""
    over: NDArray[np.bool_]
    """(B,) ended by the rules: nothing follows."""
    cut: NDArray[np.bool_]
    """(B,) stopped at the maximum of moves: neither won nor lost."""
    finals: NDArray[np.float32]
    """(B, S) where cut, the position it stopped at, seen by the player to move there."""
    final_sides: NDArray[np.int8]
    """(B,) where cut, who that is."""


class ShogiMatches:
    """B matches from the start position, with states of 46·81 numbers and the 13,527 actions."""

    name, players, state_dim, masked = "shogi", 2, PLANES * 81, True
    actions = tuple(usi_of_step(step_of_action(action, BLACK)) for action in range(ACTIONS))
    """As Black names them; White's are turned by 180°."""

    def __init__(self, matches: int, max_moves: int = MAX_MOVES) -> None:
        self.matches = matches
        self._batch = ShogiBatch(matches, max_moves)
        self._legal = np.zeros((matches, ACTIONS), np.bool_)
        self._legal_known = False
        self._finals = np.zeros((matches, self.state_dim), np.float32)
        self._final_sides = np.zeros(matches, np.int8)

    @property
    def games(self) -> list[ShogiGame]:
        """The matches as they stand."""
        return self._batch.games

    def reset(self, seed: np.random.SeedSequence) -> None:
        """Begin all matches anew; there is no chance in shogi."""
        self._batch.reset()
        self._legal_known = False

    def observe(self, out: NDArray[np.float32]) -> None:
        """Write the positions (B, S), each as the player to move sees it."""
        observe(self.games, out.reshape(self.matches, *SHAPE))

    def legal(self, out: NDArray[np.bool_]) -> None:
        """Write which actions (B, A) are legal."""
        out[...] = self._masks()

    def to_move(self) -> NDArray[np.int8]:
        """(B,) whose turn it is: 0 for Black, 1 for White."""
        return self._batch.turns.astype(np.int8)

    def step(self, actions: NDArray[np.int64]) -> Step:
        """Decide once in every match; the arrays are valid until the next step. GameError for an illegal action."""
        stepped = self._batch.step(actions, self._masks())
        self._legal_known = False
        for i in np.flatnonzero(stepped.cut).tolist():
            observe([self.games[i]], self._finals[i].reshape(1, *SHAPE))
            self._final_sides[i] = self.games[i].turn
        self._batch.reset(np.flatnonzero(stepped.over))
        return Step(stepped.rewards, stepped.over & ~stepped.cut, stepped.cut, self._finals, self._final_sides)

    def close(self) -> None:
        """Nothing is held outside of Python."""

    def _masks(self) -> NDArray[np.bool_]:
        if not self._legal_known:
            mark_legal(self.games, self._batch.turns, self._legal)
            self._legal_known = True
        return self._legal
