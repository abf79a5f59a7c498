"""How busy the machine was while a learner ran: `logs/load.jsonl`, one reading per line."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.files.append import append_bounded
from understudy.files.plain_json import parsed_json

EVERY_SECONDS = 10.0
_BYTES = 500_000  # ten hours or more; the same amount before it is kept in `.1`


@dataclass(frozen=True, slots=True)
class Load:
    """One reading: machine load in percent, busy workers, waiting games. None: not measured, or not applicable."""

    at: float
    cpu: float | None = None
    memory: float | None = None
    gpu_memory: float | None = None
    workers: int = 0
    waiting: int | None = None


class LoadLog:
    """Appends a reading every ten seconds, for the learner. `buffer` is the folder where games wait, if any."""

    def __init__(self, path: Path, buffer: Path | None = None) -> None:
        self._path = path
        self._buffer = buffer
        self._next = time.monotonic()

    def note(self, resources: Mapping[str, float | None], workers: int) -> None:
        """Append a reading if one is due and there is something to record; OSError if the file cannot be written."""
        if not resources or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY_SECONDS
        waiting = None if self._buffer is None else _games_in(self._buffer)
        measured = {name: None if value is None else round(value, 1) for name, value in resources.items()}
        reading = Load(round(time.time(), 1), **measured, workers=workers, waiting=waiting)
        append_bounded(self._path, json.dumps(dataclasses.asdict(reading)) + "\n", _BYTES)


def read_loads(path: Path) -> list[Load]:
    """All kept readings, oldest first; invalid lines are left out."""
    loads = []
    for file in (path.with_name(f"{path.name}.1"), path):
        try:
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        loads += [load for line in lines if (load := _parsed(line)) is not None]
    return loads


def _parsed(line: str) -> Load | None:
    try:
        content: dict[str, Any] = parsed_json(line)
        cpu, memory, gpu_memory = (_number(content[name]) for name in ("cpu", "memory", "gpu_memory"))
        waiting = None if content["waiting"] is None else int(content["waiting"])
        return Load(float(content["at"]), cpu, memory, gpu_memory, int(content["workers"]), waiting)
    except (ValueError, TypeError, KeyError):  # the line was cut off, or is being written
        return None


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def _games_in(folder: Path) -> int:
    with os.scandir(folder) as entries:
        return sum(entry.name.endswith(".npz") and not entry.name.startswith(".") for entry in entries)
