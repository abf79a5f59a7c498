"""Many games at once, so that a network decides for all of them in one call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg.direct.bulk import MAPS, mixed_opponent
from understudy.games.zerg.direct.game import Opponent, StrategyGame


class BatchTurn(NamedTuple):
    """The outcome of one decision in every game, a row for each. `results` is empty for games that go on.

    Where a game has ended, `states` holds the first state of the next game, and `last_states` its last state.
    """

    states: NDArray[np.float32]
    rewards: NDArray[np.float32]
    done: NDArray[np.bool_]
    results: tuple[str, ...]
    last_states: NDArray[np.float32]


class GameBatch:
    """A fixed number of games side by side; when one ends, the next of the mix starts."""

    def __init__(self, count: int, *, first: int = 0, opponents: Callable[[int], Opponent] = mixed_opponent) -> None:
        self._opponents = opponents
        self._next = first
        self._numbers = [0] * count
        self._chosen: list[list[int]] = [[] for _ in range(count)]
        self._games = [self._new_game(row) for row in range(count)]

    @property
    def histories(self) -> list[tuple[int, list[int]]]:
        """The number of each game and its strategies so far, from which `replay` restores it."""
        return [(number, list(chosen)) for number, chosen in zip(self._numbers, self._chosen, strict=True)]

    @property
    def next(self) -> int:
        """The number of the next game."""
        return self._next

    def replay(self, histories: Sequence[tuple[int, Sequence[int]]], following: int) -> None:
        """Replace all games by those with these histories; `following` is the number of the next new game."""
        self._next = following
        self._numbers, self._chosen = [0] * len(histories), [[] for _ in histories]
        self._games = [self._game(row, number) for row, (number, _) in enumerate(histories)]
        for game, mine, (_, chosen) in zip(self._games, self._chosen, histories, strict=True):
            for strategy in chosen:
                game.play(strategy)
            mine.extend(chosen)

    def begin_anew(self, row: int) -> NDArray[np.float32]:
        """Abandon a game and return the first state of the next one."""
        self._games[row] = self._new_game(row)
        return self._games[row].state()

    def states(self) -> NDArray[np.float32]:
        """What to decide on, a row for each game."""
        return np.stack([game.state() for game in self._games])

    def step(self, strategies: Sequence[int] | NDArray[np.int64]) -> BatchTurn:
        """Play every game to its next decision."""
        for chosen, strategy in zip(self._chosen, strategies, strict=True):
            chosen.append(int(strategy))
        turns = [game.play(chosen[-1]) for game, chosen in zip(self._games, self._chosen, strict=True)]
        last = np.stack([turn.state for turn in turns])
        states = last.copy()
        for row, turn in enumerate(turns):
            if turn.result:
                states[row] = self.begin_anew(row)
        return BatchTurn(
            states,
            np.array([turn.reward for turn in turns], np.float32),
            np.array([bool(turn.result) for turn in turns]),
            tuple(turn.result for turn in turns),
            last,
        )

    def _new_game(self, row: int) -> StrategyGame:
        number, self._next = self._next, self._next + 1
        return self._game(row, number)

    def _game(self, row: int, number: int) -> StrategyGame:
        self._numbers[row] = number
        self._chosen[row].clear()
        return StrategyGame(self._opponents(number), map_seed=number % MAPS, seed=number)


def compile_simulation() -> None:
    """Compile or load the simulation now; otherwise processes that start together would all compile it."""
    GameBatch(1).step([0])
