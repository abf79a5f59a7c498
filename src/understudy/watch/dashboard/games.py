"""The page Games: games that wait, were learned from or were rejected, with reasons and filters."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from nicegui import ui

from understudy.errors import RunDirError
from understudy.watch import formats
from understudy.watch.dashboard.markup import Markup, empty, result_tag, table, tag
from understudy.watch.dashboard.opponents import opponent_text
from understudy.watch.dashboard.parts import Update, box, card
from understudy.watch.dashboard.runs import FOLDERS, Watched, in_reader
from understudy.watch.ledger_reading import open_ledger

T = TypeVar("T")
_SHOWN = 200
_LISTED = 20_000  # files of a folder, and games of the ledger, that are read
_ALL_FOLDERS, _ALL_RESULTS = "all folders", "all results"


@dataclass(frozen=True, slots=True)
class GameRow:
    """One row of the table. `folder` is where its file is, '' if it was deleted."""

    folder: str
    name: str
    result: str
    at: float
    bytes: int
    steps: int | None = None
    reward: float | None = None
    opponent: str = ""
    played_by: int | None = None
    learned_by: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Filter:
    """The filters of the table; '' means all."""

    folder: str = ""
    result: str = ""
    text: str = ""

    def takes(self, row: GameRow) -> bool:
        """Whether a row passes the filters."""
        words_of = f"{row.name} {row.opponent} {row.note} {row.result}".lower()
        return (
            (not self.folder or row.folder == self.folder)
            and (not self.result or row.result.lower() == self.result.lower())
            and all(word in words_of for word in self.text.lower().split())
        )


def read_games(watched: Watched) -> list[GameRow]:
    """The games of a run, newest first: files that wait or were rejected, and games in the ledger."""
    rows = [_waiting(file) for file in _newest(watched.run.buffer)]
    rows += [_rejected(file) for file in _newest(watched.run.rejected)]
    if watched.run.ledger.exists():
        try:
            with open_ledger(watched.run.ledger) as ledger:
                archived = {name for (name,) in ledger.query("SELECT name FROM games WHERE archived = 1")}
                rows += [
                    GameRow(
                        "archive" if game.name in archived else "",
                        game.name,
                        game.result,
                        game.ended,
                        game.bytes,
                        game.steps,
                        game.reward,
                        opponent_text(game.axes, game.opponent),
                        game.played_by,
                        version,
                        "" if outcome == "learned" else outcome,
                    )
                    for game, outcome, version in ledger.games(newest=_LISTED)
                ]
        except RunDirError:
            pass  # the overview shows problems of the ledger
    return sorted(rows, key=lambda row: row.at, reverse=True)


def show(watched: Watched) -> list[Update]:
    """The filters and the table, which is read again when the run has changed."""
    games: list[GameRow] = []
    wanted = Filter()
    seen: object = None
    with card("Games"):
        with box("filters"):
            folder = ui.select([_ALL_FOLDERS, *FOLDERS], value=_ALL_FOLDERS).props("dense outlined")
            result = ui.select([_ALL_RESULTS], value=_ALL_RESULTS)
            result.props("dense outlined")
            text = ui.input(placeholder="opponent, name, reason …").props("dense outlined clearable")
            summary = ui.label().classes("muted small")
        content = ui.html("").classes("games")

    def draw() -> None:
        rows = [row for row in games if wanted.takes(row)]
        content.set_content(games_table(watched, rows[:_SHOWN], len(games)))
        newest = "the newest " if len(games) >= _LISTED else ""
        more = f"; {_SHOWN} are shown" if len(rows) > _SHOWN else ""
        summary.set_text(f"{len(rows):,} of {newest}{len(games):,} games{more}")

    def choose() -> None:
        nonlocal wanted
        kept = "" if folder.value == _ALL_FOLDERS else folder.value
        wanted = Filter(kept, "" if result.value == _ALL_RESULTS else result.value, text.value or "")
        draw()

    for control in (folder, result, text):
        control.on_value_change(choose)

    async def read() -> None:
        nonlocal games
        games = await in_reader(lambda: read_games(watched))
        results = sorted({row.result for row in games if row.result and not _is_number(row.result)})
        result.set_options([_ALL_RESULTS, *results], value=result.value)
        draw()

    def update() -> None:
        nonlocal seen
        look = watched.snapshot
        now = (look.buffer.count, look.buffer.recent, tuple(look.outcomes.items()), look.rejected.count)
        if now != seen:
            seen = now
            ui.timer(0, read, once=True)

    update()
    return [update]


def games_table(watched: Watched, rows: list[GameRow], total: int) -> Markup:
    """The rows that pass the filters, with the number of games."""
    if not rows:
        if total:
            return empty("No game here fits the filter.")
        if "selfplay" in watched.snapshot.learner.stats:
            return empty("Self-play learns from its games in memory; no game of a bot was recorded in this run.")
        return empty("No game has been recorded yet. Games appear here when a bot has finished one.")
    heads: tuple[str, ...] = (
        "Ended",
        "Result",
        "Opponent",
        "Decisions",
        "Reward",
        "Played by",
        "Learned in",
        "Folder",
        "Size",
        "",
    )
    cells = [_cells(watched, row) for row in rows]
    numbers = (3, 4, 5, 6, 8)
    if not any(row.opponent for row in rows):  # a game without opponents
        heads, cells = _without(2, heads), [_without(2, line) for line in cells]
        numbers = (2, 3, 4, 5, 7)
    return table(heads, cells, numbers=numbers)


def _without(index: int, row: tuple[T, ...]) -> tuple[T, ...]:
    return row[:index] + row[index + 1 :]


def _is_number(text: str) -> bool:
    """Whether a result is a score, of which there are too many to choose from."""
    return text.lstrip("+-").replace(".", "", 1).isdecimal()


def _cells(watched: Watched, row: GameRow) -> tuple[object, ...]:
    when = formats.clock(row.at)
    link = tag("a", when, href=f"/run/{watched.name}/game/{row.folder}/{row.name}", data_game=row.name)
    return (
        link if row.folder else when,
        result_tag(row.result),
        row.opponent or "–",
        formats.count(row.steps),
        "–" if row.reward is None else f"{row.reward:+.2f}",
        "–" if row.played_by is None else f"v{row.played_by}",
        "–" if row.learned_by is None else f"v{row.learned_by}",
        row.folder or "deleted",
        formats.size(row.bytes),
        tag("span", row.note, cls="muted small"),
    )


def _newest(folder: Path) -> list[Path]:
    try:
        files = [file for file in folder.iterdir() if file.suffix == ".npz" and not file.name.startswith(".")]
    except OSError:
        return []
    return sorted(files, key=lambda file: file.name, reverse=True)[:_LISTED]


def _waiting(file: Path) -> GameRow:
    stat = _stat(file)
    return GameRow("buffer", file.name, _result(file.name), *stat, note="waits")


def _rejected(file: Path) -> GameRow:
    try:
        reason = str(json.loads(file.with_name(f"{file.name}.reason.json").read_bytes()).get("reason", ""))
    except (OSError, ValueError, AttributeError):
        reason = "rejected; the reason is missing"
    return GameRow("rejected", file.name, _result(file.name), *_stat(file), note=reason)


def _stat(file: Path) -> tuple[float, int]:
    try:
        stat = file.stat()
    except OSError:  # it was just moved
        return 0.0, 0
    return formats.ended(file.name, stat.st_mtime), stat.st_size


def _result(name: str) -> str:
    parts = name.split("_")
    return parts[3].removesuffix(".npz") if len(parts) > 3 and parts[0] == "game" else ""
