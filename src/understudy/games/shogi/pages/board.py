"""A recorded game of shogi: its positions, drawn, and what was thought of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from understudy.watch.dashboard import charts
from understudy.watch.dashboard.charts import Line, Options
from understudy.watch.dashboard.markup import Markup, join, tag

if TYPE_CHECKING:
    from understudy.games.shogi.thoughts import Thought

_MOST_BYTES = 2_000_000
_KANJI = dict(zip("PLNSGBRK", "歩香桂銀金角飛玉", strict=True))
_PROMOTED = {"P": "と", "L": "杏", "N": "圭", "S": "全", "B": "馬", "R": "龍"}
_RANKS = "abcdefghi"
_CELL = 50
_WON = 20.0  # pawns
_MATE = 100.0


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded game: `positions[n]` is the SFEN before move n, the last one is the end."""

    names: tuple[str, str]
    result: str
    positions: tuple[str, ...]
    moves: tuple[str, ...]
    evaluations: tuple[int | None, ...]
    thoughts: tuple[Thought | None, ...] = ()

    def turn(self, at: int) -> int:
        """Who is to move after `at` moves: 0 for Black, 1 for White."""
        return int(self.positions[at].split()[1] == "w")

    def thought(self, at: int) -> Thought | None:
        """What the player thought, during the game, of the position after `at` moves."""
        return self.thoughts[at] if at < len(self.thoughts) else None

    @property
    def title(self) -> str:
        """Who played whom."""
        return " – ".join(self.names)


def read(path: Path) -> list[Replayed]:
    """The games of a file; GameError, naming the file, if it cannot be understood."""
    from understudy.games.shogi.record_files import read_records  # noqa: PLC0415 - cshogi is a door of its own
    from understudy.games.shogi.rules import ShogiGame  # noqa: PLC0415

    if path.stat().st_size > _MOST_BYTES:
        return []
    games = []
    for record in read_records(path):
        board = ShogiGame(record.start, max_moves=len(record.moves) + 1)
        positions = [board.board.sfen()]
        for usi in record.moves:
            board.push(board.move_of_usi(usi))
            positions.append(board.board.sfen())
        result = record.result
        ended = "broken off" if result is None else f"{_winner(result.winner)} ({result.ending})"
        evaluations = tuple(record.evaluation(number) for number in range(len(record.moves)))
        games.append(Replayed(record.names, ended, tuple(positions), record.moves, evaluations, record.thoughts))
    return games


def _winner(winner: int | None) -> str:
    return "draw" if winner is None else f"{('Black', 'White')[winner]} wins"


def value_text(centipawns: int) -> str:
    """A value as people read it; engines write a mate as hundreds of pawns."""
    pawns = centipawns / 100
    return f"{pawns:+.2f} pawns" if abs(pawns) < _MATE else "won" if pawns > 0 else "lost"


def value_curve(game: Replayed, at: int) -> Options | None:
    """What each player thought of their positions, in pawns for Black; beyond twenty it is as good as won.

    A line marks the move that is on the board.
    """
    first = game.turn(0)
    lines = []
    for player, name in enumerate(game.names):
        points = [
            (number + 1, min(max(value / 100, -_WON), _WON))
            for number, value in enumerate(game.evaluations)
            if value is not None and (number + first) % 2 == player
        ]
        if points:
            lines.append(Line(f"{'▲△'[player]} {name}", points, charts.COLORS[player]))
    return charts.line_chart(lines, x_name="move", level=0, here=at) if lines else None


def board(sfen: str, last_move: str = "", *, kanji: bool = True) -> Markup:
    """A position as SVG, Black below; the squares of the last move are marked."""
    rows, turn, hands, *_ = sfen.split()
    parts = [tag("rect", x=0, y=0, width=9 * _CELL, height=9 * _CELL, cls="wood")]
    for square in re.findall(r"[1-9][a-i]", last_move):
        x, y = (9 - int(square[0])) * _CELL, _RANKS.index(square[1]) * _CELL
        parts.append(tag("rect", x=x, y=y, width=_CELL, height=_CELL, cls="moved"))
    for line in range(10):
        at = line * _CELL
        parts.append(tag("path", d=f"M0 {at}H{9 * _CELL}M{at} 0V{9 * _CELL}", cls="rule"))
    for y, row in enumerate(rows.split("/")):
        x = 0
        for empty_run, promoted, letter in re.findall(r"(\d)|(\+?)([A-Za-z])", row):
            if empty_run:
                x += int(empty_run)
                continue
            parts.append(_piece(x, y, letter, bool(promoted), kanji))
            x += 1
    for number in range(9):
        middle = (number + 0.5) * _CELL
        parts.append(tag("text", 9 - number, x=middle, y=-8, cls="coordinate"))
        parts.append(tag("text", _RANKS[number], x=9 * _CELL + 12, y=middle + 5, cls="coordinate"))
    size = 9 * _CELL
    svg = tag("svg", join(parts), viewBox=f"-4 -26 {size + 28} {size + 30}", role="img", aria_label=f"position {sfen}")
    held = [_hand(hands, white) for white in (True, False)]
    names = [
        f"{name} {'to move' if (turn == 'w') == white else ''}"
        for name, white in (("△ White", True), ("▲ Black", False))
    ]
    hand_rows = [
        tag("div", tag("b", name), tag("span", text), cls="hand") for name, text in zip(names, held, strict=True)
    ]
    return tag("div", hand_rows[0], svg, hand_rows[1], cls="shogi")


def _piece(x: int, y: int, letter: str, promoted: bool, kanji: bool) -> Markup:
    kind, white = letter.upper(), letter.islower()
    sign = (
        (_PROMOTED.get(kind, _KANJI[kind]) if promoted else _KANJI[kind]) if kanji else ("+" if promoted else "") + kind
    )
    shape = tag("path", d="M0 -20L13 -14L17 19H-17L-13 -14Z", cls="piece")
    text = tag("text", sign, x=0, y=10, cls="sign promoted" if promoted else "sign")
    turned = " rotate(180)" if white else ""
    return tag("g", shape, text, transform=f"translate({(x + 0.5) * _CELL:g} {(y + 0.5) * _CELL:g}){turned}")


def _hand(hands: str, white: bool) -> str:
    held = [
        (letter.upper(), int(number or 1))
        for number, letter in re.findall(r"(\d*)([A-Za-z])", hands)
        if letter.islower() == white
    ]
    return " ".join(f"{_KANJI[kind]}{count if count > 1 else ''}" for kind, count in held) or "nothing in hand"
