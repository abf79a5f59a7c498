"""A bot's notes about a game, converted to values that the game's file can hold.

Bots pass what they have: enums of their library, NumPy scalars, paths. An odd note must never lose a game.
"""

from __future__ import annotations

import enum
import json
import logging
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from understudy.experience.episode import META_FIELDS

logger = logging.getLogger(__name__)

NAMED_NOTES = ("game", "map", "opponent_id", "opponent_race")
"""The notes that are fields of a game's meta."""
RECORDING = "recording"
"""The note that names the recording of a game: a file in `games/` of the run, which a page of the dashboard plays."""

_QUALIFIED = re.compile(r"[A-Za-z_]\w*\.([A-Za-z_]\w*)")  # how Python prints a member of an enum: Result.Victory
_MOST_NOTES = 40
_NOTE_CHARACTERS = 20_000  # with _MOST_NOTES, less than a reader accepts as meta
_DEPTH = 8


_RESULTS = {
    **dict.fromkeys(("victory", "win", "won", "w", "true"), "Victory"),
    **dict.fromkeys(("defeat", "loss", "lose", "lost", "l", "false"), "Defeat"),
    **dict.fromkeys(("tie", "tied", "draw", "drawn", "d"), "Tie"),
}
"""How bots spell the three results. The gate and the pages use only the spellings on the right."""


def result_text(result: object) -> str:
    """The result as a word: an enum's name, "Unknown" for None.

    Whatever clearly means one of the three results becomes "Victory", "Defeat" or "Tie": "won", True, Result.Victory.
    """
    if result is None:
        return "Unknown"
    text, plain = note_text(result).strip(), plain_value(result)
    if isinstance(plain, int | float) and not isinstance(plain, bool):
        logger.warning("A number (%s) counts as neither won nor lost. Say Victory, Defeat or Tie.", text)
    match = _QUALIFIED.fullmatch(text)
    word = match[1] if match else text or "Unknown"
    return _RESULTS.get(word.lower(), word)


def note_text(value: object) -> str:
    """A note as text."""
    plain = plain_value(value)
    return plain if isinstance(plain, str) else "" if plain is None else str(plain)


def plain_value(value: object, depth: int = 0) -> Any:
    """The value as JSON can hold it: enums by name, NumPy values as Python's, anything else as text."""
    if isinstance(value, np.generic | np.ndarray) and value.size <= _NOTE_CHARACTERS:
        value = value.tolist()
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    if value is None or isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if depth < _DEPTH and isinstance(value, Mapping):
        return {note_text(key): plain_value(item, depth + 1) for key, item in value.items()}
    if depth < _DEPTH and isinstance(value, list | tuple | set | frozenset):
        return [plain_value(item, depth + 1) for item in value]
    return _as_text(value)


def meta_notes(about: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of EpisodeMeta from a bot's notes. Notes that are not fields are added to `before` in `extra`.

    A note with the name of a field that bots may not set (`seed`, `id` …) is kept as `note_seed`.
    """
    named = {name: note_text(about[name]) for name in NAMED_NOTES if name in about}
    extra = dict(before)
    for name, value in about.items():
        if name not in named:
            extra[f"note_{name}" if name in META_FIELDS else name] = _bounded(plain_value(value))
    return named | {"extra": _first(extra.items())}


def _first(notes: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    kept = list(notes)
    if len(kept) > _MOST_NOTES:
        left_out = ", ".join(name for name, _ in kept[_MOST_NOTES:])
        logger.warning("A game keeps %d notes; these are left out: %.200s.", _MOST_NOTES, left_out)
    return dict(kept[:_MOST_NOTES])


def _bounded(plain: Any) -> Any:
    text = json.dumps(plain)
    return plain if len(text) <= _NOTE_CHARACTERS else text[: _NOTE_CHARACTERS // 2]


def _as_text(value: object) -> str:
    try:
        return str(value)[:_NOTE_CHARACTERS]
    except Exception as error:  # noqa: BLE001 - converting a foreign object; the game matters more
        return f"<{type(value).__name__} without a text: {type(error).__name__}>"
