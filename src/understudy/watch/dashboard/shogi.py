"""Shogi: a board that replays a recorded game, with its moves and what was thought of each position."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from nicegui import ui

from understudy.errors import UnderstudyError
from understudy.watch.dashboard import charts
from understudy.watch.dashboard.charts import Line, Options
from understudy.watch.dashboard.markup import Markup, empty, join, tag
from understudy.watch.dashboard.parts import Update, box, card
from understudy.watch.dashboard.runs import Watched, in_reader

_MOST_BYTES = 2_000_000
_PLAY_SECONDS = 0.8
_KANJI = dict(zip("PLNSGBRK", "歩香桂銀金角飛玉", strict=True))
_PROMOTED = {"P": "と", "L": "杏", "N": "圭", "S": "全", "B": "馬", "R": "龍"}
_RANKS = "abcdefghi"
_CELL = 50


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded game: `positions[n]` is the SFEN before move n, the last one is the end."""

    title: str
    result: str
    positions: tuple[str, ...]
    moves: tuple[str, ...]
    evaluations: tuple[int | None, ...]


def read(path: Path) -> list[Replayed]:
    """The games of a file; GameError, naming the file, if it cannot be understood."""
    from understudy.games.shogi.record import read_records  # noqa: PLC0415 - cshogi is a door of its own
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
        title = f"{record.names[0]} – {record.names[1]}"
        games.append(Replayed(title, ended, tuple(positions), record.moves, evaluations))
    return games


def _winner(winner: int | None) -> str:
    return "draw" if winner is None else f"{('Black', 'White')[winner]} wins"


def value_curve(game: Replayed) -> Options | None:
    """What was thought of each position, for Black."""
    points = [(number + 1, value / 100) for number, value in enumerate(game.evaluations) if value is not None]
    if not points:
        return None
    return charts.line_chart([Line("value for Black", points)], x_name="move", level=0)


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


class Viewer:
    """The board with its controls: a game of a file is chosen, and moved through."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._files: dict[str, Path] = {}
        self._games: list[Replayed] = []
        self._game: Replayed | None = None
        self._at = 0
        self._playing = False
        self._kanji = True
        with card("Shogi"):
            with box("filters"):
                self._file = ui.select([], on_change=self._open).props("dense outlined").classes("record")
                self._number = ui.select([], on_change=self._choose).props("dense outlined")
                for label, name, step in (
                    ("⏮", "first", -(10**6)),
                    ("◀", "back", -1),
                    ("▶", "forward", 1),
                    ("⏭", "last", 10**6),
                ):
                    with box("button", "button").on("click", lambda step=step: self._go(self._at + step)) as button:
                        button.props(f'aria-label="{name}"')
                        ui.label(label)
                with box("button", "button").on("click", self._toggle):
                    self._play_label = ui.label("Play")
                with box("button", "button").on("click", self._letters):
                    ui.label("漢 / A").props('aria-label="kanji or letters"')
            with box("shogi-row"):
                self._board = ui.html("")
                with box("side"):
                    self._about = ui.html("")
                    self._chart = ui.echart({}, renderer="svg").classes("chart tall")
                    self._moves = ui.html("").classes("moves")
        ui.timer(_PLAY_SECONDS, self._tick)

    async def read(self) -> None:
        """Look for records again."""
        self._files = await in_reader(self._watched.records)
        names = list(self._files)
        if names != self._file.options:
            chosen = self._file.value if self._file.value in self._files else (names[0] if names else None)
            self._file.set_options(names, value=chosen)

    async def _open(self) -> None:
        path = self._files.get(self._file.value)
        if path is None:
            return
        try:
            self._games = await in_reader(lambda: read(path))
        except (UnderstudyError, OSError) as error:
            self._games = []
            self._board.set_content(empty(str(error)))
        labels = {number: f"{number + 1}. {game.title}, {game.result}" for number, game in enumerate(self._games)}
        self._number.set_options(labels, value=0 if labels else None)
        self._choose()

    def _choose(self) -> None:
        self._game = self._games[self._number.value] if self._games and self._number.value is not None else None
        if self._game is not None:
            curve = value_curve(self._game)
            self._chart.set_visibility(curve is not None)
            if curve is not None:
                self._chart.options.clear()
                self._chart.options.update(curve)
                self._chart.update()
        self._go(0)

    def _go(self, number: int) -> None:
        game = self._game
        if game is None:
            return
        self._at = min(max(number, 0), len(game.moves))
        last = game.moves[self._at - 1] if self._at else ""
        self._board.set_content(board(game.positions[self._at], last, kanji=self._kanji))
        value = game.evaluations[self._at - 1] if self._at and game.evaluations else None
        said = "" if value is None else f", value for Black {value / 100:+.2f} pawns"
        about = f"Move {self._at} of {len(game.moves)}" + (f": {last}{said}" if last else "")
        self._about.set_content(tag("div", tag("b", about), tag("div", f"{game.title}: {game.result}", cls="muted")))
        near = range(max(self._at - 6, 0), min(self._at + 6, len(game.moves)))
        line = (
            tag("span", f"{n + 1}. {game.moves[n]}", cls="move here" if n == self._at - 1 else "move") for n in near
        )
        self._moves.set_content(join(line))

    def _toggle(self) -> None:
        self._playing = not self._playing
        self._play_label.set_text("Pause" if self._playing else "Play")

    def _letters(self) -> None:
        self._kanji = not self._kanji
        self._go(self._at)

    def _tick(self) -> None:
        if self._playing and self._game is not None:
            if self._at >= len(self._game.moves):
                self._toggle()
            else:
                self._go(self._at + 1)


def show(watched: Watched) -> list[Update]:
    """Build the page; new records appear while it is open."""
    viewer = Viewer(watched)
    seen: object = None

    def update() -> None:
        nonlocal seen
        if (now := watched.snapshot.last_version_at, watched.snapshot.at // 30) != seen:
            seen = now
            ui.timer(0, viewer.read, once=True)

    update()
    return [update]
