"""The ledger's table of replays, created when first needed."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from understudy.games.spec import WorkSummary
from understudy.ledger.connection import Ledger
from understudy.rundir import RunDir

_TABLE = """
CREATE TABLE IF NOT EXISTS replays (
    id           TEXT PRIMARY KEY,     -- hash of the content: a copy under another name is the same replay
    name         TEXT NOT NULL,
    outcome      TEXT NOT NULL,        -- analysed, rejected, set aside
    reason       TEXT,                 -- why rejected or set aside; why an analysed one teaches nothing
    observations TEXT NOT NULL,        -- JSON: one for each Zerg player
    seconds      REAL NOT NULL,        -- duration of the analysis
    at           REAL NOT NULL
)
"""
_FILES = "CREATE TABLE IF NOT EXISTS replay_files (key TEXT PRIMARY KEY) WITHOUT ROWID"  # files that need not be opened


class ReplayTable:
    """The replays that a run has analysed or set aside. In a read-only ledger the table may be missing."""

    def __init__(self, ledger: Ledger, *, create: bool = True) -> None:
        self._ledger = ledger
        if create:
            with ledger.transaction() as db:
                db.execute(_TABLE)
                db.execute(_FILES)
        self._exists = create or bool(ledger.query("SELECT 1 FROM sqlite_master WHERE name = 'replays'"))

    def record(
        self,
        replay: str,
        name: str,
        outcome: str,
        reason: str | None,
        observations: Sequence[Any],
        seconds: float,
        *,
        file: str,
    ) -> bool:
        """Record a replay by the hash of its content, and its file as known; False if it was recorded before."""
        row = (replay, name, outcome, reason, json.dumps(observations), seconds, time.time())
        with self._ledger.transaction() as db:
            db.execute("INSERT OR IGNORE INTO replay_files VALUES (?)", (file,))
            return db.execute("INSERT OR IGNORE INTO replays VALUES (?, ?, ?, ?, ?, ?, ?)", row).rowcount == 1

    def all(self) -> list[tuple[str, str, str, str | None, list[dict[str, Any]], float]]:
        """(hash, name, outcome, reason, observations, seconds) of every replay, in the order of the hash."""
        rows = self._query("SELECT id, name, outcome, reason, observations, seconds FROM replays ORDER BY id")
        return [(*row[:4], json.loads(row[4]), row[5]) for row in rows]

    def ids(self) -> set[str]:
        """The hashes of all recorded replays."""
        return {row[0] for row in self._query("SELECT id FROM replays")}

    def known_files(self) -> set[str]:
        """The keys of all files whose content is recorded."""
        return {row[0] for row in self._query("SELECT key FROM replay_files")}

    def latest(self, count: int) -> list[tuple[str, str, str]]:
        """(name, outcome, reason) of the replays recorded last."""
        query = "SELECT name, outcome, coalesce(reason, '') FROM replays ORDER BY at DESC LIMIT ?"
        return self._query(query, (count,))

    def by_outcome(self) -> dict[str, int]:
        """How many replays were analysed, rejected, set aside."""
        counts = {"analysed": 0, "rejected": 0, "set aside": 0}
        counts.update(self._query("SELECT outcome, count(*) FROM replays GROUP BY outcome"))
        return counts

    def _query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return self._ledger.query(sql, parameters) if self._exists else []


def summary(ledger: Ledger, run: RunDir, waiting: int) -> WorkSummary:
    """What replay analysis has done in a run so far."""
    outcomes = ReplayTable(ledger, create=False).by_outcome()
    counts = {
        "analysed": outcomes["analysed"],
        "rejected": outcomes["rejected"] + outcomes["set aside"],
        "waiting": waiting,
    }
    line = ", ".join(f"{count} {name}" for name, count in counts.items())
    try:
        written = run.build_orders.stat().st_mtime
    except OSError:
        written = None
    return WorkSummary(line, counts, written)
