"""The gate's part of the ledger: which version is on stage, the games of a comparison, and every decision.

One transaction records the result of a game, the comparison that it completes and the decision that follows. Reporting
a game again changes nothing.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.ledger.connection import Ledger

# Separate from the ledger's other tables, and without a version number: older ledgers get them when needed.
_TABLES = """
CREATE TABLE IF NOT EXISTS gate_state (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    state TEXT NOT NULL                -- JSON, see models/gate.py
);
CREATE TABLE IF NOT EXISTS gate_blocks (
    block      INTEGER PRIMARY KEY,
    contest    INTEGER NOT NULL,
    opponent   TEXT NOT NULL,
    size       INTEGER NOT NULL,       -- games
    place      INTEGER NOT NULL,       -- which of them the smaller share plays
    assigned   INTEGER NOT NULL DEFAULT 0,
    difference REAL,                   -- line or challenger minus champion; NULL while the block is not complete
    at         REAL
);
CREATE INDEX IF NOT EXISTS gate_blocks_contest ON gate_blocks (contest, opponent);
CREATE TABLE IF NOT EXISTS gate_games (
    id       TEXT PRIMARY KEY,
    block    INTEGER NOT NULL,
    role     TEXT NOT NULL,            -- line, champion, control, challenger
    version  INTEGER NOT NULL,
    score    REAL,                     -- 1 won, 0.5 drawn or cut, 0 lost or crashed; NULL where there is no result
    reward   REAL,
    began    REAL NOT NULL,
    finished REAL                      -- NULL while it is played
);
CREATE INDEX IF NOT EXISTS gate_games_block ON gate_games (block);
CREATE INDEX IF NOT EXISTS gate_games_finished ON gate_games (role, finished);
CREATE INDEX IF NOT EXISTS gate_games_unfinished ON gate_games (began) WHERE finished IS NULL;
CREATE TABLE IF NOT EXISTS gate_opponents (
    opponent TEXT PRIMARY KEY,
    games    INTEGER NOT NULL,
    first    INTEGER NOT NULL,         -- number of the first game, counted over all opponents
    last     INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS gate_simulated (
    number     INTEGER PRIMARY KEY,    -- of the game, for the evaluator
    contest    INTEGER NOT NULL,
    candidate  INTEGER NOT NULL,       -- versions
    champion   INTEGER NOT NULL,
    difference REAL NOT NULL,          -- candidate minus champion
    at         REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS gate_events (
    number   INTEGER PRIMARY KEY,
    at       REAL NOT NULL,
    what     TEXT NOT NULL,            -- promoted, demoted, refused, dropped, returned, ...
    version  INTEGER,                  -- of whom
    champion INTEGER,                  -- who was champion then
    sentence TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS gate_pins (
    version INTEGER PRIMARY KEY,
    why     TEXT NOT NULL              -- champion, challenger, former champion, by hand
);
"""
_NEWEST_TABLES = ("gate_pins", "gate_opponents", "gate_simulated")
_KEPT_BLOCKS = 20_000
_KEPT_OPPONENTS = 2_000  # games after which an opponent that has not reappeared is forgotten
_RECENT_GAMES = 200
_CRASHED_REWARD = -1e300  # all rewards are above it; that of a crashed game is minus infinity
NO_BLOCK = 0
BY_HAND = "by hand"


@dataclass(frozen=True, slots=True)
class Block:
    """Games against one opponent that are compared with each other once all are played."""

    number: int
    size: int
    place: int
    assigned: int


@dataclass(frozen=True, slots=True)
class OpponentShare:
    """The frequency of an opponent: games before this one, number of opponents, and its share of the recent games."""

    before: int
    opponents: int
    frequency: float


@dataclass(frozen=True, slots=True)
class Event:
    """One decision, in words."""

    number: int
    at: float
    what: str
    version: int | None
    champion: int | None
    sentence: str


class GateLedger(Ledger):
    """The ledger of a run, with the tables of the gate. Changes happen within the caller's transaction."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        super().__init__(path, read_only=read_only)
        if not read_only and not has_gate(self):
            with self.transaction() as db:
                for statement in filter(str.strip, _TABLES.split(";\n")):
                    db.execute(statement)

    def state(self) -> dict[str, Any] | None:
        """The gate's state; None if there was never a gate."""
        if not has_gate(self, "gate_state"):
            return None
        rows = self.query("SELECT state FROM gate_state")
        return dict(json.loads(rows[0][0])) if rows else None

    def events(self, newest: int = 20) -> list[Event]:
        """The last decisions, oldest first."""
        if not has_gate(self, "gate_events"):
            return []
        rows = self.query("SELECT * FROM gate_events ORDER BY number DESC LIMIT ?", (newest,))
        return [Event(*row) for row in reversed(rows)]

    def differences(self, contest: int, most: int = _KEPT_BLOCKS) -> list[tuple[str, float]]:
        """(opponent, difference) of the complete blocks of a contest, in order; the newest ones, if there are more."""
        query = "SELECT opponent, difference FROM gate_blocks WHERE contest = ? AND difference IS NOT NULL"
        return (
            self.query(f"{query} ORDER BY at DESC LIMIT ?", (contest, most))[::-1]
            if has_gate(self, "gate_blocks")
            else []
        )

    def simulated(self, contest: int, most: int = _KEPT_BLOCKS) -> list[float]:
        """The differences of the simulated games of a contest, in order; the newest ones, if there are more."""
        query = "SELECT difference FROM gate_simulated WHERE contest = ? ORDER BY number DESC LIMIT ?"
        return [row[0] for row in self.query(query, (contest, most))][::-1] if has_gate(self, "gate_simulated") else []

    def pins(self) -> dict[int, str]:
        """The versions that are never pruned, and why."""
        return pinned(self)

    def unfinished(self, before: float, after: float) -> list[str]:
        """Games without a result that began before the first time or, as clocks may be set back, after the second."""
        query = "SELECT id FROM gate_games WHERE finished IS NULL AND (began < ? OR began > ?)"
        return [row[0] for row in self.query(query, (before, after))] if has_gate(self, "gate_games") else []


def has_gate(ledger: Ledger, *tables: str) -> bool:
    """Whether these tables of the gate exist, or all of them; the ledgers of older versions lack some."""
    needed = tables or _NEWEST_TABLES
    marks = ", ".join("?" * len(needed))
    query = f"SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ({marks})"
    return bool(ledger.query(query, needed)[0][0] == len(needed))


def pinned(ledger: Ledger) -> dict[int, str]:
    """The versions that are never pruned, and why."""
    return dict(ledger.query("SELECT version, why FROM gate_pins")) if has_gate(ledger, "gate_pins") else {}


def save_state(db: sqlite3.Connection, state: Mapping[str, Any], pins: Mapping[int, str]) -> None:
    """Replace the state, and pin what must be kept; versions that people pinned stay pinned."""
    db.execute("INSERT OR REPLACE INTO gate_state VALUES (1, ?)", (json.dumps(state),))
    db.execute("DELETE FROM gate_pins WHERE why != ?", (BY_HAND,))
    db.executemany("INSERT OR IGNORE INTO gate_pins VALUES (?, ?)", list(pins.items()))


def add_event(db: sqlite3.Connection, what: str, version: int | None, champion: int | None, sentence: str) -> int:
    """Record a decision and return its number."""
    values = (time.time(), what, version, champion, sentence)
    cursor = db.execute(
        "INSERT INTO gate_events (at, what, version, champion, sentence) VALUES (?, ?, ?, ?, ?)", values
    )
    return int(cursor.lastrowid or 0)


def meet(db: sqlite3.Connection, opponent: str) -> OpponentShare:
    """Count a game against an opponent, and return how frequent the opponent is."""
    (number,) = db.execute("SELECT coalesce(max(last), 0) + 1 FROM gate_opponents").fetchone()
    row = db.execute("SELECT games, first FROM gate_opponents WHERE opponent = ?", (opponent,)).fetchone()
    games, first = row or (0, number)
    db.execute("INSERT OR REPLACE INTO gate_opponents VALUES (?, ?, ?, ?)", (opponent, games + 1, first, number))
    db.execute("DELETE FROM gate_opponents WHERE last <= ?", (number - _KEPT_OPPONENTS,))
    (opponents,) = db.execute("SELECT count(*) FROM gate_opponents").fetchone()
    return OpponentShare(games, opponents, games / max(number - first, 1))


def open_block(db: sqlite3.Connection, contest: int, opponent: str) -> Block | None:
    """A block against this opponent with a game that is not assigned yet."""
    query = (
        "SELECT block, size, place, assigned FROM gate_blocks WHERE contest = ? AND opponent = ? AND assigned < size"
    )
    row = db.execute(f"{query} ORDER BY block LIMIT 1", (contest, opponent)).fetchone()
    return None if row is None else Block(*row)


def add_block(db: sqlite3.Connection, contest: int, opponent: str, size: int, place: int) -> Block:
    """Begin a block; if there are very many, the oldest ones are deleted."""
    query = "INSERT INTO gate_blocks (contest, opponent, size, place) VALUES (?, ?, ?, ?)"
    number = int(db.execute(query, (contest, opponent, size, place)).lastrowid or 0)
    db.execute("DELETE FROM gate_games WHERE block <= ?", (number - _KEPT_BLOCKS,))
    db.execute("DELETE FROM gate_blocks WHERE block <= ?", (number - _KEPT_BLOCKS,))
    return Block(number, size, place, 0)


def add_game(db: sqlite3.Connection, game: str, block: int, role: str, version: int) -> None:
    """Assign a game to a block."""
    db.execute("UPDATE gate_blocks SET assigned = assigned + 1 WHERE block = ?", (block,))
    values = (game, block, role, version, time.time())
    db.execute("INSERT INTO gate_games (id, block, role, version, began) VALUES (?, ?, ?, ?, ?)", values)


def any_game(db: sqlite3.Connection, games: Sequence[str]) -> bool:
    """Whether one of these games was ever assigned."""
    marks = ",".join("?" * len(games))
    return db.execute(f"SELECT 1 FROM gate_games WHERE id IN ({marks}) LIMIT 1", games).fetchone() is not None


def finish_game(db: sqlite3.Connection, game: str, score: float | None, reward: float) -> int | None:
    """Record the result of a game and return its block; None if it belongs to none or was recorded before."""
    query = (
        "UPDATE gate_games SET score = ?, reward = ?, finished = ? WHERE id = ? AND finished IS NULL RETURNING block"
    )
    row = db.execute(query, (score, reward, time.time(), game)).fetchone()
    return None if row is None else int(row[0])


def has_results(db: sqlite3.Connection) -> bool:
    """Whether any of the latest games has a result. Crashed games, whose reward is minus infinity, are ignored."""
    newest = "SELECT score, reward FROM gate_games WHERE finished IS NOT NULL ORDER BY rowid DESC LIMIT ?"
    query = f"SELECT 1 FROM ({newest}) WHERE score IS NOT NULL AND reward > ? LIMIT 1"
    return db.execute(query, (_RECENT_GAMES, _CRASHED_REWARD)).fetchone() is not None


def complete_block(db: sqlite3.Connection, block: int) -> tuple[int, list[tuple[str, float | None, float]]] | None:
    """(contest, its games as role, score, reward) of a block that has just been completed; None otherwise."""
    row = db.execute(
        "SELECT contest, size FROM gate_blocks WHERE block = ? AND difference IS NULL", (block,)
    ).fetchone()
    query = "SELECT role, score, reward FROM gate_games WHERE block = ? AND finished IS NOT NULL"
    found = db.execute(query, (block,)).fetchall()
    return None if row is None or len(found) < row[1] else (int(row[0]), found)


def close_block(db: sqlite3.Connection, block: int, difference: float) -> None:
    """Record the difference that a block showed."""
    db.execute("UPDATE gate_blocks SET difference = ?, at = ? WHERE block = ?", (difference, time.time(), block))


def add_simulated(
    db: sqlite3.Connection, contest: int, candidate: int, champion: int, first: int, differences: Iterable[float]
) -> list[float]:
    """Record differences of simulated games, each once; returns those that are new."""
    new = []
    for number, difference in enumerate(differences, first):
        values = (number, contest, candidate, champion, difference, time.time())
        if db.execute("INSERT OR IGNORE INTO gate_simulated VALUES (?, ?, ?, ?, ?, ?)", values).rowcount:
            new.append(difference)
    db.execute("DELETE FROM gate_simulated WHERE number <= ?", (first - 10 * _KEPT_BLOCKS,))
    return new


def last_version_of(db: sqlite3.Connection, contest: int, role: str) -> int | None:
    """The newest version that has finished a game in a role in a contest."""
    query = (
        "SELECT max(version) FROM gate_games JOIN gate_blocks USING (block)"
        " WHERE contest = ? AND role = ? AND finished IS NOT NULL"
    )
    row = db.execute(query, (contest, role)).fetchone()
    return None if row is None or row[0] is None else int(row[0])


def games_learned_since(db: sqlite3.Connection, version: int) -> int:
    """The number of games that the versions after this one have learned from."""
    return int(db.execute("SELECT coalesce(sum(games), 0) FROM versions WHERE version > ?", (version,)).fetchone()[0])


def head_of(db: sqlite3.Connection) -> int | None:
    """The newest version."""
    row = db.execute("SELECT max(version) FROM versions").fetchone()
    return None if row[0] is None else int(row[0])


def unpin(db: sqlite3.Connection, version: int) -> bool:
    """Allow a version to be pruned that somebody pinned; False if it was not pinned."""
    query = "DELETE FROM gate_pins WHERE version = ? AND why = ?"
    return db.execute(query, (version, BY_HAND)).rowcount > 0


def pin(db: sqlite3.Connection, versions: Iterable[int]) -> None:
    """Keep versions until somebody unpins them."""
    db.executemany("INSERT OR REPLACE INTO gate_pins VALUES (?, ?)", [(version, BY_HAND) for version in versions])
