"""The ledger: one SQLite file that decides which game went into which model version, exactly once.

A model version and the games it consumed are recorded in one transaction. Files are moved after it. If a process is
killed in between, the ledger says on the next start what has been learned and where each file belongs.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from understudy.errors import RunDirError, RunReplaced
from understudy.ledger import history
from understudy.ledger.reading import copy_files, open_to_read, too_long
from understudy.ledger.rows import LedgerGame, Outcome, Totals, Version
from understudy.ledger.tables import (
    GAME_COLUMNS,
    PLACED,
    SCHEMA_VERSION,
    STAGED,
    forget_games,
    forget_versions,
    game_of,
    insert_games,
    migrate,
    schema_of,
    use_wal,
)

_IDS_AT_A_TIME = 500
_FORGOTTEN_AT_A_TIME = 10_000
_FORGET_EVERY = 1000  # versions

__all__ = ["Ledger", "LedgerGame", "Outcome", "Totals", "Version"]


class Ledger:
    """An open ledger. One object per thread; any number of processes may have the same file open."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.path = path
        try:
            if read_only:
                self._db = open_to_read(path)
            else:
                self._db = sqlite3.connect(path, timeout=10, isolation_level=None)
                use_wal(self._db)
                self._db.execute("PRAGMA synchronous = NORMAL")
                if schema_of(self._db) < SCHEMA_VERSION:
                    migrate(self._db)
            self._opened = _place(path)
        except (sqlite3.Error, OSError) as error:
            what_to_do = "`understudy doctor` says how to repair it."
            if too_long(path):
                what_to_do = "Its path is too long for SQLite. Move the run to a folder with a shorter path."
            if not read_only and path.exists() and not all(os.access(place, os.W_OK) for place in (path, path.parent)):
                what_to_do = f"Allow writing to {path.parent}, or work on a copy of the run. Nothing was changed."
            raise RunDirError(f"The ledger {path} cannot be opened: {error}. {what_to_do}") from error

    @classmethod
    def copy_of(cls, path: Path) -> Self:
        """A copy in memory, migrated to the present version: for ledgers of an earlier version, or on a read-only disk.

        It includes the content of the write-ahead log. Nothing is written beside the original.
        """
        copy = cls(Path(":memory:"))
        with tempfile.TemporaryDirectory() as folder:
            try:
                copied = copy_files(path, Path(folder))
                if not copied.exists():
                    raise RunDirError(f"There is no ledger at {path}.")
                with cls(copied) as upright:
                    upright._db.backup(copy._db)
            except (OSError, sqlite3.Error) as error:
                copy.close()
                raise RunDirError(f"The ledger {path} cannot be copied: {error}.") from error
        copy.path = path
        return copy

    @property
    def up_to_date(self) -> bool:
        """Whether this file has all tables of this version; opening it for writing adds them."""
        return int(self.query("PRAGMA user_version")[0][0]) >= SCHEMA_VERSION

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def require_in_place(self) -> None:
        """Raise RunReplaced if the ledger's path now names another file, RunDirError if there is none."""
        now = _place(self.path)
        if now is None:
            raise RunDirError(f"{self.path} is gone: the run was moved or deleted. Put it back, or end this process.")
        if now != self._opened:
            raise RunReplaced(f"{self.path} was replaced while it was open: this process would write to another file.")

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """One transaction. Only a version must survive a power cut; the next start repairs everything else."""
        try:
            self._db.execute(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                if self._db.in_transaction:  # a full disk has already rolled it back
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")
        except sqlite3.IntegrityError:
            raise  # a duplicate row; the caller decides
        except sqlite3.Error as error:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise RunDirError(
                f"The ledger {self.path} cannot be written: {error}. Nothing was recorded.{_let_go(error)}"
            ) from error

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """The rows of a SELECT."""
        try:
            return self._db.execute(sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise RunDirError(
                f"The ledger {self.path} cannot be read: {error}. `understudy doctor` says how to repair it."
            ) from error

    def head(self) -> int | None:
        """The newest published version, or None before the first."""
        (row,) = self.query("SELECT max(version) FROM versions")
        return None if row[0] is None else int(row[0])

    def record_version(
        self,
        version: int,
        parent: int | None,
        publisher: str,
        consumed: Sequence[LedgerGame] = (),
        stats: Mapping[str, Any] | None = None,
        outcome: Outcome = "learned",
        withdrawn: Sequence[str] = (),
    ) -> None:
        """Record a version and the games it consumed, all or nothing. This is the moment of publication.

        Games of self-play have no files: their number is in `stats`. `withdrawn` are ids of games whose updates this
        version does not contain: they may be learned from again, under the same ids.
        """
        at = time.time()
        rest = dict(stats or {})
        games = len(consumed) or int(rest.get("games", 0))
        steps = sum(game.steps for game in consumed) or int(rest.get("total_steps", 0))
        seconds, loss = rest.pop("seconds", 0.0), rest.pop("loss", None)
        with self.transaction(durable=True) as db:
            db.execute(
                "INSERT INTO versions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (version, parent, publisher, at, games, steps, seconds, loss, json.dumps(rest)),
            )
            numbers = history.version_numbers(games, steps, seconds, loss, rest)
            history.add_versions(db, [(version, at, numbers)])
            insert_games(db, consumed, outcome, version, at)
            if version % _FORGET_EVERY == 0:
                forget_versions(db, version)
            db.executemany(
                "UPDATE games SET id = id || '~' || ?, outcome = 'skipped', archived = 0 WHERE id = ?",
                [(version, game_id) for game_id in withdrawn],
            )

    def record_placed(self, version: int) -> None:
        """Record that the file of a version is where bots load it, the last step of its publication."""
        with self.transaction() as db:
            db.execute(PLACED)
            db.execute("INSERT OR REPLACE INTO placed VALUES (1, ?)", (version,))

    def placed(self) -> int | None:
        """The version whose publication was completed last, if this was recorded."""
        if not self.query("SELECT 1 FROM sqlite_master WHERE name = 'placed'"):
            return None
        rows = self.query("SELECT version FROM placed")
        return int(rows[0][0]) if rows else None

    def record_staged(self, digests: Sequence[str]) -> None:
        """Record the possible contents of the file on stage while the gate keeps it apart from the newest version."""
        with self.transaction() as db:
            db.execute(STAGED)
            db.execute("DELETE FROM staged")
            db.executemany("INSERT OR IGNORE INTO staged VALUES (?)", [(digest,) for digest in digests])

    def staged(self) -> frozenset[str]:
        """The hashes of these contents; empty if none was ever recorded."""
        if not self.query("SELECT 1 FROM sqlite_master WHERE name = 'staged'"):
            return frozenset()
        return frozenset(digest for (digest,) in self.query("SELECT digest FROM staged"))

    def times_replayed(self, game_id: str) -> int:
        """How often a game was learned from again, by the versions that are still recorded."""
        [(count,)] = self.query(
            "SELECT count(*) FROM versions, json_each(versions.stats, '$.replayed') AS game WHERE game.value = ?",
            (game_id,),
        )
        return int(count)

    def record_skipped(self, games: Sequence[LedgerGame], outcome: Outcome = "skipped") -> None:
        """Record games that no version of this run will learn from; known games are not changed."""
        if not games:
            return
        with self.transaction() as db:
            known = self.known(game.id for game in games)
            new = {game.id: game for game in games if game.id not in known}
            insert_games(db, list(new.values()), outcome, None, time.time())

    def record_rejected(self, name: str, reason: str, size: int, *, only_if_new: bool = False) -> None:
        """Record a file that cannot be used."""
        insert = "INSERT OR IGNORE" if only_if_new else "INSERT OR REPLACE"
        with self.transaction() as db:
            db.execute(f"{insert} INTO rejected VALUES (?, ?, ?, ?)", (name, reason, size, time.time()))

    def known(self, ids: Iterable[str]) -> set[str]:
        """The ids of these games that have been processed."""
        return {row[0] for row in self._rows_of("SELECT id FROM games WHERE id IN", list(ids))}

    def _rows_of(self, query: str, ids: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """The rows of these games; SQLite takes a limited number of values in one query."""
        for start in range(0, len(ids), _IDS_AT_A_TIME):
            part = ids[start : start + _IDS_AT_A_TIME]
            yield from self.query(f"{query} ({','.join('?' * len(part))})", part)

    def mark_archived(self, files: Iterable[tuple[str, int, str]]) -> None:
        """Note that the files (name, bytes, id) of these games are in the archive."""
        with self.transaction() as db:
            db.executemany("UPDATE games SET archived = 1, name = ?, bytes = ? WHERE id = ?", list(files))

    def archived_names(self, ids: Sequence[str]) -> dict[str, str]:
        """The file names (by id) of those games that have a file in the archive."""
        return dict(self._rows_of("SELECT id, name FROM games WHERE archived = 1 AND id IN", ids))

    def oldest_archived(self, count: int) -> list[tuple[str, str, int]]:
        """(id, file name, bytes) of the games that have been in the archive longest."""
        return self.query("SELECT id, name, bytes FROM games WHERE archived = 1 ORDER BY rowid LIMIT ?", (count,))

    def mark_deleted(self, ids: Iterable[str]) -> None:
        """Note that these games' files are no longer in the archive."""
        with self.transaction() as db:
            db.executemany("UPDATE games SET archived = 0 WHERE id = ?", [(i,) for i in ids])

    def archive_size(self) -> tuple[int, int]:
        """(files, bytes) in the archive."""
        (row,) = self.query("SELECT count(*), coalesce(sum(bytes), 0) FROM games WHERE archived = 1")
        return int(row[0]), int(row[1])

    def reconcile_archive(self, on_disk: Mapping[str, int]) -> None:
        """Make the ledger's list of the archive equal to the folder's content (file name → bytes).

        A file without a row came without its ledger; it counts as learned from, so that it is never learned from again.
        """
        recorded = dict(self.query("SELECT name, id FROM games WHERE archived = 1"))
        with self.transaction() as db:
            db.executemany(
                "UPDATE games SET archived = 0 WHERE id = ?", [(recorded[n],) for n in recorded.keys() - on_disk]
            )
            for name in sorted(on_disk.keys() - recorded.keys()):
                if not db.execute("UPDATE games SET archived = 1 WHERE name = ?", (name,)).rowcount:
                    game_id = name.removesuffix(".npz").rpartition("_")[2]
                    db.execute(
                        "INSERT OR IGNORE INTO games (id, name, outcome, result, steps, reward, bytes, at, archived)"
                        " VALUES (?, ?, 'learned', 'Unknown', 0, 0, ?, ?, 1)",
                        (game_id, name, on_disk[name], time.time()),
                    )

    def forget_games(self, keep: int) -> None:
        """Delete the rows of the oldest games, some at a time, if there are more than `keep`; they stay counted.

        A game whose file is in the archive keeps its row.
        """
        (row,) = self.query("SELECT min(rowid), max(rowid) FROM games")
        if row[0] is None or row[1] - row[0] < keep:
            return
        with self.transaction() as db:
            forget_games(db, min(row[1] - keep, row[0] + _FORGOTTEN_AT_A_TIME))

    def games_by_outcome(self) -> dict[str, int]:
        """The numbers of games learned, learned online and skipped, and of rejected files."""
        counts = {"learned": 0, "online": 0, "skipped": 0}
        counts.update(self.query("SELECT outcome, count(*) FROM games GROUP BY outcome"))
        if self.query("SELECT 1 FROM sqlite_master WHERE name = 'forgotten_games'"):
            for outcome, count in self.query("SELECT outcome, games FROM forgotten_games"):
                counts[outcome] = counts.get(outcome, 0) + count
        counts["rejected"] = int(self.query("SELECT count(*) FROM rejected")[0][0])
        return counts

    def versions(self, newest: int | None = None) -> list[Version]:
        """Published versions, oldest first; only the newest few if a number is given."""
        rows = self.query("SELECT * FROM versions ORDER BY version DESC LIMIT ?", (-1 if newest is None else newest,))
        return [Version(*(*row[:-1], json.loads(row[-1]))) for row in reversed(rows)]

    def totals(self, publisher: str) -> Totals:
        """The totals of a publisher since the run began."""
        sums = "coalesce(sum(games), 0), coalesce(sum(steps), 0), coalesce(sum(seconds), 0), total(loss)"
        (row,) = self.query(f"SELECT count(loss), {sums} FROM versions WHERE publisher = ?", (publisher,))
        if self.query("SELECT 1 FROM sqlite_master WHERE name = 'forgotten_versions'"):
            (old,) = self.query(
                f"SELECT coalesce(sum(batches), 0), {sums} FROM forgotten_versions WHERE publisher = ?", (publisher,)
            )
            row = tuple(new + gone for new, gone in zip(row, old, strict=True))
        batches, games, steps, seconds, loss = row
        last = self.query(
            "SELECT loss, at FROM versions WHERE publisher = ? AND loss IS NOT NULL ORDER BY version DESC LIMIT 1",
            (publisher,),
        )
        average = loss / batches if batches else None
        return Totals(batches, games, steps, seconds, average, *(last[0] if last else (None, None)))

    def games(self, newest: int | None = None) -> list[tuple[LedgerGame, str, int | None]]:
        """(game, outcome, version) of the games processed, oldest first."""
        rows = self.query(
            f"SELECT {GAME_COLUMNS}, outcome, version FROM games ORDER BY rowid DESC LIMIT ?",
            (-1 if newest is None else newest,),
        )
        return [(game_of(row[:-2]), row[-2], row[-1]) for row in reversed(rows)]

    def versions_after(self, version: int, most: int) -> list[Version]:
        """The next versions after one, oldest first."""
        rows = self.query("SELECT * FROM versions WHERE version > ? ORDER BY version LIMIT ?", (version, most))
        return [Version(*(*row[:-1], json.loads(row[-1]))) for row in rows]

    def games_after(self, number: int, most: int) -> list[tuple[int, LedgerGame, str]]:
        """(number, game, outcome) of the next games after a number, in the order of the ledger."""
        query = f"SELECT rowid, {GAME_COLUMNS}, outcome FROM games WHERE rowid > ? ORDER BY rowid LIMIT ?"
        return [(row[0], game_of(row[1:-1]), row[-1]) for row in self.query(query, (number, most))]

    def rejections(self, newest: int | None = None) -> list[tuple[str, str]]:
        """(file name, reason) of rejected files, oldest first."""
        rows = self.query(
            "SELECT name, reason FROM rejected ORDER BY at DESC, rowid DESC LIMIT ?",
            (-1 if newest is None else newest,),
        )
        return list(reversed(rows))

    def record_failure(self, kind: str, key: str, reason: str) -> int:
        """Count a job that ended its worker; returns how often it has done so, restarts included."""
        with self.transaction() as db:
            (times,) = db.execute(
                "INSERT INTO job_failures VALUES (?, ?, 1, ?)"
                " ON CONFLICT (kind, key) DO UPDATE SET times = times + 1, reason = excluded.reason RETURNING times",
                (kind, key, reason),
            ).fetchone()
        return int(times)

    def failures_by_kind(self) -> dict[str, int]:
        """How often jobs of each kind ended their workers."""
        return dict(self.query("SELECT kind, sum(times) FROM job_failures GROUP BY kind"))

    def problems(self, seconds: float = math.inf) -> list[str]:
        """The problems that SQLite's own check finds in the file; empty if there are none, or if it took too long."""
        deadline = time.monotonic() + seconds
        self._db.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
        try:
            rows = self._db.execute("PRAGMA integrity_check").fetchall()
        except sqlite3.OperationalError as error:  # a full disk or a locked file is not damage
            if time.monotonic() > deadline:
                return []
            raise RunDirError(f"The ledger {self.path} cannot be read: {error}.") from error
        except sqlite3.DatabaseError as error:
            return [str(error)]
        finally:
            self._db.set_progress_handler(None, 0)
        return [row[0] for row in rows if row[0] != "ok"]


def _place(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino


def _let_go(error: sqlite3.Error) -> str:
    return " Another program holds it: close what has it open, then try again." if "locked" in f"{error}" else ""
