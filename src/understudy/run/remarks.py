"""People's notes about a run: `logs/notes.jsonl`, one JSON object per line, shown on the dashboard."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass

from understudy.errors import SettingsError
from understudy.files.append import append_bounded
from understudy.files.plain_json import parsed_json
from understudy.files.printable import printable
from understudy.rundir import RunDir

MOST_CHARACTERS = 2000
_MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Remark:
    """A note, its author and its time."""

    at: float
    by: str
    text: str


def add_remark(run: RunDir, text: str, by: str) -> None:
    """Add a note; SettingsError if it is empty or too long."""
    text = printable(text).strip()
    if not text or len(text) > MOST_CHARACTERS:
        raise SettingsError(f"A note has 1 to {MOST_CHARACTERS:,} characters; this one has {len(text):,}.")
    run.logs.mkdir(parents=True, exist_ok=True)
    append_bounded(run.remarks, json.dumps({"at": time.time(), "by": by, "text": text}) + "\n", _MOST_BYTES)


def read_remarks(run: RunDir, newest: int = 20) -> list[Remark]:
    """The latest notes, newest first; lines that cannot be read are left out."""
    try:
        lines = run.remarks.read_bytes().splitlines()
    except OSError:
        return []
    return list(_parsed(lines[-newest:][::-1]))


def _parsed(lines: list[bytes]) -> Iterator[Remark]:
    for line in lines:
        try:
            note = parsed_json(line)
            yield Remark(float(note["at"]), str(note["by"]), str(note["text"]))
        except (ValueError, KeyError, TypeError):
            continue
