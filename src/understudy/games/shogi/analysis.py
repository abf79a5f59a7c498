"""Analysis of a game: the value of every position, the best line there, and which moves were mistakes."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import cshogi

from understudy.games.shogi.actions import BLACK
from understudy.games.shogi.mate import mate_of
from understudy.games.shogi.notation import japanese, japanese_line
from understudy.games.shogi.players import ShogiPlayer
from understudy.games.shogi.record import GameRecord
from understudy.games.shogi.rules import ShogiGame

WON = 30_000
"""Centipawns of a mate; each ply that a mate is nearer counts one more."""
MATE_NODES = 20_000
_FAR = WON - 1000
_SHOWN = 8  # moves shown of a line
MARKS = (("??", "blunder", 0.30), ("?", "mistake", 0.16), ("?!", "inaccuracy", 0.08))
"""The mark of a move, its name, and the smallest loss in the probability of winning."""


class PositionView(NamedTuple):
    """The analysis of a position: its value in centipawns for Black, and the best line."""

    value: int
    line: tuple[str, ...] = ()


class ReviewedMove(NamedTuple):
    """A move of the game, compared with the best one."""

    number: int
    turn: int
    usi: str
    written: str
    """In Japanese notation."""
    value: int
    """The value of the position after it, in centipawns for Black."""
    best: tuple[str, ...]
    """The best line instead, in Japanese notation; its first move may be the one that was played."""
    best_usi: str
    loss: float
    """The loss in the probability of winning, 0 to 1."""

    @property
    def mark(self) -> str:
        """?! for an inaccuracy, ? for a mistake, ?? for a blunder."""
        return next((mark for mark, _, least in MARKS if self.loss >= least), "")

    @property
    def name(self) -> str:
        """The name of the mark."""
        return next((name for _, name, least in MARKS if self.loss >= least), "")


class Analysis(NamedTuple):
    """A game with the view of every position and every move."""

    record: GameRecord
    positions: tuple[str, ...]
    """SFEN, before each move and at the end."""
    first: PositionView
    moves: tuple[ReviewedMove, ...]
    analyst: str

    def counted(self, player: int) -> dict[str, int]:
        """The number of mistakes of each kind that a player made."""
        names = [move.name for move in self.moves if move.turn == player]
        return {name: names.count(name) for _, name, _ in MARKS}

    def commented(self) -> GameRecord:
        """The record with values and comments, for programs that show them."""
        comments = tuple(_comment(move) for move in self.moves)
        values = tuple(move.value for move in self.moves)
        return dataclasses.replace(self.record, evaluations=values, comments=comments, thoughts=())


def analyse(
    record: GameRecord,
    analyst: ShogiPlayer,
    mate_nodes: int = MATE_NODES,
    on_move: Callable[[ReviewedMove], None] = lambda _: None,
) -> Analysis:
    """Ask `analyst`, and the mate search, about every position; `on_move` gets each move as soon as it is analysed."""
    positions, moves = [], []
    views = _views(record, analyst, mate_nodes)
    before, game = next(views)
    first = before
    positions.append(game.board.sfen())
    for number, usi in enumerate(record.moves):
        turn, written = game.turn, japanese(usi, game)
        best = tuple(japanese_line(before.line[:_SHOWN], game))
        after, game = next(views)
        sign = 1 if turn == BLACK else -1
        lost = max(chance(sign * before.value) - chance(sign * after.value), 0.0)
        move = ReviewedMove(
            number + 1, turn, usi, written, after.value, best, (before.line or ("",))[0],
            0.0 if before.line[:1] == (usi,) else lost,
        )  # fmt: skip
        moves.append(move)
        positions.append(game.board.sfen())
        on_move(move)
        before = after
    return Analysis(record, tuple(positions), first, tuple(moves), analyst.name)


def _views(record: GameRecord, analyst: ShogiPlayer, mate_nodes: int) -> Iterator[tuple[PositionView, ShogiGame]]:
    game = ShogiGame(record.start, max_moves=max(len(record.moves) + 1, 1 << 20))
    yield _view(game, analyst, mate_nodes), game
    for usi in record.moves:
        game.push(game.move_of_usi(usi))
        yield _view(game, analyst, mate_nodes), game


def _view(game: ShogiGame, analyst: ShogiPlayer, mate_nodes: int) -> PositionView:
    sign = 1 if game.turn == BLACK else -1
    if game.result is not None:
        return PositionView(round(WON * game.result.for_player(BLACK)))
    if mate := mate_of(game, mate_nodes).line:
        return PositionView(sign * (WON - len(mate)), tuple(cshogi.move_to_usi(move) for move in mate))
    choice = analyst.choose(game)
    line = choice.line or (() if choice.move is None else (cshogi.move_to_usi(choice.move),))
    value = choice.value if choice.value is not None else 0
    return PositionView(sign * max(min(value, WON), -WON), line)


def chance(value: int) -> float:
    """The probability of winning that corresponds to a value in centipawns."""
    return 1 / (1 + math.exp(-max(min(value, WON), -WON) / 600))


def value_words(value: int) -> str:
    """A value for people: +1.35, or a mate with its number of plies."""
    if abs(value) > _FAR:
        plies = WON - abs(value)
        side = "Black" if value > 0 else "White"
        return f"{side} mates in {plies}" if plies else f"{side} has won"
    return f"{value / 100:+.2f}"


def _comment(move: ReviewedMove) -> tuple[str, ...]:
    played = move.best and move.best_usi == move.usi
    lines = [f"{value_words(move.value)}"]
    if move.mark:
        lines[0] += f" {move.mark} {move.name}, {100 * move.loss:.0f} % of the chance to win"
    if move.best:
        lines.append(f"{'Expected' if played else 'Best'}: {' '.join(move.best)}")
    return tuple(lines)
