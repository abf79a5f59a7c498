"""Opening books in YaneuraOu's format: made from game records, read, written and played from.

For each position, a file has a line `sfen …` and a line for each move: the move, the usual answer or `none`, a value in
centipawns for the player to move, a depth, and how often it was played.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from understudy.files.atomic import write_atomically
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.record import GameRecord
from understudy.games.shogi.rules import ShogiGame, check_sfen

HEADER = "#YANEURAOU-DB2016 1.00"
_MOST_BYTES = 200 << 20
_MOVE = re.compile(
    r"([1-9][a-i][1-9][a-i]\+?|[PLNSGBR]\*[1-9][a-i])\s+(\S+)(?:\s+(-?\d{1,9}))?(?:\s+(-?\d{1,9}))?(?:\s+(\d{1,12}))?\s*(?:[/#].*)?"
)


class BookMove(NamedTuple):
    """A move in a book."""

    usi: str
    answer: str | None = None
    """The move that usually follows."""
    value: int = 0
    depth: int = 0
    times: int = 1


Book = dict[str, list[BookMove]]
"""The moves of a position, the most frequent first. The key is the position's SFEN without the move number."""


def position_key(sfen: str) -> str:
    """An SFEN without the move number."""
    return " ".join(sfen.split()[:3])


def make_book(records: Iterable[GameRecord], moves: int, least: int = 1) -> Book:
    """A book of the first `moves` moves of games; each was played at least `least` times in its position."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    answers: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    values: dict[tuple[str, str], list[int]] = defaultdict(list)
    for record in records:
        game = ShogiGame(record.start, max_moves=len(record.moves) + 1)
        for number, usi in enumerate(record.moves[:moves]):
            key = position_key(game.board.sfen())
            counts[key][usi] += 1
            if number + 1 < len(record.moves):
                answers[key, usi][record.moves[number + 1]] += 1
            if (value := record.evaluation(number)) is not None:
                values[key, usi].append(-value if game.turn else value)
            game.push(game.move_of_usi(usi))
    book: Book = {}
    for key, played in counts.items():
        kept = [
            BookMove(usi, _usual(answers[key, usi]), _mean(values[key, usi]), 0, count)
            for usi, count in sorted(played.items(), key=lambda item: (-item[1], item[0]))
            if count >= least
        ]
        if kept:
            book[key] = kept
    return book


def _usual(answers: Counter[str]) -> str | None:
    return min(answers, key=lambda usi: (-answers[usi], usi)) if answers else None


def _mean(values: list[int]) -> int:
    return round(sum(values) / len(values)) if values else 0


def write_book(path: Path, book: Book) -> None:
    """Save a book, sorted by position, as YaneuraOu does."""
    lines = [HEADER]
    for key in sorted(book):
        lines.append(f"sfen {key} 1")
        lines += [f"{move.usi} {move.answer or 'none'} {move.value} {move.depth} {move.times}" for move in book[key]]
    data = ("\n".join(lines) + "\n").encode()
    write_atomically(path, lambda stream: stream.write(data), durable=False)


def read_book(path: Path) -> Book:
    """Read a book from a file; GameError with the line if it is not valid."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise GameError(f"The book {path} is larger than {_MOST_BYTES >> 20} MB.")
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise GameError(f"The book {path} cannot be read: {error.strerror}.") from error
    book: Book = {}
    moves: list[BookMove] | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.strip()
        if not words or words.startswith(("#", "//")):
            continue
        if words.startswith("sfen "):
            sfen = words.removeprefix("sfen ")
            try:
                check_sfen(sfen if len(sfen.split()) == 4 else f"{sfen} 1")
            except GameError as error:
                raise GameError(f"{path}, line {number}: {error}") from error
            moves = book.setdefault(position_key(sfen), [])
        elif moves is not None and (found := _MOVE.fullmatch(words)):
            answer = None if found[2] in ("none", "None", "resign") else found[2]
            value, depth, count = (
                int(text or default) for text, default in zip(found.group(3, 4, 5), (0, 0, 1), strict=True)
            )
            moves.append(BookMove(found[1], answer, value, depth, count))
        else:
            raise GameError(
                f"{path}, line {number}: {words[:60]!r} is neither a position (sfen …) nor a move of a book."
            )
    return book


def book_move(book: Book, game: ShogiGame, rng: np.random.Generator) -> BookMove | None:
    """A legal move from the book in the position of a game, drawn by how often it was played; None if there is none."""
    legal = []
    for move in book.get(position_key(game.board.sfen()), ()):
        try:
            game.move_of_usi(move.usi)
        except GameError:
            continue
        legal.append(move)
    if not legal:
        return None
    weights = np.array([max(move.times, 1) for move in legal], np.float64)
    return legal[int(rng.choice(len(legal), p=weights / weights.sum()))]
