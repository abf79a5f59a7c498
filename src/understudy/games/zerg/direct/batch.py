"""Many games at once: one call asks for the decisions of all of them, as a network wants to be asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg.direct.bulk import MAPS, mixed_opponent
from understudy.games.zerg.direct.game import Opponent, StrategyGame


class BatchTurn(NamedTuple):
    """What followed the decisions, a row for each game. `results` are empty for games that go on.

    Where a game has ended, `states` holds the first state of the game that follows it, and `last_states` its end.
    """

    states: NDArray[np.float32]
    rewards: NDArray[np.float32]
    done: NDArray[np.bool_]
    results: tuple[str, ...]
    last_states: NDArray[np.float32]


class GameBatch:
    """A fixed number of games side by side; a finished one is followed by the next of the mix."""

    def __init__(self, count: int, *, first: int = 0, opponents: Callable[[int], Opponent] = mixed_opponent) -> None:
        self._opponents = opponents
        self._next = first
        self._games = [self._new_game() for _ in range(count)]

    def states(self) -> NDArray[np.float32]:
        """What to decide on, a row for each game."""
        return np.stack([game.state() for game in self._games])

    def step(self, strategies: Sequence[int] | NDArray[np.int64]) -> BatchTurn:
        """Play every game to its next decision."""
        turns = [game.play(int(strategy)) for game, strategy in zip(self._games, strategies, strict=True)]
        last = np.stack([turn.state for turn in turns])
        states = last.copy()
        for row, turn in enumerate(turns):
            if turn.result:
                self._games[row] = self._new_game()
                states[row] = self._games[row].state()
        return BatchTurn(
            states,
            np.array([turn.reward for turn in turns], np.float32),
            np.array([bool(turn.result) for turn in turns]),
            tuple(turn.result for turn in turns),
            last,
        )

    def _new_game(self) -> StrategyGame:
        number, self._next = self._next, self._next + 1
        return StrategyGame(self._opponents(number), map_seed=number % MAPS, seed=number)


def compile_simulation() -> None:
    """Have the simulation compiled, or loaded, now: processes that start at the same time would all compile it."""
    GameBatch(1).step([0])
