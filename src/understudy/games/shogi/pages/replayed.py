"""A game of shogi on the page: one from a file, or positions that somebody typed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from understudy.games.shogi.record import GameRecord
    from understudy.games.shogi.thoughts import Thought

_MOST_BYTES = 2_000_000
_POSITION = re.compile(r"(position |startpos|sfen |[1-9+plnsgbrkPLNSGBRK]+(/[1-9+plnsgbrkPLNSGBRK]+){8} )")
YOURS = "your position"


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded game: `positions[n]` is the SFEN before move n; the last one is the final position."""

    names: tuple[str, str]
    result: str
    positions: tuple[str, ...]
    moves: tuple[str, ...]
    evaluations: tuple[int | None, ...]
    thoughts: tuple[Thought | None, ...] = ()
    written: tuple[str, ...] = ()
    """The moves in Japanese notation."""
    kif: str = ""
    """The whole game as KIF text."""

    def turn(self, at: int) -> int:
        """Who is to move after `at` moves: 0 for Black, 1 for White."""
        return int(self.positions[at].split()[1] == "w")

    def thought(self, at: int) -> Thought | None:
        """What the player recorded about the position after `at` moves during the game."""
        return self.thoughts[at] if at < len(self.thoughts) else None

    def move(self, number: int, *, kanji: bool) -> str:
        """A move in Japanese notation or in USI."""
        return self.written[number] if kanji and self.written else self.moves[number]

    def said(self, at: int, usi: str, *, kanji: bool) -> str:
        """A legal move in the position after `at` moves, in Japanese notation or in USI."""
        if not kanji:
            return usi
        from understudy.games.shogi.notation import japanese  # noqa: PLC0415 - needs cshogi
        from understudy.games.shogi.rules import ShogiGame  # noqa: PLC0415

        return japanese(usi, ShogiGame(self.positions[at]))

    @property
    def title(self) -> str:
        """The names of the players."""
        return " – ".join(self.names)


def read(path: Path) -> list[Replayed]:
    """Read the games of a file; GameError with the file's name if it is not valid."""
    from understudy.games.shogi.record_files import read_records  # noqa: PLC0415 - needs cshogi

    return [] if path.stat().st_size > _MOST_BYTES else [replayed(record) for record in read_records(path)]


def replayed(record: GameRecord) -> Replayed:
    """A record with all its positions."""
    from understudy.games.shogi import kif  # noqa: PLC0415 - needs cshogi
    from understudy.games.shogi.notation import japanese  # noqa: PLC0415
    from understudy.games.shogi.rules import ShogiGame  # noqa: PLC0415

    game = ShogiGame(record.start, max_moves=len(record.moves) + 1)
    positions, written = [game.board.sfen()], []
    for usi in record.moves:
        move = game.move_of_usi(usi)
        written.append("▲△"[game.turn] + japanese(usi, game))
        game.push(move)
        positions.append(game.board.sfen())
    result = record.result
    ended = "broken off" if result is None else f"{_winner(result.winner)} ({result.ending})"
    evaluations = tuple(record.evaluation(number) for number in range(len(record.moves)))
    return Replayed(
        record.names,
        ended,
        tuple(positions),
        record.moves,
        evaluations,
        record.thoughts,
        tuple(written),
        kif.to_text(record),
    )


def typed(text: str, shown: Replayed | None, at: int) -> Replayed:
    """Interpret typed text: a position, with or without moves, or a move in the position that is shown.

    A position is an SFEN, or what follows `position` in USI; GameError says what is wrong with it.
    """
    from understudy.games.shogi.notation import typed_move  # noqa: PLC0415 - needs cshogi
    from understudy.games.shogi.record import record_of  # noqa: PLC0415
    from understudy.games.shogi.rules import ShogiGame, game_of_position  # noqa: PLC0415

    text = text.strip()[:_MOST_BYTES]
    if _POSITION.match(text):
        bare = not text.startswith(("position ", "startpos", "sfen "))
        game = game_of_position(f"sfen {text}" if bare else text, 1 << 20)
    else:
        start, moves = (shown.positions[0], shown.moves[:at]) if shown else (None, ())
        game = ShogiGame(max_moves=1 << 20) if start is None else ShogiGame(start, max_moves=1 << 20)
        for usi in moves:
            game.push(game.move_of_usi(usi))
        game.push(typed_move(text, game))
    line = replayed(record_of(game))
    return Replayed(line.names, YOURS, line.positions, line.moves, line.evaluations, written=line.written, kif=line.kif)


def _winner(winner: int | None) -> str:
    return "draw" if winner is None else f"{('Black', 'White')[winner]} wins"
