"""A shogi position as a drawing, and the values of a game as a curve."""

from __future__ import annotations

import re

from understudy.games.shogi.pages.replayed import Replayed
from understudy.watch.dashboard import charts
from understudy.watch.dashboard.charts import Line, Options
from understudy.watch.dashboard.markup import Markup, join, tag

_KANJI = dict(zip("PLNSGBRK", "歩香桂銀金角飛玉", strict=True))
_PROMOTED = {"P": "と", "L": "杏", "N": "圭", "S": "全", "B": "馬", "R": "龍"}
_RANKS = "abcdefghi"
_CELL = 50
_WON = 20.0  # pawns
_MATE = 100.0


def value_text(centipawns: int) -> str:
    """A value for people; engines write a mate as hundreds of pawns."""
    pawns = centipawns / 100
    return f"{pawns:+.2f} pawns" if abs(pawns) < _MATE else "won" if pawns > 0 else "lost"


def value_curve(game: Replayed, at: int) -> Options | None:
    """Each player's value of their positions, in pawns for Black; a value beyond twenty counts as won.

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


def board(sfen: str, last_move: str = "", *, kanji: bool = True, flipped: bool = False) -> Markup:
    """A position as SVG, Black below or, `flipped`, White; the squares of the last move are marked."""
    rows, turn, hands, *_ = sfen.split()
    parts = [tag("rect", x=0, y=0, width=9 * _CELL, height=9 * _CELL, cls="wood")]

    def place(x: int, y: int) -> tuple[int, int]:
        return (8 - x, 8 - y) if flipped else (x, y)

    for square in re.findall(r"[1-9][a-i]", last_move):
        x, y = place(9 - int(square[0]), _RANKS.index(square[1]))
        parts.append(tag("rect", x=x * _CELL, y=y * _CELL, width=_CELL, height=_CELL, cls="moved"))
    for line in range(10):
        at = line * _CELL
        parts.append(tag("path", d=f"M0 {at}H{9 * _CELL}M{at} 0V{9 * _CELL}", cls="rule"))
    for y, row in enumerate(rows.split("/")):
        x = 0
        for empty_run, promoted, letter in re.findall(r"(\d)|(\+?)([A-Za-z])", row):
            if empty_run:
                x += int(empty_run)
                continue
            parts.append(_piece(*place(x, y), letter, bool(promoted), kanji, turned=letter.islower() != flipped))
            x += 1
    for number in range(9):
        middle = (number + 0.5) * _CELL
        x, y = place(number, number)
        parts.append(tag("text", 9 - x, x=middle, y=-8, cls="coordinate"))
        parts.append(tag("text", _RANKS[y], x=9 * _CELL + 12, y=middle + 5, cls="coordinate"))
    size = 9 * _CELL
    svg = tag("svg", join(parts), viewBox=f"-4 -26 {size + 28} {size + 30}", role="img", aria_label=f"position {sfen}")
    above, below = (_hand_row(hands, white, to_move=(turn == "w") == white) for white in (not flipped, flipped))
    return tag("div", above, svg, below, cls="shogi")


def _piece(x: int, y: int, letter: str, promoted: bool, kanji: bool, *, turned: bool) -> Markup:
    kind = letter.upper()
    sign = (
        (_PROMOTED.get(kind, _KANJI[kind]) if promoted else _KANJI[kind]) if kanji else ("+" if promoted else "") + kind
    )
    shape = tag("path", d="M0 -20L13 -14L17 19H-17L-13 -14Z", cls="piece")
    text = tag("text", sign, x=0, y=10, cls="sign promoted" if promoted else "sign")
    turn = " rotate(180)" if turned else ""
    return tag("g", shape, text, transform=f"translate({(x + 0.5) * _CELL:g} {(y + 0.5) * _CELL:g}){turn}")


def _hand_row(hands: str, white: bool, *, to_move: bool) -> Markup:
    held = [
        (letter.upper(), int(number or 1))
        for number, letter in re.findall(r"(\d*)([A-Za-z])", hands)
        if letter.islower() == white
    ]
    text = " ".join(f"{_KANJI[kind]}{count if count > 1 else ''}" for kind, count in held) or "nothing in hand"
    name = ("▲ Black", "△ White")[white] + (" to move" if to_move else "")
    return tag("div", tag("b", name), tag("span", text), cls="hand")
