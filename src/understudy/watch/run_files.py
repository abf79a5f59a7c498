"""The folders and logs of a run, as far as they can be read."""

from __future__ import annotations

import heapq
import itertools
import os
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.files.plain_json import parsed_json

_LOG_BYTES = 20_000
_MEASURED_FILES = 20_000  # measuring more files would take too long every two seconds


@dataclass(frozen=True, slots=True)
class FileNote:
    """One file; `result` comes from its name, '' if the name has none."""

    name: str
    result: str
    bytes: int
    at: float


@dataclass(frozen=True, slots=True)
class Folder:
    """One folder of games. Beyond 20,000 files the rest is not measured, and `bytes` is None."""

    path: str
    count: int = 0
    bytes: int | None = 0
    recent: tuple[FileNote, ...] = ()
    oldest_at: float | None = None


NO_FOLDER = Folder("")


@dataclass(frozen=True, slots=True)
class Rejection:
    """A file that could not be used."""

    name: str
    reason: str
    at: float


def read_folder(path: Path, recent: int, problems: list[str]) -> Folder:
    """A folder of games with its newest files; errors are added to `problems`."""
    measured = list(itertools.islice(files_in(path, ".npz", problems), _MEASURED_FILES))
    count = len(measured) if len(measured) < _MEASURED_FILES else sum(1 for _ in _names(path, ".npz", problems))
    return Folder(
        str(path),
        count,
        sum(file.bytes for file in measured) if count == len(measured) else None,
        tuple(heapq.nlargest(recent, measured, key=lambda file: (file.at, file.name))),
        min((file.at for file in measured), default=None),
    )


def files_in(folder: Path, suffix: str, problems: list[str]) -> Iterator[FileNote]:
    """The files of a folder whose names end in `suffix`, in arbitrary order."""
    for entry in _names(folder, suffix, problems):
        try:
            stat = entry.stat()
        except OSError:  # it was just moved
            continue
        yield FileNote(entry.name, _result(entry.name), stat.st_size, stat.st_mtime)


def _names(folder: Path, suffix: str, problems: list[str]) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            yield from (entry for entry in entries if entry.name.endswith(suffix) and not entry.name.startswith("."))
    except FileNotFoundError:
        return
    except OSError as error:
        problems.append(f"{folder} cannot be read: {error.strerror}.")


def _result(name: str) -> str:
    """The result in the name of a game's file: game_20260125_143022_Victory_<id>.npz."""
    parts = name.removesuffix(".npz").split("_")
    return parts[3] if len(parts) > 3 and parts[0] == "game" else ""


def reasons_beside(folder: Path, recent: int) -> tuple[Rejection, ...]:
    """The latest reasons from the notes beside the files, used if the ledger does not have them."""
    notes = heapq.nlargest(recent, files_in(folder, ".reason.json", []), key=lambda note: note.at)
    found = []
    for note in notes:
        try:
            content = parsed_json((folder / note.name).read_bytes())
            found.append(Rejection(str(content["file"]), str(content["reason"]), note.at))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return tuple(found)


def tail(path: Path, lines: int) -> list[str]:
    """The last lines of a text file, without reading all of it."""
    try:
        with path.open("rb") as stream:
            stream.seek(max(os.fstat(stream.fileno()).st_size - _LOG_BYTES, 0))
            text = stream.read().decode(errors="replace")
    except OSError:
        return []
    return list(deque(text.splitlines(), lines))


def parsed(lines: list[str]) -> Iterator[dict[str, Any]]:
    """The JSON objects in some lines."""
    for line in lines:
        try:
            event = parsed_json(line)
        except ValueError:  # the line was cut off, or is being written
            continue
        if isinstance(event, dict):
            yield event
