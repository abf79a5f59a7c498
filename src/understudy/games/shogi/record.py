"""The record of a game, and its file formats CSA and KIF, chosen by the file name's suffix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from understudy.games.shogi.errors import GameError
from understudy.games.shogi.rules import START, Ending, Result, ShogiGame
from understudy.games.shogi.thoughts import Thought

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GameRecord:
    """The record of a game: USI moves from a position, the players, the result, and an engine's evaluations."""

    moves: tuple[str, ...]
    start: str = START
    names: tuple[str, str] = ("Black", "White")
    result: Result | None = None
    """None: the game was interrupted."""
    evaluations: tuple[int | None, ...] = field(default=())
    """For each move, its value in centipawns for Black; empty if there are none."""
    thoughts: tuple[Thought | None, ...] = field(default=())
    """For each move, the policy and value that the network had before it; empty if they were not recorded."""
    seconds: tuple[int | None, ...] = field(default=())
    """For each move, the time it took; empty if it was not measured."""
    lines: tuple[tuple[str, ...] | None, ...] = field(default=())
    """For each move, the moves that its player expected next; empty if they are not known."""
    comments: tuple[tuple[str, ...] | None, ...] = field(default=())
    """For each move, lines of text about it that programs show; empty if there are none."""

    def replay(self) -> ShogiGame:
        """The game at its last position, without a limit of moves; GameError if a move is illegal."""
        game = ShogiGame(self.start, max_moves=len(self.moves) + 1)
        for number, usi in enumerate(self.moves, start=1):
            try:
                game.push(game.move_of_usi(usi))
            except GameError as error:
                raise GameError(f"Move {number} of the game: {error}") from error
        return game

    def evaluation(self, number: int) -> int | None:
        """The evaluation of the move with this index."""
        return of_move(self.evaluations, number)

    def thought(self, number: int) -> Thought | None:
        """The thought before the move with this index."""
        return of_move(self.thoughts, number)


def of_move(told: Sequence[T | None], number: int) -> T | None:
    """The recorded value for the move with this index."""
    return told[number] if number < len(told) else None


def record_of(
    game: ShogiGame, names: tuple[str, str] = ("Black", "White"), evaluations: tuple[int | None, ...] = ()
) -> GameRecord:
    """The record of a game."""
    return GameRecord(tuple(game.usi_moves()), game.start, names, game.result, evaluations)


def judged(game: ShogiGame, written: Result | None) -> Result | None:
    """The result of a game that was read: by the rules if its last position ends it, otherwise as written.

    A declaration must be recorded; without it, the game is not over.
    """
    if game.result is not None and game.result.ending is not Ending.DECLARATION:
        return game.result
    return written


def known(told: Sequence[T | None]) -> tuple[T | None, ...]:
    """The recorded values of all moves; empty if there is none."""
    return tuple(told) if any(one is not None for one in told) else ()
