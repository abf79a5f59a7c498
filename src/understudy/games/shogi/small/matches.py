"""Small shogi games as batches of matches for self-play."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MatchesDamaged
from understudy.games.game import Bools, Game, Sides, Singles, Step
from understudy.games.saved import generator_of, pack, unpack, unpacking
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.small.rules import BLACK, SmallGame
from understudy.games.shogi.small.variant import ANIMAL, MINI, Variant

OPENED = 0.5
"""The share of games that begin with random moves, so that unusual positions are learned too."""
MOST_RANDOM = 16


def state_dim(variant: Variant) -> int:
    """The size of a state."""
    return 2 * len(variant.kinds) * variant.squares + 2 * variant.hand + 3


def write_states(variant: Variant, games: Sequence[SmallGame], out: Singles) -> None:
    """Write the states of the players to move (N, S): the pieces on the board, hands, colour, repetition and check."""
    kinds, squares = len(variant.kinds), variant.squares
    boards = np.array([game.position.board for game in games])
    numbers = np.where(boards > 0, boards, kinds - boards) - 1
    seen = np.zeros((len(games), squares, 2 * kinds), np.float32)
    rows, columns = np.nonzero(boards)
    seen[rows, columns, numbers[rows, columns]] = 1
    out[:, : squares * 2 * kinds] = seen.reshape(len(games), -1)
    out[:, squares * 2 * kinds : -3] = np.array([game.position.hands for game in games]) / 2
    last = [(game.turn == BLACK, (game.occurrences - 1) / 2, game.in_check) for game in games]
    out[:, -3:] = np.array(last, np.float32)


def write_legal(games: Iterable[SmallGame], out: Bools) -> None:
    """Write the legal actions (N, A)."""
    out[:] = False
    for row, game in zip(out, games, strict=True):
        row[list(game.actions)] = True


def opened(variant: Variant, rng: np.random.Generator, moves: int) -> SmallGame:
    """A game after some random moves; it is not over."""
    while True:
        game = SmallGame(variant)
        for _ in range(moves):
            game.push(int(rng.choice(game.actions)))
            if game.over:
                break
        else:
            return game


class SmallMatches(Game):
    """B matches of one variant."""

    players, masked = 2, True
    variant: ClassVar[Variant]

    def __init__(self, matches: int) -> None:
        super().__init__(matches)
        self.games = [SmallGame(self.variant) for _ in range(matches)]
        self._rng = np.random.default_rng(0)
        self._finals = np.zeros((matches, self.state_dim), np.float32)
        self._final_sides = np.zeros(matches, np.int8)

    def reset(self, seed: np.random.SeedSequence) -> None:
        """See Game.reset."""
        self._rng = np.random.default_rng(seed)
        self.games = [self._begun() for _ in self.games]

    def observe(self, out: Singles) -> None:
        """See Game.observe."""
        write_states(self.variant, self.games, out)

    def legal(self, out: Bools) -> None:
        """See Game.legal."""
        write_legal(self.games, out)

    def to_move(self) -> Sides:
        """See Game.to_move."""
        return np.array([game.turn for game in self.games], np.int8)

    def step(self, actions: NDArray[np.int64]) -> Step:
        """See Game.step; GameError for an illegal action."""
        n = self.matches
        rewards, over, cut = np.zeros(n, np.float32), np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        for i, (game, action) in enumerate(zip(self.games, actions.tolist(), strict=True)):
            game.push(action)
            if game.over:
                rewards[i], over[i], cut[i] = game.for_player(1 - game.turn), not game.cut, game.cut
                if game.cut:
                    write_states(self.variant, [game], self._finals[i : i + 1])
                    self._final_sides[i] = game.turn
                self.games[i] = self._begun()
        return Step(rewards, over, cut, self._finals, self._final_sides)

    def begin_anew(self, which: Bools) -> Bools:
        """See Game.begin_anew."""
        for i in np.flatnonzero(which).tolist():
            self.games[i] = self._begun()
        return which

    def snapshot(self) -> bytes:
        """See Game.snapshot."""
        return pack({"rng": self._rng.bit_generator.state, "games": [game.moves for game in self.games]}, {})

    def restore(self, saved: bytes) -> Bools:
        """See Game.restore."""
        facts, _ = unpack(saved)
        try:
            with unpacking():
                self._rng = generator_of(facts["rng"])
                self.games = [self._played(facts["games"][i]) for i in range(self.matches)]
        except GameError as error:
            raise MatchesDamaged(f"The snapshot holds an illegal move: {error}") from error
        return np.ones(self.matches, np.bool_)

    def _begun(self) -> SmallGame:
        moves = int(self._rng.integers(1, MOST_RANDOM + 1)) if self._rng.random() < OPENED else 0
        return opened(self.variant, self._rng, moves)

    def _played(self, moves: Sequence[int]) -> SmallGame:
        game = SmallGame(self.variant)
        for move in moves:
            game.push(int(move))
        return game


_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    "network": {"hidden": (256, 128)},
    "training": {"learning_rate": 1e-3, "gae_lambda": 0.9, "normalize_states": False, "exploration": 0.0},
    "parallel": {"games_per_worker": 64, "batch_size": 4096, "league_share": 0.25},
    "evaluation": {"games": 80, "games_per_job": 20},
}


class AnimalShogi(SmallMatches):
    """B matches of animal shogi."""

    name, variant = ANIMAL.name, ANIMAL
    state_dim = state_dim(ANIMAL)
    actions = tuple(ANIMAL.usi(number, white=False) for number in range(len(ANIMAL.actions)))
    settings = _SETTINGS


class Minishogi(SmallMatches):
    """B matches of minishogi."""

    name, variant = MINI.name, MINI
    state_dim = state_dim(MINI)
    actions = tuple(MINI.usi(number, white=False) for number in range(len(MINI.actions)))
    settings = _SETTINGS
