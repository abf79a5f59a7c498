"""Games between versions, runs and scripted opponents, each recorded once. Ratings are fitted to all of them."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from understudy.ledger.connection import Ledger

_TABLE = """
CREATE TABLE IF NOT EXISTS arena_games (
    game   TEXT NOT NULL,
    first  TEXT NOT NULL,             -- who moved first
    second TEXT NOT NULL,
    pair   INTEGER NOT NULL,          -- two games with the same start and sides exchanged have the same number
    result INTEGER NOT NULL,          -- 1 the first won, 0 drawn or cut, -1 the second won
    at     REAL NOT NULL,
    PRIMARY KEY (game, first, second, pair)
)
"""
ArenaGame = tuple[str, str, int, int]
"""First, second, pair, result."""


class ArenaLedger(Ledger):
    """The ledger of a run, with the table of arena games."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        super().__init__(path, read_only=read_only)
        if not read_only:
            with self.transaction() as db:
                db.execute(_TABLE)

    def record(self, game: str, played: Iterable[ArenaGame]) -> None:
        """Record games; a game that is already recorded is not changed."""
        now = time.time()
        rows = [(game, *found, now) for found in played]
        with self.transaction() as db:
            db.executemany("INSERT OR IGNORE INTO arena_games VALUES (?, ?, ?, ?, ?, ?)", rows)

    def results(self, game: str) -> dict[tuple[str, str], Counter[int]]:
        """(first, second) → the number of each result, for one game."""
        return arena_results(self, game)

    def pairs(self, game: str, one: str, other: str) -> dict[int, float]:
        """Number of a pair → the share of its points that `one` won, for the pairs whose two games were played."""
        either = "((first = ? AND second = ?) OR (first = ? AND second = ?))"
        query = f"SELECT pair, first, result FROM arena_games WHERE game = ? AND {either}"
        points: defaultdict[int, list[float]] = defaultdict(list)
        for pair, first, result in self.query(query, (game, one, other, other, one)):
            points[pair].append((1 + (result if first == one else -result)) / 2)
        return {pair: sum(found) / 2 for pair, found in sorted(points.items()) if len(found) == 2}


def arena_results(ledger: Ledger, game: str = "") -> dict[tuple[str, str], Counter[int]]:
    """(first, second) → the number of each result, for one game or for all; from any ledger."""
    if not ledger.query("SELECT 1 FROM sqlite_master WHERE name = 'arena_games'"):
        return {}
    found: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    query = "SELECT first, second, result, count(*) FROM arena_games WHERE ? IN ('', game) GROUP BY 1, 2, 3"
    for first, second, result, count in ledger.query(query, (game,)):
        found[first, second][result] += count
    return dict(found)
