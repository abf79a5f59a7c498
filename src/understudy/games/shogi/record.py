"""A game on paper, and its files: CSA and KIF, by the ending of the file's name."""

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
    """What is known of a game: USI moves from a position, who played, how it ended, and what an engine thought."""

    moves: tuple[str, ...]
    start: str = START
    names: tuple[str, str] = ("Black", "White")
    result: Result | None = None
    """None: the game was broken off."""
    evaluations: tuple[int | None, ...] = field(default=())
    """For each move, its value in centipawns for Black; empty if nobody thought about it."""
    thoughts: tuple[Thought | None, ...] = field(default=())
    """For each move, what the network that played it thought of the position before; empty if nobody wrote it down."""
    seconds: tuple[int | None, ...] = field(default=())
    """For each move, the time it took; empty if nobody measured it."""
    lines: tuple[tuple[str, ...] | None, ...] = field(default=())
    """For each move, the moves that its player expected to follow; empty if nobody said."""
    comments: tuple[tuple[str, ...] | None, ...] = field(default=())
    """For each move, lines of text about it that programs show; empty if there are none."""

    def replay(self) -> ShogiGame:
        """The game at its last position, with no limit of moves; GameError if a move is not legal."""
        game = ShogiGame(self.start, max_moves=len(self.moves) + 1)
        for number, usi in enumerate(self.moves, start=1):
            try:
                game.push(game.move_of_usi(usi))
            except GameError as error:
                raise GameError(f"Move {number} of the game: {error}") from error
        return game

    def evaluation(self, number: int) -> int | None:
        """That of the move with this index."""
        return of_move(self.evaluations, number)

    def thought(self, number: int) -> Thought | None:
        """What was thought before the move with this index."""
        return of_move(self.thoughts, number)


def of_move(told: Sequence[T | None], number: int) -> T | None:
    """What is recorded of the move with this index."""
    return told[number] if number < len(told) else None


def record_of(
    game: ShogiGame, names: tuple[str, str] = ("Black", "White"), evaluations: tuple[int | None, ...] = ()
) -> GameRecord:
    """The record of a game."""
    return GameRecord(tuple(game.usi_moves()), game.start, names, game.result, evaluations)


def judged(game: ShogiGame, written: Result | None) -> Result | None:
    """The result of a game that was read: by the rules if its last position ends it, else as it is written.

    A declaration must be recorded: without it, the game is not over.
    """
    if game.result is not None and game.result.ending is not Ending.DECLARATION:
        return game.result
    return written


def known(told: Sequence[T | None]) -> tuple[T | None, ...]:
    """What is recorded of each move; empty if nothing is recorded of any."""
    return tuple(told) if any(one is not None for one in told) else ()
