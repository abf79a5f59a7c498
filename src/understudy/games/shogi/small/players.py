"""Players of small shogi games, and games and matches between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from understudy.acting.sampling import best, draw
from understudy.games.shogi.errors import IllegalAnswer
from understudy.games.shogi.score import ContestScore
from understudy.games.shogi.small.matches import opened, state_dim, write_states
from understudy.games.shogi.small.rules import BLACK, SmallGame
from understudy.games.shogi.small.search import Evaluate, best_action, search
from understudy.games.shogi.small.variant import Variant
from understudy.games.shogi.usi_process import UsiProcess, find_engines

ENGINE = "fairy-stockfish"
OPENING_MOVES = 2  # random moves at the start, so that not all games are the same


class SmallPlayer(Protocol):
    """A player of single games."""

    def choose(self, game: SmallGame) -> int | None:
        """A legal action in a game that is not over, or None to resign; the game is not changed."""
        ...


class SmallRandomPlayer:
    """Plays any legal move, all equally likely."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def choose(self, game: SmallGame) -> int:
        """See SmallPlayer."""
        return int(self._rng.choice(game.actions))


class SmallGreedyPlayer:
    """Wins at once if it can, otherwise captures the most mobile piece, otherwise plays at random."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def choose(self, game: SmallGame) -> int:
        """See SmallPlayer."""
        variant, board = game.variant, game.position.board
        gains = []
        for number in game.actions:
            game.push(number)
            won = game.result is not None and game.for_player(1 - game.turn) > 0
            game.pop()
            taken = -board[variant.actions[number].target]
            gains.append(np.inf if won else _worth(variant, taken) if taken > 0 else 0)
        highest = np.flatnonzero(np.array(gains) == max(gains))
        return game.actions[int(self._rng.choice(highest))]


class NetworkPlayer:
    """A network: with a search of `nodes` nodes or, without, its policy, sampled if the temperature is above 0."""

    def __init__(
        self, evaluate: Evaluate, nodes: int = 0, temperature: float = 0.0, rng: np.random.Generator | None = None
    ) -> None:
        self._evaluate, self._nodes, self._temperature = evaluate, nodes, temperature
        self._rng = rng or np.random.default_rng()

    def choose(self, game: SmallGame) -> int:
        """See SmallPlayer."""
        if self._nodes:
            return best_action(search(self._evaluate, game, self._nodes))
        states = np.empty((1, state_dim(game.variant)), np.float32)
        write_states(game.variant, [game], states)
        scores = self._evaluate(states)[0][0, list(game.actions)]
        if self._temperature:
            return game.actions[draw(scores / self._temperature, None, 0.0, self._rng.random()).action]
        return game.actions[best(scores, None).action]


class EnginePlayer(UsiProcess):
    """Fairy-stockfish as a player; a context manager that ends the engine."""

    def __init__(self, variant: Variant, go: str, options: Mapping[str, str | int]) -> None:
        self._go = go
        super().__init__(find_engines()[ENGINE], {"UCI_Variant": variant.engine, **options})

    def choose(self, game: SmallGame) -> int | None:
        """See SmallPlayer. IllegalAnswer if the engine's answer is not a legal move."""
        moves = game.usi_moves()
        self.send(f"position startpos{' moves ' if moves else ''}{' '.join(moves)}")
        self.send(f"go {self._go}")
        answer = self.until("bestmove")[-1].split()[1]
        if answer == "resign":
            return None
        for number in game.actions:
            if game.variant.usi(number, game.turn != BLACK) == answer:
                return number
        raise IllegalAnswer(f"{self.name} answered {answer!r} after {' '.join(moves)}.")


def play_game(black: SmallPlayer, white: SmallPlayer, game: SmallGame) -> SmallGame:
    """Play a game to its end; a player who resigns loses."""
    while not game.over:
        number = (black, white)[game.turn].choose(game)
        if number is None:
            game.result = (-1, 1)[game.turn]
        else:
            game.push(number)
    return game


def play_match(
    variant: Variant, first: SmallPlayer, second: SmallPlayer, games: int, rng: np.random.Generator
) -> ContestScore:
    """Pairs of games with colours exchanged, from random openings; a game that is cut off is a draw."""
    results: list[float] = []
    while len(results) < games:
        opening = opened(variant, rng, OPENING_MOVES)
        for side in (0, 1)[: games - len(results)]:
            game = SmallGame(variant)
            for number in opening.moves:
                game.push(number)
            black, white = (first, second) if side == 0 else (second, first)
            results.append(play_game(black, white, game).for_player(side))
    return ContestScore(results.count(1.0), results.count(0.0), results.count(-1.0))


def _worth(variant: Variant, kind: int) -> int:
    """The value of a captured piece: the number of squares it reaches from the middle of an empty board."""
    shape = variant.shapes[kind][variant.squares // 2]
    return 1 + len(shape.steps) + sum(map(len, shape.runs))
