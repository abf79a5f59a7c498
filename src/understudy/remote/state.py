"""What a run knows about its bucket, in tables of the run's ledger: its name there, pending games, cursors."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from understudy.errors import RemoteError
from understudy.ledger.connection import Ledger
from understudy.remote.layout import GameKey, parse_game_key

_TABLES = """
CREATE TABLE IF NOT EXISTS remote_facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS remote_outbox (
    number INTEGER PRIMARY KEY,        -- of this machine's games in the bucket
    key    TEXT NOT NULL,
    name   TEXT NOT NULL               -- file in data/outbox
);
CREATE TABLE IF NOT EXISTS remote_claimed (
    id    TEXT PRIMARY KEY,
    key   TEXT NOT NULL,
    claim TEXT NOT NULL,               -- key of the claim
    size  INTEGER NOT NULL,
    name  TEXT NOT NULL DEFAULT '',    -- file in data/buffer once it is downloaded
    fate  TEXT NOT NULL DEFAULT ''     -- what happened to it: skipped (not to be learned from), done, elsewhere
);
CREATE INDEX IF NOT EXISTS remote_claimed_fate ON remote_claimed (fate);
CREATE TABLE IF NOT EXISTS remote_profiles (
    machine TEXT PRIMARY KEY,
    profile TEXT NOT NULL              -- JSON, see profiles.py
);
CREATE TABLE IF NOT EXISTS remote_cursors (machine TEXT PRIMARY KEY, after TEXT NOT NULL)
"""


class Claimed(NamedTuple):
    """A game of the bucket that this machine has claimed."""

    id: str
    key: str
    claim: str
    size: int
    name: str
    fate: str

    @property
    def place(self) -> GameKey:
        """The parts of its key."""
        place = parse_game_key(self.key)
        assert place is not None
        return place


class SyncState(Ledger):
    """The ledger of a run with what synchronising needs."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with self.transaction() as db:
            for statement in _TABLES.split(";\n"):
                db.execute(statement)

    def fact(self, name: str, default: str = "") -> str:
        """A remembered value."""
        rows = self.query("SELECT value FROM remote_facts WHERE name = ?", (name,))
        return str(rows[0][0]) if rows else default

    def remember(self, **facts: str) -> None:
        """Remember values."""
        with self.transaction(durable=True) as db:
            db.executemany("INSERT OR REPLACE INTO remote_facts VALUES (?, ?)", list(facts.items()))

    def join(self, url: str) -> str:
        """This run's name in the bucket, generated the first time. A run belongs to the first bucket that answers."""
        known = self.fact("url")
        if known and known != url:
            raise RemoteError(f"This run is synchronised with {known}, not with {url}. Use another run directory.")
        if not self.fact("machine"):
            host = re.sub(r"[^a-z0-9]+", "-", socket.gethostname().lower()).strip("-")[:32] or "machine"
            self.remember(machine=f"{host}-{os.urandom(4).hex()}")
        return self.fact("machine")

    def has_answered(self, url: str) -> None:
        """Note that the bucket at this URL has accepted a write: the run belongs to it from now on."""
        if not self.fact("url"):
            self.remember(url=url)

    # ---- this machine's games on their way up -----------------------------------------------------------------------

    def number_games(self, machine: str, day: str, games: Iterable[tuple[str, str, str]]) -> None:
        """Assign permanent numbers to the games (id, hash, file name)."""
        with self.transaction(durable=True) as db:
            facts = dict(db.execute("SELECT name, value FROM remote_facts").fetchall())
            number, day = int(facts.get("number", 0)), max(day, facts.get("day", ""))
            for game_id, content, name in games:
                number += 1
                key = GameKey(machine, day, number, game_id, content).key
                db.execute("INSERT INTO remote_outbox VALUES (?, ?, ?)", (number, key, name))
            db.executemany("INSERT OR REPLACE INTO remote_facts VALUES (?, ?)", [("number", str(number)), ("day", day)])

    def outbox(self) -> list[tuple[int, str, str]]:
        """(number, key, file name) of games that are not in the bucket yet, in order."""
        return self.query("SELECT number, key, name FROM remote_outbox ORDER BY number")

    def sent(self, numbers: Iterable[int]) -> None:
        """Note that these games are in the bucket."""
        with self.transaction() as db:
            db.executemany("DELETE FROM remote_outbox WHERE number = ?", [(number,) for number in numbers])

    @property
    def complete(self) -> int:
        """Every game of this machine up to this number is in the bucket or will never be."""
        (row,) = self.query("SELECT min(number) FROM remote_outbox")
        return int(self.fact("number", "0")) if row[0] is None else int(row[0]) - 1

    # ---- other machines' games on their way down --------------------------------------------------------------------

    def claimed(self) -> list[Claimed]:
        """The games that this machine has claimed and not yet accounted for."""
        rows = self.query("SELECT * FROM remote_claimed WHERE fate IN ('', 'skipped') ORDER BY rowid")
        return [Claimed(*row) for row in rows]

    def places(self, ids: Iterable[str]) -> dict[str, GameKey]:
        """The places in the bucket of those games that this machine has ever claimed."""
        found: dict[str, GameKey] = {}
        for game_id in ids:
            for (key,) in self.query("SELECT key FROM remote_claimed WHERE id = ?", (game_id,)):
                place = parse_game_key(key)
                assert place is not None
                found[game_id] = place
        return found

    def claim(self, claim: str, games: Iterable[tuple[GameKey, int]]) -> None:
        """Store the games (key, bytes) of a claim."""
        with self.transaction(durable=True) as db:
            db.executemany(
                "INSERT INTO remote_claimed (id, key, claim, size) VALUES (?, ?, ?, ?)"
                " ON CONFLICT (id) DO UPDATE SET claim = excluded.claim, key = excluded.key, fate = ''",
                [(place.id, place.key, claim, size) for place, size in games],
            )

    def settle(self, game_id: str, **columns: str) -> None:
        """Note the file's name, or why a game is not learned from."""
        with self.transaction() as db:
            for column, value in columns.items():
                db.execute(f"UPDATE remote_claimed SET {column} = ? WHERE id = ?", (value, game_id))

    def forget_oldest(self, keep: int) -> None:
        """Delete the oldest games that are accounted for."""
        with self.transaction() as db:
            db.execute(
                "DELETE FROM remote_claimed WHERE fate IN ('done', 'elsewhere')"
                " AND rowid < (SELECT max(rowid) FROM remote_claimed) - ?",
                (keep,),
            )

    def cursor(self, machine: str) -> str:
        """The last key of a machine's games that is claimed, as far as this machine knows."""
        rows = self.query("SELECT after FROM remote_cursors WHERE machine = ?", (machine,))
        return str(rows[0][0]) if rows else ""

    def advance(self, machine: str, after: str) -> None:
        """Move the cursor forward."""
        with self.transaction() as db:
            db.execute(
                "INSERT INTO remote_cursors VALUES (?, ?) ON CONFLICT DO UPDATE SET after = max(after, excluded.after)",
                (machine, after),
            )

    def profiles(self) -> dict[str, Any]:
        """The profile of each machine's games."""
        rows = self.query("SELECT machine, profile FROM remote_profiles")
        return {machine: json.loads(profile) for machine, profile in rows}

    def save_profile(self, machine: str, profile: Any) -> None:
        """Replace the profile of a machine's games."""
        with self.transaction() as db:
            db.execute("INSERT OR REPLACE INTO remote_profiles VALUES (?, ?)", (machine, json.dumps(profile)))

    # ---- what the run has learned -----------------------------------------------------------------------------------

    def learned_between(self, after: int, until: int) -> dict[str, str]:
        """The games (id → file name) in the versions after one up to another."""
        rows = self.query("SELECT id, name FROM games WHERE version > ? AND version <= ?", (after, until))
        return dict(rows)

    def outcomes(self, ids: Iterable[str]) -> dict[str, tuple[str, int | None]]:
        """(outcome, version) of the games that the run has processed."""
        found: dict[str, tuple[str, int | None]] = {}
        for game_id in ids:
            for outcome, version in self.query("SELECT outcome, version FROM games WHERE id = ?", (game_id,)):
                found[game_id] = (outcome, version)
        return found

    def rejected_names(self, names: Iterable[str]) -> set[str]:
        """Those files that the learner has rejected."""
        return {name for name in names if name and self.query("SELECT 1 FROM rejected WHERE name = ?", (name,))}

    def last_version_by(self, *publishers: str) -> tuple[int, dict[str, Any]] | None:
        """(version, statistics) of the newest version by one of these publishers."""
        marks = ",".join("?" * len(publishers))
        rows = self.query(f"SELECT max(version) FROM versions WHERE publisher IN ({marks})", publishers)
        if rows[0][0] is None:
            return None
        (version,) = self.versions_after(int(rows[0][0]) - 1, 1)
        return version.version, version.stats
