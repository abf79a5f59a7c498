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
        self._numbers = [0] * count
        self._chosen: list[list[int]] = [[] for _ in range(count)]
        self._games = [self._new_game(row) for row in range(count)]

    @property
    def histories(self) -> list[tuple[int, list[int]]]:
        """Of each game its number and the strategies chosen so far: `replay` makes the same games of them."""
        return [(number, list(chosen)) for number, chosen in zip(self._numbers, self._chosen, strict=True)]

    @property
    def next(self) -> int:
        """The number of the next game."""
        return self._next

    def replay(self, histories: Sequence[tuple[int, Sequence[int]]], following: int) -> None:
        """Put games with these histories in the place of all; `following` is the number of the next one."""
        self._next = following
        self._numbers, self._chosen = [0] * len(histories), [[] for _ in histories]
        self._games = [self._game(row, number) for row, (number, _) in enumerate(histories)]
        for game, mine, (_, chosen) in zip(self._games, self._chosen, histories, strict=True):
            for strategy in chosen:
                game.play(strategy)
            mine.extend(chosen)

    def begin_anew(self, row: int) -> NDArray[np.float32]:
        """Give up a game; the first state of the one that follows it."""
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
    """Have the simulation compiled, or loaded, now: processes that start at the same time would all compile it."""
    GameBatch(1).step([0])
