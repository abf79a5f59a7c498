"""`understudy export`: a run's history as CSV, or as the event file that TensorBoard reads.

An event file is a sequence of records (length, its checksum, an Event message, its checksum). The records and the three
messages for scalars are simple enough to be written here, without TensorFlow.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from understudy.errors import RunDirError
from understudy.files.atomic import write_atomically
from understudy.games.spec import all_axes
from understudy.ledger.connection import Ledger, LedgerGame
from understudy.ledger.history import finite_numbers, version_numbers
from understudy.run.update_log import read_updates
from understudy.rundir import RunDir
from understudy.watch.ledger_reading import open_ledger
from understudy.watch.metrics import all_metrics

_ROWS = 10_000
_VERSION_COLUMNS = ("version", "parent", "publisher", "at", "games", "steps", "seconds", "loss")
_UPDATE_COLUMNS = ("update", "version", "at", "games", "decisions", "n")
_GAME_COLUMNS = (*(f.name for f in dataclasses.fields(LedgerGame)), "outcome", "version", "at")


def to_csv(run: RunDir, folder: Path) -> list[Path]:
    """Write versions.csv and games.csv with every row of the ledger, for self-play also updates.csv; returns files."""
    with _ledger_of(run) as ledger:
        folder.mkdir(parents=True, exist_ok=True)
        names = [row[0] for row in ledger.query("SELECT DISTINCT name FROM metric_blocks ORDER BY name")]
        extra = [name for name in names if name not in _VERSION_COLUMNS]
        versions, games = folder / "versions.csv", folder / "games.csv"
        _write_csv(versions, [*_VERSION_COLUMNS, *extra], _version_rows(ledger, extra))
        axes = sorted({axis.note for axis in all_axes()} - set(_GAME_COLUMNS))
        _write_csv(games, (*_GAME_COLUMNS, *axes), _game_rows(ledger, axes))
    return [versions, games, *_updates_csv(run, folder)]


def _updates_csv(run: RunDir, folder: Path) -> list[Path]:
    rows = read_updates(run.updates)
    if not rows:
        return []
    names = sorted({name for row in rows for name in row["values"]} - set(_UPDATE_COLUMNS))
    path = folder / "updates.csv"
    cells = ((*(row[name] for name in _UPDATE_COLUMNS), *(row["values"].get(name) for name in names)) for row in rows)
    _write_csv(path, (*_UPDATE_COLUMNS, *names), cells)
    return [path]


def to_tensorboard(run: RunDir, folder: Path) -> list[Path]:
    """Write metrics as scalars, with one step per version, or per update of self-play; returns the file."""
    with _ledger_of(run) as ledger:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "events.out.tfevents.0.understudy"

        def write(stream: Any) -> None:
            stream.write(_record(_event(0.0, 0, file_version=b"brain.Event:2")))
            updates = [(row["update"], row["at"], row["values"]) for row in read_updates(run.updates)]
            for version, at, numbers in updates or _numbers(ledger):
                scalars = {_tag(name): value for name, value in numbers.items()}
                if scalars:
                    stream.write(_record(_event(at, version, scalars)))

        write_atomically(path, write)
    return [path]


def _ledger_of(run: RunDir) -> Any:
    if not run.ledger.exists():
        raise RunDirError(f"There is no run at {run.root}: nothing has been recorded there that could be exported.")
    return open_ledger(run.ledger)


def _rows(ledger: Ledger, table: str, columns: tuple[str, ...], key: str) -> Iterator[tuple[Any, ...]]:
    """All rows, in pieces, so that writers are not blocked and memory stays small."""
    last = -1
    query = f"SELECT {key}, {', '.join(columns)} FROM {table} WHERE {key} > ? ORDER BY {key} LIMIT {_ROWS}"
    while part := ledger.query(query, (last,)):
        yield from (row[1:] for row in part)
        last = part[-1][0]


def _game_rows(ledger: Ledger, axes: list[str]) -> Iterator[tuple[Any, ...]]:
    """The games, with additional columns for the result axes."""
    at = _GAME_COLUMNS.index("axes")
    for row in _rows(ledger, "games", _GAME_COLUMNS, "rowid"):
        values = json.loads(row[at])
        yield (*row, *(values.get(axis, "") for axis in axes))


def _version_rows(ledger: Ledger, extra: list[str]) -> Iterator[tuple[Any, ...]]:
    for *plain, stats in _rows(ledger, "versions", (*_VERSION_COLUMNS, "stats"), "version"):
        values = json.loads(stats)
        yield (*plain, *(values.get(name) for name in extra))


def _numbers(ledger: Ledger) -> Iterator[tuple[int, float, dict[str, float]]]:
    columns = ("version", "at", "games", "steps", "seconds", "loss", "stats")
    for version, at, games, steps, seconds, loss, stats in _rows(ledger, "versions", columns, "version"):
        yield version, at, finite_numbers(version_numbers(games, steps, seconds, loss, json.loads(stats)))


def _tag(name: str) -> str:
    """TensorBoard shows the part before the slash as a group."""
    metric = all_metrics().get(name)
    return f"{metric.group if metric else 'other'}/{name}"


def _write_csv(path: Path, columns: Any, rows: Iterator[tuple[Any, ...]]) -> None:
    def write(stream: Any) -> None:
        text = _Encoded(stream)
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows(rows)

    write_atomically(path, write)


class _Encoded:
    """The text interface that csv needs, on a binary file."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        self._stream.write(text.encode())


# ---- TensorBoard's format -------------------------------------------------------------------------------------------


def _event(
    at: float, step: int, scalars: Mapping[str, float] | None = None, file_version: bytes | None = None
) -> bytes:
    """An Event message: wall_time = 1, step = 2, file_version = 3, summary = 5."""
    message = b"\x09" + struct.pack("<d", at) + b"\x10" + _varint(step)
    if file_version is not None:
        message += b"\x1a" + _varint(len(file_version)) + file_version
    if scalars:
        summary = b"".join(_value(tag, number) for tag, number in scalars.items())
        message += b"\x2a" + _varint(len(summary)) + summary
    return message


def _value(tag: str, number: float) -> bytes:
    """A Summary.Value in a Summary: tag = 1, simple_value = 2."""
    name = tag.encode()
    value = b"\x0a" + _varint(len(name)) + name + b"\x15" + struct.pack("<f", number)
    return b"\x0a" + _varint(len(value)) + value


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _record(message: bytes) -> bytes:
    length = struct.pack("<Q", len(message))
    return length + _masked_crc(length) + message + _masked_crc(message)


def _masked_crc(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def crc32c(data: bytes) -> int:
    """The CRC with Castagnoli's polynomial, which zlib does not provide."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _CASTAGNOLI[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _table() -> tuple[int, ...]:
    table = []
    for number in range(256):
        for _ in range(8):
            number = number >> 1 ^ (0x82F63B78 if number & 1 else 0)  # noqa: PLW2901 - the register of the CRC
        table.append(number)
    return tuple(table)


_CASTAGNOLI = _table()
