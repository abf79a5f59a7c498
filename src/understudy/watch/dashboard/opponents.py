"""The opponents of the latest games, from the ledger or from the games' files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from understudy.errors import EpisodeError, RunDirError
from understudy.experience.episode import read_episode
from understudy.experience.notes import RECORDING
from understudy.games.spec import all_axes
from understudy.ledger.history import PURPOSE
from understudy.rundir import RunDir
from understudy.settings import StorageSettings
from understudy.watch import formats
from understudy.watch.ledger_reading import open_ledger


def opponent_text(notes: Mapping[str, object], opponent: str) -> str:
    """The values of the declared result axes; otherwise those of all notes, otherwise the opponent's name."""
    declared = [str(notes[axis.note]) for axis in all_axes() if notes.get(axis.note)]
    said = {name: formats.note(value) for name, value in notes.items() if name not in (PURPOSE, RECORDING)}
    others = [text for text in said.values() if text]
    purpose = str(notes.get(PURPOSE) or "")
    return " · ".join(part for part in (" ".join(declared or others) or opponent, purpose) if part)


def latest_opponents(run: RunDir, files: Sequence[Path], known: Mapping[str, str]) -> dict[str, str]:
    """The opponent of each of these games, by file name; known ones are not read again."""
    found = {file.name: known[file.name] for file in files if file.name in known}
    wanted = [file for file in files if file.name not in found]
    if not wanted:
        return found
    found |= _from_ledger(run, [file.name for file in wanted])
    for file in wanted:
        if file.name not in found:
            found[file.name] = _from_file(file)
    return found


def _from_ledger(run: RunDir, names: Sequence[str]) -> dict[str, str]:
    if not run.ledger.exists():
        return {}
    marks = ", ".join("?" * len(names))
    try:
        with open_ledger(run.ledger) as ledger:
            rows = ledger.query(f"SELECT name, opponent, axes FROM games WHERE name IN ({marks})", tuple(names))
    except RunDirError:
        return {}
    return {name: opponent_text(json.loads(axes), opponent) for name, opponent, axes in rows}


def _from_file(file: Path) -> str:
    try:
        meta = read_episode(file, StorageSettings()).meta
    except (EpisodeError, OSError):
        return ""
    notes = {axis.note: getattr(meta, axis.note, None) for axis in all_axes()} | dict(meta.extra)
    return opponent_text({name: value for name, value in notes.items() if value}, meta.opponent_id or "")
