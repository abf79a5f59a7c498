"""Players of shogi, and games and matches between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import cshogi
import numpy as np

from understudy.acting.sampling import best, draw
from understudy.games.shogi.actions import BLACK, WHITE, actions_of_moves
from understudy.games.shogi.batch import SHAPE, observe
from understudy.games.shogi.clock import Clocks
from understudy.games.shogi.errors import IllegalAnswer
from understudy.games.shogi.inference import Evaluator
from understudy.games.shogi.potential import WORTH
from understudy.games.shogi.record import GameRecord, record_of
from understudy.games.shogi.rules import MAX_MOVES, START, Ending, Result, ShogiGame, mating_move, opened, played
from understudy.games.shogi.score import ContestScore
from understudy.games.shogi.search import Limits, Search, SearchSettings, centipawns


class MoveChoice(NamedTuple):
    """A move (None to resign) and, if known, its value in centipawns for the player."""

    move: int | None
    value: int | None = None
    line: tuple[str, ...] = ()
    """The moves that the player expects, in USI, starting with its own."""
    wins: bool = False
    """Whether the player declares a win, with a king in the opponent's camp."""


class ShogiPlayer(Protocol):
    """A player of single games."""

    name: str

    def choose(self, game: ShogiGame) -> MoveChoice:
        """Choose a legal move in a game that is not over; the game is not changed."""
        ...


class RandomPlayer:
    """Plays any legal move, all equally likely."""

    name = "random"

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def choose(self, game: ShogiGame) -> MoveChoice:
        """See ShogiPlayer.choose."""
        return MoveChoice(game.legal_moves[self._rng.integers(len(game.legal_moves))])


class GreedyPlayer:
    """Mates in one if it can, otherwise captures the most valuable piece, otherwise plays at random."""

    name = "greedy"

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def choose(self, game: ShogiGame) -> MoveChoice:
        """See ShogiPlayer.choose."""
        if mate := mating_move(game):
            return MoveChoice(mate)
        worth = np.array([WORTH[cshogi.move_cap(move)] for move in game.legal_moves])
        best = np.flatnonzero(worth == worth.max())
        return MoveChoice(game.legal_moves[best[self._rng.integers(len(best))]])


OPENING_MOVES = 4
POLICY_TEMPERATURE = 0.5
"""The temperature of a policy without search. Moves are drawn, because the most probable ones alone go in circles."""


class PolicyPlayer:
    """The network without search: its most probable move or, with a temperature above 0, a drawn one."""

    def __init__(
        self,
        evaluate: Evaluator,
        temperature: float = 0.0,
        rng: np.random.Generator | None = None,
        name: str = "policy",
    ) -> None:
        self.name = name
        self._evaluate = evaluate
        self._temperature = temperature
        self._rng = rng or np.random.default_rng()
        self._planes = np.empty((1, *SHAPE), np.float32)

    def choose(self, game: ShogiGame) -> MoveChoice:
        """See ShogiPlayer.choose."""
        observe([game], self._planes)
        logits, wdl = self._evaluate(self._planes)
        moves = np.array(game.legal_moves, np.int32)
        scores = logits[0, actions_of_moves(moves, np.full(len(moves), game.turn))]
        if self._temperature > 0:
            place = draw(scores / self._temperature, None, 0.0, self._rng.random()).action
        else:
            place = best(scores, None).action
        return MoveChoice(int(moves[place]), centipawns(float(wdl[0, 0] - wdl[0, 2])))


class SearchPlayer:
    """The network with PUCT search over a fixed number of nodes. With a temperature, moves are drawn by visits."""

    def __init__(
        self,
        evaluate: Evaluator,
        nodes: int,
        name: str = "search",
        settings: SearchSettings = SearchSettings(),  # noqa: B008 - it is frozen
        temperature: float = 0.0,
        rng: np.random.Generator | None = None,
    ) -> None:
        self.name = name
        self._rng = rng or np.random.default_rng()
        self._temperature = temperature
        self._search = Search(evaluate, settings, self._rng)
        self._limits = Limits(nodes=nodes)

    def choose(self, game: ShogiGame) -> MoveChoice:
        """See ShogiPlayer.choose."""
        thought = self._search.think(game, self._limits)
        move = thought.drawn(self._temperature, self._rng)
        line = thought.line if move == thought.move else (move,)
        return MoveChoice(move, centipawns(thought.value), tuple(map(cshogi.move_to_usi, line)))


def play(
    black: ShogiPlayer,
    white: ShogiPlayer,
    sfen: str = START,
    max_moves: int = MAX_MOVES,
    moves: Sequence[int] = (),
) -> GameRecord:
    """Play one game to its end, from a position in which these moves were already played."""
    game = played(sfen, moves, max_moves)
    return _play_on(game, (black, white), (None,) * len(moves))


def _play_on(
    game: ShogiGame,
    players: tuple[ShogiPlayer, ShogiPlayer],
    known: tuple[int | None, ...] = (),
    clocks: Clocks | None = None,
    on_error: Callable[[IllegalAnswer], None] = lambda _: None,
) -> GameRecord:
    values = list(known)
    while game.result is None:
        turn = game.turn
        began = time.perf_counter()
        try:
            choice = players[turn].choose(game)
        except IllegalAnswer as error:
            on_error(error)
            game.lose(Ending.ILLEGAL_MOVE)
            break
        if clocks is not None and not clocks.charge(turn, time.perf_counter() - began):
            game.lose(Ending.TIME)
        elif choice.wins:  # a valid declaration would have ended the game earlier
            game.lose(Ending.ILLEGAL_MOVE)
        elif choice.move is None:
            game.resign()
        else:
            game.push(choice.move)
            values.append(None if choice.value is None else choice.value if turn == BLACK else -choice.value)
    evaluations = tuple(values) if any(value is not None for value in values) else ()
    return record_of(game, (players[BLACK].name, players[WHITE].name), evaluations)


def play_match(
    first: ShogiPlayer,
    second: ShogiPlayer,
    games: int,
    rng: np.random.Generator,
    opening_moves: int = OPENING_MOVES,
    max_moves: int = MAX_MOVES,
    on_game: Callable[[int, GameRecord], None] = lambda _number, _record: None,
    clocks: Clocks | None = None,
    decided: Callable[[], bool] = lambda: False,
    on_error: Callable[[IllegalAnswer], None] = lambda _: None,
) -> ContestScore:
    """Play pairs of games with colours exchanged, each pair from its own random opening.

    With clocks, a late move loses the game. So does an illegal answer of an engine, which is passed to `on_error`. The
    match ends after a pair for which `decided` returns True. `on_game` gets each finished game with its number,
    starting at 1.
    """
    points: list[float] = []
    first_moves: Sequence[int] = ()
    for number in range(games):
        if number % 2 == 0:
            if decided():
                break
            first_moves = opening(rng, opening_moves)
        players = (first, second) if number % 2 == 0 else (second, first)
        game = played(START, first_moves, max_moves)
        if clocks is not None:
            clocks.restart()
        record = _play_on(game, players, (None,) * len(first_moves), clocks, on_error)
        assert record.result is not None
        points.append(record.result.for_player(BLACK if number % 2 == 0 else WHITE))
        on_game(number + 1, record)
    return ContestScore(points.count(1), points.count(0), points.count(-1))


def opening(rng: np.random.Generator, moves: int = OPENING_MOVES) -> list[int]:
    """Random first moves that do not end the game; without them, engines would repeat the same game."""
    return opened(rng, moves).moves


def outcome(result: Result | None) -> str:
    """A result in words."""
    if result is None:
        return "broken off"
    who = "draw" if result.winner is None else f"{('Black', 'White')[result.winner]} wins"
    return f"{who} ({result.ending})"
