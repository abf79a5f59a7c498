"""`logs/updates.jsonl`: the statistics of each self-play update, one JSON object per line.

The file is bounded: once it has 2,000 lines, neighbours are merged to their means, and from then on a line stands for
twice as many updates. So it always covers the whole run.
"""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from understudy.files.atomic import write_atomically
from understudy.files.plain_json import parsed_json

logger = logging.getLogger(__name__)

MOST_LINES = 2000
Row = dict[str, Any]
"""`update`, `version`, `at`, `games` and `decisions` so far, `n` updates that it stands for, `values`: their means."""


def read_updates(path: Path) -> list[Row]:
    """The rows of a file, oldest first; incomplete or damaged lines are left out."""
    try:
        lines = path.read_bytes().splitlines()
    except OSError:
        return []
    return [row for line in lines if (row := _row(line)) is not None]


def _row(line: bytes) -> Row | None:
    try:
        row = parsed_json(line)
        return {
            **{name: int(row[name]) for name in ("update", "version", "games", "decisions", "n")},
            "at": float(row["at"]),
            "values": _numbers(row["values"]),
        }
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(v) for name, v in values.items() if isinstance(v, int | float) and math.isfinite(v)}


def merged(rows: list[Row]) -> Row:
    """Neighbouring rows merged into one: their means, at the position of the last."""
    totals: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row["values"].items():
            total = totals.setdefault(name, [0.0, 0.0])
            total[0] += row["n"] * value
            total[1] += row["n"]
    values = {name: total / n for name, (total, n) in totals.items()}
    return {**rows[-1], "n": sum(row["n"] for row in rows), "values": values}


class UpdateLog:
    """Writes the file, or nothing without a path. Continues a file, without updates that are not in the present model.

    A disk error must not stop the run: publishing reports it.
    """

    def __init__(self, path: Path | None, update: int) -> None:
        self._path = path
        self._stride = self._lines = 0
        self._pending: list[Row] = []
        self._before = {"games": 0, "decisions": 0}
        if path is not None:
            rows = [row for row in read_updates(path) if row["update"] <= update]
            self._stride = max((row["n"] for row in rows), default=1)
            self._before = {name: rows[-1][name] if rows else 0 for name in self._before}
            self._guarded(lambda: self._replace(rows))

    def note(self, update: int, version: int | None, games: int, decisions: int, values: Mapping[str, Any]) -> None:
        """Record an update; `games` and `decisions` are this process' totals."""
        if self._path is None:
            return
        row: Row = {"update": update, "version": version or 0, "at": time.time(), "n": 1}
        row |= {"games": self._before["games"] + games, "decisions": self._before["decisions"] + decisions}
        self._pending.append({**row, "values": _numbers(values)})
        if len(self._pending) >= self._stride:
            self.flush()

    def flush(self) -> None:
        """Write what is pending."""
        if self._pending:
            row, self._pending = merged(self._pending), []
            self._guarded(lambda: self._append(row))

    def _append(self, row: Row) -> None:
        assert self._path is not None
        with self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
        self._lines += 1
        if self._lines >= MOST_LINES:
            rows = read_updates(self._path)
            self._replace([merged(rows[i : i + 2]) for i in range(0, len(rows), 2)])
            self._stride *= 2

    def _replace(self, rows: list[Row]) -> None:
        assert self._path is not None
        self._path.parent.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(row) + "\n" for row in rows)
        write_atomically(self._path, lambda stream: stream.write(text.encode()), durable=False)
        self._lines = len(rows)

    def _guarded(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            logger.debug("%s was not written: %s", self._path, error)
