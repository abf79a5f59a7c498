"""Connect Four as a plug-in: rules, evaluator and GameSpec in a file outside the package (docs/add-a-game.md).

cd examples
understudy selfplay connect_four:SPEC --run-dir connect_four_run --workers 2 --seconds 60
understudy dashboard connect_four_run    # the page Results: win rates by opponent and by side
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.acting.sampling import best
from understudy.games.game import Bools, Game, Sides, Singles, Step
from understudy.games.saved import pack, unpack, unpacking
from understudy.games.spec import GameSpec, ResultAxis
from understudy.models.live import LiveModel
from understudy.models.state import read_model

ROWS, COLUMNS, SQUARES = 6, 7, 42
# Every line of four squares, as indices into a board that is stored row by row; row 0 is the bottom.
LINES = np.array([
    [(row + step * up) * COLUMNS + column + step * right for step in range(4)]
    for up, right in ((0, 1), (1, 0), (1, 1), (1, -1))
    for row in range(ROWS - 3 * up)
    for column in range(COLUMNS)
    if 0 <= column + 3 * right < COLUMNS
])  # fmt: skip


def has_four(stones: Bools) -> Bools:
    """Which boards (N, 42) of one player's stones have four in a line."""
    return np.any(stones[:, LINES].all(axis=2), axis=1)  # type: ignore[no-any-return]


class ConnectFour(Game):
    """B boards. A state is the 42 squares with own stones, then the 42 with the opponent's."""

    name, players, state_dim, masked = "connect_four", 2, 2 * SQUARES, True
    actions = tuple(f"column {number + 1}" for number in range(COLUMNS))
    settings: ClassVar = {
        "training": {"exploration": 0.1, "exploration_final": 0.1},  # self-play keeps meeting new positions
        "parallel": {"games_per_worker": 32, "batch_size": 2048},
        "evaluation": {"games": 200, "games_per_job": 20},
    }

    def __init__(self, matches: int) -> None:
        super().__init__(matches)
        self.rows = np.arange(matches)
        self.stones = np.zeros((matches, 2, SQUARES), np.bool_)
        self.sides = np.zeros(matches, np.int8)
        self.never = np.zeros(matches, np.bool_)  # no match is cut short, so there are no positions it was cut at
        self.no_finals = np.zeros((matches, self.state_dim), np.float32)

    def reset(self, seed: np.random.SeedSequence) -> None:
        """Begin all matches; nothing in this game is random."""
        self.begin_anew(~self.never)

    def begin_anew(self, which: Bools) -> Bools:
        """Begin these matches again."""
        self.stones[which] = False
        self.sides[which] = 0
        return which

    def observe(self, out: Singles) -> None:
        """The board as the player to move sees it."""
        out[:, :SQUARES] = self.stones[self.rows, self.sides]
        out[:, SQUARES:] = self.stones[self.rows, 1 - self.sides]

    def legal(self, out: Bools) -> None:
        """A column is legal while its top square is empty."""
        np.logical_not(self.stones[:, :, -COLUMNS:].any(axis=1), out=out)

    def to_move(self) -> Sides:
        """Whose turn it is."""
        return self.sides.copy()

    def step(self, actions: NDArray[np.int64]) -> Step:
        """Drop a stone in every match. Four in a line win; a full board is a draw."""
        height = self.stones.any(axis=1).reshape(-1, ROWS, COLUMNS)[self.rows, :, actions].sum(axis=1)
        self.stones[self.rows, self.sides, height * COLUMNS + actions] = True
        won = has_four(self.stones[self.rows, self.sides])
        over: Bools = won | (self.stones.sum(axis=(1, 2)) == SQUARES)
        self.sides = 1 - self.sides
        self.begin_anew(over)
        return Step(won.astype(np.float32), over, self.never, self.no_finals, self.sides)

    def snapshot(self) -> bytes:
        """What `restore` needs to continue these matches exactly."""
        return pack({}, {"stones": self.stones, "sides": self.sides})

    def restore(self, saved: bytes) -> Bools:
        """Continue the matches of a snapshot."""
        _, arrays = unpack(saved)
        with unpacking():
            np.copyto(self.stones, arrays["stones"])
            np.copyto(self.sides, arrays["sides"] != 0)
        return ~self.never


OPPONENTS, SIDE_NAMES = ("random", "tactical"), ("first", "second")


def opponent_move(opponent: str, board: ConnectFour, legal: NDArray[np.int64], rng: np.random.Generator) -> int:
    """A random column; the tactical opponent first looks for one that wins, then for one that prevents a loss."""
    height = board.stones[0].any(axis=0).reshape(ROWS, COLUMNS).sum(axis=0)
    for side in (board.sides[0], 1 - board.sides[0]) if opponent == "tactical" else ():
        after = np.repeat(board.stones[0, side][np.newaxis], len(legal), axis=0)
        after[np.arange(len(legal)), height[legal] * COLUMNS + legal] = True
        if (four := has_four(after)).any():
            return int(legal[four.argmax()])
    return int(rng.choice(legal))


def evaluate(model: str, first: int, games: int) -> dict[str, object]:
    """Play evaluation games `first` to `first + games` with a model file, the same games for every model."""
    live = LiveModel(read_model(Path(model)))
    pairings = [{"opponent": name, "side": side} for side in SIDE_NAMES for name in OPPONENTS]
    axes = [pairings[number % len(pairings)] for number in range(first, first + games)]
    return {"results": "".join(play(live, n, **about) for n, about in enumerate(axes, first)), "axes": axes}


def play(live: LiveModel, number: int, opponent: str, side: str) -> str:
    """Play one game, always the most probable column; W, L or T for the model."""
    board, rng = ConnectFour(1), np.random.default_rng(number)
    state, legal = np.zeros((1, board.state_dim), np.float32), np.ones((1, COLUMNS), np.bool_)
    while True:
        board.observe(state)
        board.legal(legal)
        own_turn = SIDE_NAMES[board.sides[0]] == side
        if own_turn:
            action = best(live.network.evaluate(live.trainer.normalizer.apply(state))[0][0], legal[0]).action
        else:
            action = opponent_move(opponent, board, legal[0].nonzero()[0], rng)
        done = board.step(np.array([action]))
        if done.over[0]:
            return "T" if not done.rewards[0] else "W" if own_turn else "L"


SPEC = GameSpec(
    name="connect_four",
    title="Connect Four",
    matches="connect_four:ConnectFour",
    evaluator="connect_four:evaluate",
    axes=(ResultAxis("opponent", "Opponent"), ResultAxis("side", "Side")),
)
