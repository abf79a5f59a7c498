"""What earlier games say of an opponent: by its id, else by its race, else of all; recent games count most.

One small JSON file in the data folder, written atomically after every game.
"""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

from understudy.files import write_atomically

logger = logging.getLogger(__name__)

DECAY = 0.9  # what a game counts, compared with the next one
BELIEF = 3.0  # a wider group's record counts like this many games of the narrower one
_POINTS = {"Victory": 1.0, "Tie": 0.25, "Defeat": 0.0}
_MOST_OPPONENTS = 500


class OpponentMemory:
    """Recency-weighted results and rush counts. A file that cannot be read is said in the log and begun anew."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = Path(path)
        self._records: dict[str, dict[str, float]] = {}
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            self._records = {str(key): _record(value) for key, value in content["opponents"].items()}
        except FileNotFoundError:
            pass
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            logger.warning("The opponent memory %s cannot be read (%s); it is begun anew.", self._path, error)

    def prior(self, opponent_id: str, race: int) -> tuple[float, float]:
        """The expected result (0 to 1) and the chance of a rush: the narrow record, filled up from the wider ones."""
        won, rushed = 0.5, 0.2
        for key in _keys(opponent_id, race):
            record = self._records.get(key)
            if record is not None:
                games = record["games"]
                won = (record["points"] + BELIEF * won) / (games + BELIEF)
                rushed = (record["rushes"] + BELIEF * rushed) / (games + BELIEF)
        return won, rushed

    def record(self, opponent_id: str, race: int, result: str, rushed: bool) -> None:
        """Add a game and save; a disk that does not take it is said in the log, and the game goes on."""
        if result not in _POINTS:
            return
        for key in _keys(opponent_id, race):
            record = self._records.pop(key, {"games": 0.0, "points": 0.0, "rushes": 0.0})
            fresh = {"games": 1.0, "points": _POINTS[result], "rushes": float(rushed)}
            self._records[key] = {name: DECAY * record[name] + fresh[name] for name in record}  # the newest is last
        while len(self._records) > _MOST_OPPONENTS:
            del self._records[next(iter(self._records))]
        content = json.dumps({"opponents": self._records}, indent=1).encode()
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._path, lambda stream: stream.write(content))
        except OSError as error:
            logger.warning("The opponent memory %s cannot be written: %s", self._path, error)


def _keys(opponent_id: str, race: int) -> list[str]:
    """The groups an opponent belongs to, the widest first."""
    return ["all", f"race {race}", *([f"id {opponent_id}"] if opponent_id else [])]


def _record(value: Any) -> dict[str, float]:
    return {name: float(value[name]) for name in ("games", "points", "rushes")}
