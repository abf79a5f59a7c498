"""Blocks: running sums in the ledger, so that a history of a million versions is drawn from a thousand sums.

A block of size 256 covers 256 consecutive versions (or games). Each size is sixteen times the next smaller one: a
reader takes the finest size that gives few enough blocks, and merges neighbours further.
"""

from __future__ import annotations

import json
import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from understudy.ledger.rows import LedgerGame

METRIC_SIZES = (16, 256, 4096)  # a single version is a row of `versions`
GAME_SIZES = (8, 128, 2048, 32768)  # a single result is not a rate
VERSION_SIZES = (1, 16, 256, 4096)
KEPT_VERSIONS = 100_000  # versions with a row; older ones are only in blocks
# Charts have hundreds of points: a long history is shown in larger blocks, and the small blocks of its beginning are
# deleted.
KEPT_BLOCKS = {1: 200_000, 16: 200_000, 128: 2_000_000, 256: 2_000_000}  # size → versions or games from the newest back
MOST_VALUES = 40  # of one axis of results
OTHER_VALUES = "(others)"
PURPOSE = "purpose"
"""The note that says what a game was played for, if it is not one of the bot's own."""
PRACTICE, TRIAL, EVALUATION = "practice", "trial", "evaluation"

TABLES = """
CREATE TABLE IF NOT EXISTS metric_blocks (
    size  INTEGER NOT NULL,
    block INTEGER NOT NULL,            -- covers versions block * size to (block + 1) * size - 1
    name  TEXT NOT NULL,               -- loss, games, steps, and each number in stats
    n     INTEGER NOT NULL,
    total REAL NOT NULL,
    low   REAL NOT NULL,
    high  REAL NOT NULL,
    since REAL NOT NULL,               -- when the first and the last of them were published
    until REAL NOT NULL,
    PRIMARY KEY (size, block, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS result_blocks (
    along TEXT NOT NULL,               -- game: blocks of games in the order of the ledger; version: of who played.
                                       -- Games that are not the bot's own have a purpose: 'practice game'
    size  INTEGER NOT NULL,
    block INTEGER NOT NULL,
    won   INTEGER NOT NULL,
    lost  INTEGER NOT NULL,
    tied  INTEGER NOT NULL,
    other INTEGER NOT NULL,            -- crashed, cut, unknown: no part of a rate
    since REAL NOT NULL,               -- when the first and the last of them ended
    until REAL NOT NULL,
    PRIMARY KEY (along, size, block)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS axis_blocks (
    size  INTEGER NOT NULL,
    block INTEGER NOT NULL,            -- of games
    axis  TEXT NOT NULL,               -- by what results are broken down, as colour
    value TEXT NOT NULL,               -- as black
    won   INTEGER NOT NULL,
    lost  INTEGER NOT NULL,
    tied  INTEGER NOT NULL,
    other INTEGER NOT NULL,
    since REAL NOT NULL,
    until REAL NOT NULL,
    PRIMARY KEY (size, block, axis, value)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS action_blocks (
    size  INTEGER NOT NULL,
    block INTEGER NOT NULL,            -- of games
    label TEXT NOT NULL,
    n     INTEGER NOT NULL,            -- how often it was chosen
    PRIMARY KEY (size, block, label)
) WITHOUT ROWID;
"""

_ADD_METRIC = """
INSERT INTO metric_blocks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET n = n + excluded.n, total = total + excluded.total, low = min(low, excluded.low),
    high = max(high, excluded.high), since = min(since, excluded.since), until = max(until, excluded.until)
"""
_MERGE_RESULTS = """
ON CONFLICT DO UPDATE SET won = won + excluded.won, lost = lost + excluded.lost, tied = tied + excluded.tied,
    other = other + excluded.other, since = min(since, excluded.since), until = max(until, excluded.until)
"""
_ADD_RESULTS = f"INSERT INTO result_blocks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) {_MERGE_RESULTS}"
_ADD_AXES = f"INSERT INTO axis_blocks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) {_MERGE_RESULTS}"
_ADD_ACTIONS = "INSERT INTO action_blocks VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n"

_WON, _LOST, _TIED, _OTHER = range(4)
_KINDS = {"victory": _WON, "win": _WON, "defeat": _LOST, "loss": _LOST, "tie": _TIED, "draw": _TIED}


def result_kind(result: str) -> int:
    """0 won, 1 lost, 2 tied, 3 anything else: the index into (won, lost, tied, other)."""
    return _KINDS.get(result.lower(), _OTHER)


def finite_numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Those values that are finite numbers."""
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    }


def add_versions(db: sqlite3.Connection, versions: Iterable[tuple[int, float, Mapping[str, Any]]]) -> None:
    """Add versions (number, time, values) to their blocks."""
    size = METRIC_SIZES[0]
    sums: dict[tuple[int, str], list[float]] = {}
    for version, at, values in versions:
        for name, value in finite_numbers(values).items():
            _merge(sums, (version // size, name), (1, value, value, value, at, at))
    for size, larger in zip(METRIC_SIZES, (*METRIC_SIZES[1:], 0), strict=True):
        db.executemany(_ADD_METRIC, [(size, *key, *block) for key, block in sums.items()])
        merged: dict[tuple[int, str], list[float]] = {}
        for (block, name), part in sums.items() if larger else ():
            _merge(merged, (block * size // larger, name), part)
        sums = merged


def _merge(sums: dict[tuple[int, str], list[float]], key: tuple[int, str], part: Sequence[float]) -> None:
    """Merge (n, total, low, high, since, until) into the sums under the key."""
    if (block := sums.get(key)) is None:
        sums[key] = [*part]
        return
    block[0] += part[0]
    block[1] += part[1]
    block[2], block[3] = min(block[2], part[2]), max(block[3], part[3])
    block[4], block[5] = min(block[4], part[4]), max(block[5], part[5])


def add_games(db: sqlite3.Connection, numbered: Iterable[tuple[int, LedgerGame]], latest: float) -> None:
    """Add games, each with its number in the ledger, to the blocks of results, of axes and of actions.

    Games of each purpose are counted separately; actions are those of the bot's own games. A game without an end time,
    or with a later one than `latest`, counts as ended at `latest`: another machine's clock may be wrong.
    """
    results: dict[tuple[str, int, int], list[float]] = {}
    by_axis: dict[tuple[int, int, str, str], list[float]] = {}
    actions: Counter[tuple[int, int, str]] = Counter()
    values = _AxisValues(db)
    for number, game in numbered:
        kind, ended = result_kind(game.result), min(game.ended or latest, latest)
        purpose = game.axes.get(PURPOSE, "")
        places = [(size, number // size) for size in GAME_SIZES]
        for place in places:
            _count(results, (labelled(purpose, "game"), *place), kind, ended)
        if game.played_by is not None:
            for size in VERSION_SIZES:
                _count(results, (labelled(purpose, "version"), size, game.played_by // size), kind, ended)
        for note, value in game.axes.items():
            axis = labelled(purpose, note)
            for place in places if note != PURPOSE else ():
                _count(by_axis, (*place, axis, values.named(axis, value)), kind, ended)
        for label, count in game.actions.items() if not purpose else ():
            for place in places:
                actions[*place, label] += count
    db.executemany(_ADD_RESULTS, [(*key, *sums) for key, sums in results.items()])
    db.executemany(_ADD_AXES, [(*key, *sums) for key, sums in by_axis.items()])
    db.executemany(_ADD_ACTIONS, [(*key, count) for key, count in actions.items()])


def labelled(purpose: str, key: str) -> str:
    """How blocks of results name `game`, `version` or an axis, for games of this purpose."""
    return f"{purpose} {key}" if purpose else key


_Key = TypeVar("_Key")


def _count(results: dict[_Key, list[float]], key: _Key, kind: int, ended: float) -> None:
    sums = results.setdefault(key, [0, 0, 0, 0, ended, ended])
    sums[kind] += 1
    sums[4], sums[5] = min(sums[4], ended), max(sums[5], ended)


class _AxisValues:
    """Bounds the number of values of an axis: a note that differs in every game must not fill the ledger."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._known: dict[str, set[str]] = {}

    def named(self, axis: str, value: str) -> str:
        """The value, or OTHER_VALUES if it is new and the axis already has many values."""
        if axis not in self._known:
            query = "SELECT DISTINCT value FROM axis_blocks WHERE size = ? AND axis = ?"
            self._known[axis] = {row[0] for row in self._db.execute(query, (GAME_SIZES[-1], axis))}
        known = self._known[axis]
        if value not in known and len(known) >= MOST_VALUES:
            return OTHER_VALUES
        known.add(value)
        return value


def set_aside_version_3(db: sqlite3.Connection) -> None:
    """Make room for the tables of version 4; `take_over_version_3` fills them."""
    db.execute("ALTER TABLE result_blocks RENAME TO result_blocks_3")


def take_over_version_3(db: sqlite3.Connection, axes: Mapping[str, str]) -> None:
    """Sum up the table of version 3, which had a column for each of two axes."""
    sums = "sum(won), sum(lost), sum(tied), sum(other), min(since), max(until)"
    db.execute(
        f"INSERT INTO result_blocks SELECT axis, size, block, {sums} FROM result_blocks_3 GROUP BY axis, size, block"
    )
    for column, axis in axes.items():
        db.execute(
            f"INSERT INTO axis_blocks SELECT size, block, '{axis}', {column}, {sums} FROM result_blocks_3"
            f" WHERE axis = 'game' AND {column} != '' GROUP BY size, block, {column}"
        )
    db.execute("DROP TABLE result_blocks_3")


def forget_finest(db: sqlite3.Connection, number: int) -> None:
    """Delete the finest blocks of games before a number; their sums are in the coarser ones."""
    for size, before in ((GAME_SIZES[0], number), (GAME_SIZES[1], number - KEPT_BLOCKS[GAME_SIZES[1]])):
        block = (size, max(before, 0) // size)
        db.execute("DELETE FROM result_blocks WHERE along LIKE '%game' AND size = ? AND block < ?", block)
        db.execute("DELETE FROM axis_blocks WHERE size = ? AND block < ?", block)
        db.execute("DELETE FROM action_blocks WHERE size = ? AND block < ?", block)


def forget_fine_versions(db: sqlite3.Connection, head: int) -> None:
    """Delete the small blocks of versions long before the newest one."""
    for size in VERSION_SIZES[:-1]:
        block = (size, max(head - KEPT_BLOCKS[size], 0) // size)
        db.execute("DELETE FROM metric_blocks WHERE size = ? AND block < ?", block)
        db.execute("DELETE FROM result_blocks WHERE along LIKE '%version' AND size = ? AND block < ?", block)


def version_numbers(
    games: int, steps: int, seconds: float, loss: float | None, stats: Mapping[str, Any]
) -> dict[str, Any]:
    """All numbers of a version that are summed."""
    return {**stats, "games": games, "steps": steps, "seconds": seconds, "loss": loss}


def rebuild_metrics(db: sqlite3.Connection) -> None:
    """Build the blocks of versions in a ledger that has none yet."""
    rows = db.execute("SELECT version, at, games, steps, seconds, loss, stats FROM versions ORDER BY version")
    while part := rows.fetchmany(METRIC_SIZES[-1]):
        add_versions(
            db,
            [
                (version, at, version_numbers(games, steps, seconds, loss, json.loads(stats)))
                for version, at, games, steps, seconds, loss, stats in part
            ],
        )
