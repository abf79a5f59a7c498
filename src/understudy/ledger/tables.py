"""The tables of the ledger: their content, how games are inserted, and how earlier versions are migrated."""

from __future__ import annotations

import json
import math
import sqlite3
import time
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from understudy.ledger import history
from understudy.ledger.rows import LedgerGame, Outcome

_TABLES = """
CREATE TABLE IF NOT EXISTS versions (
    version   INTEGER PRIMARY KEY,
    parent    INTEGER,                 -- the version it was made from
    publisher TEXT NOT NULL,           -- who made it: learner, bot, rollback ...
    at        REAL NOT NULL,
    games     INTEGER NOT NULL,        -- how many games it consumed
    steps     INTEGER NOT NULL,
    seconds   REAL NOT NULL,           -- what training took
    loss      REAL,                    -- NULL where nothing was trained
    stats     TEXT NOT NULL            -- JSON: entropy, staleness ...
);
CREATE TABLE IF NOT EXISTS games (
    id       TEXT PRIMARY KEY,
    name     TEXT NOT NULL,            -- file name, the same in buffer and archive
    outcome  TEXT NOT NULL,            -- learned, online, skipped, evaluated
    version  INTEGER,                  -- the model version that consumed it
    result   TEXT NOT NULL,
    steps    INTEGER NOT NULL,
    reward   REAL NOT NULL,
    bytes    INTEGER NOT NULL,
    at       REAL NOT NULL,
    archived INTEGER NOT NULL DEFAULT 0, -- 1 while its file is in the archive
    game       TEXT NOT NULL DEFAULT '', -- which game was played, and on which map
    map        TEXT NOT NULL DEFAULT '',
    opponent   TEXT NOT NULL DEFAULT '',
    played_by  INTEGER,                  -- the model version that played it
    started    REAL NOT NULL DEFAULT 0,
    ended      REAL NOT NULL DEFAULT 0,
    actions    TEXT NOT NULL DEFAULT '{}', -- JSON: label -> how often it was chosen
    axes       TEXT NOT NULL DEFAULT '{}'  -- JSON: axis of results -> value, as colour -> black
);
CREATE INDEX IF NOT EXISTS games_archived ON games (archived);
CREATE INDEX IF NOT EXISTS games_archived_bytes ON games (archived, bytes);
CREATE INDEX IF NOT EXISTS games_outcome ON games (outcome);
CREATE INDEX IF NOT EXISTS games_name ON games (name);
CREATE TABLE IF NOT EXISTS rejected (
    name   TEXT PRIMARY KEY,
    reason TEXT NOT NULL,
    bytes  INTEGER NOT NULL,
    at     REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS job_failures (
    kind   TEXT NOT NULL,
    key    TEXT NOT NULL,
    times  INTEGER NOT NULL,           -- how often a worker died, hung or ran out of memory over it
    reason TEXT NOT NULL,              -- of the last time
    PRIMARY KEY (kind, key)
);
"""
SCHEMA_VERSION = 4
_ABOUT_A_GAME = {  # what versions 3 and 4 added to `games`
    **dict.fromkeys(("game", "map", "opponent"), "TEXT NOT NULL DEFAULT ''"),
    "played_by": "INTEGER",
    "started": "REAL NOT NULL DEFAULT 0",
    "ended": "REAL NOT NULL DEFAULT 0",
    "actions": "TEXT NOT NULL DEFAULT '{}'",
    "axes": "TEXT NOT NULL DEFAULT '{}'",
}
_AXES_BEFORE_4 = {"race": "opponent_race", "difficulty": "difficulty"}  # columns of version 3, and the axes they are
GAME_COLUMNS = "id, name, result, steps, reward, bytes, " + ", ".join(_ABOUT_A_GAME)
# All except the end, which is checked, the actions and the axes.
_PLAIN_VALUES = attrgetter(*GAME_COLUMNS.split(", ")[:-3])
_MIGRATED_AT_A_TIME = 10_000


def schema_of(db: sqlite3.Connection) -> int:
    """The version of the tables in a file; 0 for a new one."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def migrate(db: sqlite3.Connection) -> None:
    """Create the tables, or migrate those of an earlier version without losing a row; all or nothing."""
    db.execute("BEGIN IMMEDIATE")
    try:
        before = schema_of(db)  # another process may have been faster
        if before < SCHEMA_VERSION:
            if before == 3:
                history.set_aside_version_3(db)
            for statement in (_TABLES + history.TABLES).split(";\n"):
                db.execute(statement)
            if before:
                _describe_games(db, before)
            if before and before < 3:
                history.rebuild_metrics(db)
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _describe_games(db: sqlite3.Connection, before: int) -> None:
    """Add the columns that earlier versions lack. For games before version 3, only result and time are known."""
    there = {row[1] for row in db.execute("PRAGMA table_info(games)")}
    for name, kind in _ABOUT_A_GAME.items():
        if name not in there:
            db.execute(f"ALTER TABLE games ADD COLUMN {name} {kind}")
    if before == 3:
        for column, axis in _AXES_BEFORE_4.items():
            db.execute(f"UPDATE games SET axes = json_set(axes, '$.{axis}', {column}) WHERE {column} != ''")
            db.execute(f"ALTER TABLE games DROP COLUMN {column}")
        history.take_over_version_3(db, _AXES_BEFORE_4)
        return
    db.execute("UPDATE games SET ended = at WHERE ended = 0")
    rows = db.execute(f"SELECT rowid, {GAME_COLUMNS} FROM games ORDER BY rowid")
    while part := rows.fetchmany(_MIGRATED_AT_A_TIME):
        history.add_games(db, [(row[0], game_of(row[1:])) for row in part], latest=math.inf)


def insert_games(
    db: sqlite3.Connection, games: Sequence[LedgerGame], outcome: Outcome, version: int | None, at: float
) -> None:
    """Record games, in order, within the caller's transaction."""
    (last,) = db.execute("SELECT coalesce(max(rowid), 0) FROM games").fetchone()
    db.executemany(
        f"INSERT INTO games (rowid, {GAME_COLUMNS}, outcome, version, at) VALUES ({', '.join('?' * 18)})",
        [
            (n, *_PLAIN_VALUES(game), min(game.ended or at, at), *_as_json(game), outcome, version, at)
            for n, game in enumerate(games, last + 1)
        ],
    )
    history.add_games(db, enumerate(games, last + 1), latest=at)


PLACED = "CREATE TABLE IF NOT EXISTS placed (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL)"
STAGED = "CREATE TABLE IF NOT EXISTS staged (digest TEXT PRIMARY KEY)"
FORGOTTEN_VERSIONS = """
CREATE TABLE IF NOT EXISTS forgotten_versions (
    publisher TEXT PRIMARY KEY,
    batches   INTEGER NOT NULL,       -- versions that have a loss
    games     INTEGER NOT NULL,
    steps     INTEGER NOT NULL,
    seconds   REAL NOT NULL,
    loss      REAL NOT NULL           -- their sum
)
"""


def forget_games(db: sqlite3.Connection, until: int) -> None:
    """Delete the rows of games up to a number, and their finest sums, within the caller's transaction.

    The first row that is still archived stays, and so do all later ones: numbers continue without gaps.
    """
    db.execute("CREATE TABLE IF NOT EXISTS forgotten_games (outcome TEXT PRIMARY KEY, games INTEGER NOT NULL)")
    (archived,) = db.execute("SELECT min(rowid) FROM games WHERE archived = 1").fetchone()
    end = until if archived is None else min(until, archived)
    db.execute(
        "INSERT INTO forgotten_games SELECT outcome, count(*) FROM games WHERE rowid < ? GROUP BY outcome"
        " ON CONFLICT DO UPDATE SET games = games + excluded.games",
        (end,),
    )
    db.execute("DELETE FROM games WHERE rowid < ?", (end,))
    history.forget_finest(db, end)


def forget_versions(db: sqlite3.Connection, head: int) -> None:
    """Delete the rows of versions long before the newest one, within the caller's transaction; they stay counted.

    The newest row of each publisher stays.
    """
    db.execute(FORGOTTEN_VERSIONS)
    old = (
        "version < ? AND version NOT IN (SELECT max(version) FROM versions GROUP BY publisher)"
        " AND version NOT IN (SELECT max(version) FROM versions WHERE loss IS NOT NULL GROUP BY publisher)"
    )
    before = (head - history.KEPT_VERSIONS,)
    db.execute(
        "INSERT INTO forgotten_versions"
        " SELECT publisher, count(loss), sum(games), sum(steps), sum(seconds), total(loss)"
        f" FROM versions WHERE {old} GROUP BY publisher ON CONFLICT DO UPDATE SET batches = batches + excluded.batches,"
        " games = games + excluded.games, steps = steps + excluded.steps, seconds = seconds + excluded.seconds,"
        " loss = loss + excluded.loss",
        before,
    )
    db.execute(f"DELETE FROM versions WHERE {old}", before)
    history.forget_fine_versions(db, head)


def game_of(row: Sequence[Any]) -> LedgerGame:
    """The game of a row of GAME_COLUMNS."""
    values = [*row[:-2], json.loads(row[-2]), json.loads(row[-1])]
    return LedgerGame(*values)


def _as_json(game: LedgerGame) -> tuple[str, str]:
    return json.dumps(game.actions), json.dumps(game.axes)


def use_wal(db: sqlite3.Connection) -> None:
    """Switch to the write-ahead log. SQLite's own timeout does not cover two processes that do so at the same time."""
    deadline = time.monotonic() + 10
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        else:
            return
