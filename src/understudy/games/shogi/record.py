"""A game on paper, and its files: CSA and KIF, by the ending of the file's name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from understudy.files.atomic import write_atomically
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
        return self.evaluations[number] if number < len(self.evaluations) else None

    def thought(self, number: int) -> Thought | None:
        """What was thought before the move with this index."""
        return self.thoughts[number] if number < len(self.thoughts) else None


def record_of(
    game: ShogiGame, names: tuple[str, str] = ("Black", "White"), evaluations: tuple[int | None, ...] = ()
) -> GameRecord:
    """Write a game down."""
    return GameRecord(tuple(game.usi_moves()), game.start, names, game.result, evaluations)


def judged(game: ShogiGame, written: Result | None) -> Result | None:
    """The result of a game that was read: by the rules if its last position ends it, else as it is written.

    A declaration has to be made: without the word of it, the game is not over.
    """
    if game.result is not None and game.result.ending is not Ending.DECLARATION:
        return game.result
    return written


def known(told: Sequence[T | None]) -> tuple[T | None, ...]:
    """What was told of each move; empty if nothing was told of any."""
    return tuple(told) if any(one is not None for one in told) else ()


def write_record(path: Path, record: GameRecord) -> None:
    """Save a game as .csa (UTF-8), .kif (Shift-JIS, as programs expect it) or .kifu (UTF-8)."""
    from understudy.games.shogi import csa, kif  # noqa: PLC0415 - both read and write records, which are defined here

    match path.suffix:
        case ".csa":
            data = csa.to_text(record).encode()
        case ".kif":
            data = kif.to_text(record).encode("cp932", errors="replace")
        case ".kifu":
            data = kif.to_text(record).encode()
        case _:
            raise GameError(f"{path}: games are saved as .csa, .kif or .kifu.")
    write_atomically(path, lambda stream: stream.write(data), durable=False)


def read_records(path: Path) -> list[GameRecord]:
    """The games of a .csa, .kif or .kifu file; GameError, naming the file, if one cannot be understood."""
    from understudy.games.shogi import csa, kif  # noqa: PLC0415 - both read and write records, which are defined here

    text = _decode(path)
    try:
        if path.suffix == ".csa":
            return csa.from_text(text)
        if path.suffix in (".kif", ".kifu"):
            return [kif.from_text(text)]
    except GameError as error:
        raise GameError(f"{path}: {error}") from error
    raise GameError(f"{path}: games are read from .csa, .kif and .kifu files.")


def _decode(path: Path) -> str:
    data = path.read_bytes()
    for encoding in ("utf-8-sig", "cp932"):
        try:
            return data.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise GameError(f"{path} is neither UTF-8 nor Shift-JIS.")
