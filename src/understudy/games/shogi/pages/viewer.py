"""Shogi: a board that replays a recorded game or shows a typed position, with the moves that the model prefers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nicegui import ui

from understudy.errors import UnderstudyError
from understudy.games.shogi.pages.board import board, value_curve, value_text
from understudy.games.shogi.pages.files import records_of
from understudy.games.shogi.pages.replayed import YOURS, Replayed, read, typed
from understudy.rundir import RunDir
from understudy.watch import formats
from understudy.watch.dashboard.charts import Options
from understudy.watch.dashboard.markup import Markup, empty, join, tag
from understudy.watch.dashboard.parts import Update, box, card, chart_card
from understudy.watch.dashboard.runs import Watched, in_reader

if TYPE_CHECKING:
    from understudy.games.shogi.thoughts import Thought

_STYLE = Path(__file__).with_name("board.css")
_PLAY_SECONDS = 0.8
_NEAR = 6  # moves listed before and after the current one
_FAR = 1_000_000
_EXTRA = ". Install the extra `shogi` to see the board."


def show(watched: Watched) -> list[Update]:
    """Build the page; new records appear while it is open."""
    ui.add_css(_STYLE.read_text(encoding="utf-8"))
    viewer = Viewer(watched)
    seen: object = None

    def update() -> None:
        nonlocal seen
        now = (watched.snapshot.last_version_at, watched.snapshot.at // 30)
        if now != seen:
            seen = now
            ui.timer(0, viewer.look_for_records, once=True)

    update()
    return [update]


class Viewer:
    """The board with its controls, to choose a game of a file and step through it."""

    def __init__(self, watched: Watched) -> None:
        self._watched = watched
        self._files: dict[str, Path] = {}
        self._games: list[Replayed] = []
        self._game: Replayed | None = None
        self._at = 0
        self._playing = False
        self._kanji = True
        self._flipped = False
        self._ask: Callable[[str], Thought] | None = None
        self._asked: object = None
        with box("grid wide"):
            with card("Shogi"):
                self._controls()
                self._board = ui.html("")
                self._entry()
            with box("side"):
                with card("Game"):
                    self._about = ui.html("")
                    self._moves = ui.html("").classes("moves")
                with card("Policy", "% of the probability, without search", "move_probability"):
                    self._then = ui.html("")
                    self._now = ui.html("")
                unit = "pawns for Black, cut at 20"
                self._draw = chart_card("position_value", self._curve, unit=unit, empty="No values were recorded.")
        ui.timer(_PLAY_SECONDS, self._tick)

    def _curve(self) -> Options | None:
        return None if self._game is None else value_curve(self._game, self._at)

    def _controls(self) -> None:
        with box("filters"):
            self._file = ui.select([], on_change=self._open).props("dense outlined")
            self._number = ui.select([], on_change=self._choose).props("dense outlined")
            self._button("skip_previous", "first", lambda: self._go(0))
            self._button("chevron_left", "back", lambda: self._go(self._at - 1))
            self._play = self._button("play_arrow", "play", self._toggle)
            self._button("chevron_right", "forward", lambda: self._go(self._at + 1))
            self._button("skip_next", "last", lambda: self._go(_FAR))
            self._button("translate", "kanji or letters", self._letters)
            self._button("swap_vert", "turn the board", self._flip)

    def _entry(self) -> None:
        """An input for a position or a move, and buttons that copy what is shown."""
        with box("filters"):
            self._typed = (
                ui.input(placeholder="SFEN, startpos moves …, or a move: 7g7f, ７六歩")
                .props('dense outlined aria-label="position or move"')
                .classes("typed")
                .on("keydown.enter", self._show_typed)
            )
            self._button("content_copy", "copy the position (SFEN)", self._copy_sfen)
            self._button("description", "copy the game (KIF)", self._copy_kif)
        self._wrong = ui.html("").classes("muted small")

    async def look_for_records(self) -> None:
        """Offer the records that are in the run now."""
        self._files = await in_reader(lambda: records_of(self._watched.run))
        names = list(self._files)
        if names != self._file.options:
            chosen = self._file.value if self._file.value in self._files else (names[0] if names else None)
            self._file.set_options(names, value=chosen)
        if not names:
            self._board.set_content(empty("There is no record of a game (.csa, .kif, .kifu) in this run yet."))

    def _button(self, icon: str, name: str, do: Callable[[], Awaitable[None]]) -> ui.icon:
        with box("button", "button").on("click", do).props(f'aria-label="{name}" title="{name}"'):
            return ui.icon(icon)

    async def _open(self) -> None:
        path = self._files.get(self._file.value)
        if path is None:
            return
        try:
            self._games = await in_reader(lambda: read(path))
        except (UnderstudyError, OSError, ImportError) as error:
            self._games, self._game = [], None
            self._board.set_content(empty(f"{error}" + (_EXTRA if isinstance(error, ImportError) else "")))
            return
        labels = {number: f"{number + 1}. {game.title}, {game.result}" for number, game in enumerate(self._games)}
        self._number.set_options(labels, value=0 if labels else None)
        await self._choose()
        await self._look_at_model()
        await self._go(self._at)

    async def _choose(self) -> None:
        if self._number.value is None or self._number.value >= len(self._games):
            return
        self._game = self._games[self._number.value]
        await self._go(0)

    async def _show_typed(self) -> None:
        text, shown, at = str(self._typed.value or ""), self._game, self._at
        if not text.strip():
            return
        try:
            self._game = await in_reader(lambda: typed(text, shown, at))
        except (UnderstudyError, ImportError) as error:
            self._wrong.set_content(tag("div", f"{error}" + (_EXTRA if isinstance(error, ImportError) else "")))
            return
        self._wrong.set_content("")
        self._typed.set_value("")
        await self._look_at_model()
        await self._go(_FAR)

    async def _copy_sfen(self) -> None:
        if self._game is not None:
            self._copy(self._game.positions[self._at], "The SFEN of the position was copied.")

    async def _copy_kif(self) -> None:
        if self._game is not None:
            self._copy(self._game.kif, "The game was copied as KIF.")

    def _copy(self, text: str, said: str) -> None:
        ui.clipboard.write(text)
        self._wrong.set_content(tag("div", said))

    async def _look_at_model(self) -> None:
        model = self._watched.snapshot.model
        if model.exists and (model.version, model.at) != self._asked:
            self._ask, self._asked = await in_reader(lambda: _opinions(self._watched.run)), (model.version, model.at)

    async def _go(self, number: int) -> None:
        game = self._game
        if game is None:
            return
        self._at = min(max(number, 0), len(game.moves))
        last = game.moves[self._at - 1] if self._at else ""
        position = game.positions[self._at]
        self._board.set_content(board(position, last, kanji=self._kanji, flipped=self._flipped))
        self._about.set_content(about(game, self._at, kanji=self._kanji))
        self._moves.set_content(moves_near(game, self._at, kanji=self._kanji))
        self._draw()
        self._then.set_content(thought_then(game, self._at, kanji=self._kanji))
        at = self._at
        if (ask := self._ask) is not None:
            said = await in_reader(lambda: ask(position))
            if (game, at) == (self._game, self._at):  # the page may show another position by now
                version = self._watched.snapshot.model.version
                self._now.set_content(thought_now(game, at, said, version, kanji=self._kanji))

    async def _toggle(self) -> None:
        self._playing = not self._playing
        self._play.set_name("pause" if self._playing else "play_arrow")

    async def _flip(self) -> None:
        self._flipped = not self._flipped
        await self._go(self._at)

    async def _letters(self) -> None:
        self._kanji = not self._kanji
        await self._go(self._at)

    async def _tick(self) -> None:
        if not self._playing or self._game is None:
            return
        if self._at >= len(self._game.moves):
            await self._toggle()
        else:
            await self._go(self._at + 1)


def _opinions(run: RunDir) -> Callable[[str], Thought] | None:
    """The run's model as an evaluator of positions; None if it is not a shogi network or torch is not installed."""
    try:
        from understudy.games.shogi.pages.opinion import evaluator_of, opinion  # noqa: PLC0415 - a door of its own

        evaluate = evaluator_of(run)
    except ImportError:
        return None
    return None if evaluate is None else partial(opinion, evaluate)


def about(game: Replayed, at: int, *, kanji: bool) -> Markup:
    """Which move is shown, and its value when it was played."""
    value = game.evaluations[at - 1] if at else None
    said = "" if value is None else f", value for Black {value_text(value)}"
    move = f"Move {at} of {len(game.moves)}" + (f": {game.move(at - 1, kanji=kanji)}{said}" if at else "")
    return tag("div", tag("b", move), tag("div", f"{game.title}: {game.result}", cls="muted"))


def moves_near(game: Replayed, at: int, *, kanji: bool) -> Markup:
    """The moves around the current one."""
    near = range(max(at - _NEAR, 0), min(at + _NEAR, len(game.moves)))
    return join(
        tag("span", f"{n + 1}. {game.move(n, kanji=kanji)}", cls="move here" if n == at - 1 else "move") for n in near
    )


def thought_then(game: Replayed, at: int, *, kanji: bool) -> Markup:
    """What the player to move recorded about the position during the game, and the move."""
    said = game.thought(at)
    if said is None:
        ended = "Your line ends here." if game.result == YOURS else "The game has ended."
        text = ended if at == len(game.moves) else "The record does not say what its player thought here."
        return tag("div", text, cls="muted small")
    head = f"When it was played, {game.names[game.turn(at)]} thought (value for Black {said.value:+.2f}):"
    return _moves(head, said, lambda usi: game.said(at, usi, kanji=kanji), game.moves[at])


def thought_now(game: Replayed, at: int, said: Thought, version: int | None, *, kanji: bool) -> Markup:
    """What the current model would play here."""
    who = "The model" if version is None else f"Version {version}"
    head = f"{who} would play now (value for Black {said.value:+.2f}):"
    return _moves(head, said, lambda usi: game.said(at, usi, kanji=kanji))


def _moves(head: str, said: Thought, written: Callable[[str], str], played: str = "") -> Markup:
    rows = (
        tag(
            "div",
            tag("span", written(usi), cls="num"),
            tag("span", tag("span", style=f"width: {100 * share:.0f}%"), cls="share"),
            tag("span", formats.percent(share), cls="num"),
            tag("span", "played", cls="tag green") if usi == played else tag("span"),
            cls="top-move",
        )
        for usi, share in said.moves
    )
    return tag("div", tag("div", head, cls="muted small"), *rows, cls="top-moves")
