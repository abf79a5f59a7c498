"""What earlier games say of an opponent: by its id, else by its race, else of all; recent games count most.

One small JSON file in the data folder, written atomically after every game.
"""

from __future__ import annotations

import json
import logging
import os
import random
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from understudy.files import FileLock, write_atomically

logger = logging.getLogger(__name__)

OPPONENTS = "opponents.json"  # the file's name in a run directory
DECAY = 0.98  # what a game counts, compared with the next one
BELIEF = 3.0  # a wider group's record counts like this many games of the narrower one
NOTHING_KNOWN = (0.5, 0.2)  # expected result and chance of a rush of an opponent never met
_POINTS = {"Victory": 1.0, "Tie": 0.25, "Defeat": 0.0}
_MOST_OPPONENTS = 500


@dataclass
class Record:
    """Games against one group of opponents, the weight of each decaying with every later one."""

    games: float = 0.0
    points: float = 0.0
    rushes: float = 0.0
    openings: dict[str, tuple[float, float]] = field(default_factory=dict)  # games and points with each

    def add(self, points: float, rushed: bool, opening: str) -> None:
        """Take in a game."""
        self.games = DECAY * self.games + 1.0
        self.points = DECAY * self.points + points
        self.rushes = DECAY * self.rushes + rushed
        self.openings = {name: (DECAY * n, DECAY * p) for name, (n, p) in self.openings.items()}
        if opening:
            n, p = self.openings.get(opening, (0.0, 0.0))
            self.openings[opening] = (n + 1.0, p + points)


class OpponentMemory:
    """Recency-weighted results, rush counts and openings. A file that cannot be read is said in the log and begun anew.

    Without a path it lives as long as the process.
    """

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = None if path is None else Path(path)
        self._records = self._read()

    def prior(self, opponent_id: str, race: int) -> tuple[float, float]:
        """The expected result (0 to 1) and the chance of a rush: the narrow record, filled up from the wider ones."""
        won, rushed = NOTHING_KNOWN
        for record in self._of(opponent_id, race):
            won = (record.points + BELIEF * won) / (record.games + BELIEF)
            rushed = (record.rushes + BELIEF * rushed) / (record.games + BELIEF)
        return won, rushed

    def choose_opening(
        self, opponent_id: str, race: int, openings: Mapping[str, float], chance: random.Random | None = None
    ) -> str:
        """One of the openings, given with the share of games each is expected to win: the most promising by what is
        remembered or, with `chance`, a draw by how probable it is that each is the best (Thompson sampling).
        """

        def promise(name: str) -> float:
            expected, games = openings[name], 0.0
            for record in self._of(opponent_id, race):
                games, points = record.openings.get(name, (0.0, 0.0))
                expected = (points + BELIEF * expected) / (games + BELIEF)
            if chance is None:
                return expected
            weight = games + BELIEF
            return chance.betavariate(weight * expected + 0.1, weight * (1.0 - expected) + 0.1)

        return max(openings, key=promise)

    def record(self, opponent_id: str, race: int, result: str, rushed: bool, opening: str = "") -> None:
        """Add a game and save; a disk that does not take it is said in the log, and the game goes on."""
        if result not in _POINTS:
            return
        if self._path is None:
            self._add(_keys(opponent_id, race), _POINTS[result], rushed, opening)
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self._path.with_name(f"{self._path.name}.lock")):  # games side by side write, too
                self._records = self._read() if self._path.exists() else self._records
                self._add(_keys(opponent_id, race), _POINTS[result], rushed, opening)
                self._write(self._path)
        except OSError as error:
            logger.warning("The opponent memory %s cannot be written: %s", self._path, error)

    def _add(self, keys: list[str], points: float, rushed: bool, opening: str) -> None:
        for key in keys:
            record = self._records.pop(key, Record())
            record.add(points, rushed, opening)
            self._records[key] = record  # the newest is last
        while len(self._records) > _MOST_OPPONENTS:
            del self._records[next(iter(self._records))]

    def _of(self, opponent_id: str, race: int) -> Iterator[Record]:
        """The records an opponent belongs to, the widest first."""
        return (self._records[key] for key in _keys(opponent_id, race) if key in self._records)

    def _read(self) -> dict[str, Record]:
        if self._path is None:
            return {}
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            return {str(key): _record(value) for key, value in content["opponents"].items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            logger.warning("The opponent memory %s cannot be read (%s); it is begun anew.", self._path, error)
            return {}

    def _write(self, path: Path) -> None:
        records = {key: asdict(record) for key, record in self._records.items()}
        content = json.dumps({"opponents": records}, indent=1).encode()
        write_atomically(path, lambda stream: stream.write(content))


def _keys(opponent_id: str, race: int) -> list[str]:
    """The groups an opponent belongs to, the widest first."""
    return ["all", f"race {race}", *([f"id {opponent_id}"] if opponent_id else [])]


def _record(value: Any) -> Record:
    openings = {str(name): (float(n), float(p)) for name, (n, p) in value.get("openings", {}).items()}
    return Record(float(value["games"]), float(value["points"]), float(value["rushes"]), openings)
