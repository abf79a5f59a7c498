"""Results of earlier games by opponent id, by race and overall; recent games count most.

One small JSON file in the data folder, written atomically after every game.
"""

from __future__ import annotations

import json
import logging
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from understudy.files.atomic import write_atomically
from understudy.files.locks import FileLock

logger = logging.getLogger(__name__)

OPPONENTS = "opponents.json"  # the file's name in a run directory
DECAY = 0.98  # weight of a game relative to the next one
BELIEF = 3.0  # prior weight: the record of a wider group counts as this many games of the narrower group
_POINTS = {"Victory": 1.0, "Tie": 0.25, "Defeat": 0.0}
_MOST_OPPONENTS = 500
_MOST_GAMES = 5000  # number of game ids that are kept
_UNKNOWN_WINS, _UNKNOWN_RUSHES = 0.5, 0.2  # win rate and rush probability for an unknown opponent


class OpponentForecast(NamedTuple):
    """Expectations about an opponent: the win rate by the first strategy of a game, in the order of the strategies, and
    the probability of a rush.
    """

    won: tuple[float, ...] = ()
    rushes: float = _UNKNOWN_RUSHES


def nothing_known(strategies: Sequence[str]) -> OpponentForecast:
    """The forecast before any game."""
    return OpponentForecast((_UNKNOWN_WINS,) * len(strategies))


Tallies = dict[str, tuple[float, float]]  # games and points with each choice


@dataclass
class OpponentRecord:
    """Results against one group of opponents; the weight of a game decays with every later one."""

    games: float = 0.0
    rushes: float = 0.0
    openings: Tallies = field(default_factory=dict)
    starts: Tallies = field(default_factory=dict)

    def add(self, points: float, rushed: bool, opening: str, start: str) -> None:
        """Add a game."""
        self.games = DECAY * self.games + 1.0
        self.rushes = DECAY * self.rushes + rushed
        for tallies, choice in ((self.openings, opening), (self.starts, start)):
            if choice:
                games, earlier = tallies.get(choice, (0.0, 0.0))
                tallies[choice] = (DECAY * games + 1.0, DECAY * earlier + points)


class OpponentMemory:
    """Recency-weighted results of openings and first strategies, and rush counts.

    A record of the opponent is combined with that of its race, and that with the record of all
    games. A file that cannot be read is logged and replaced. Without a path, nothing is saved.
    """

    def __init__(self, path: str | os.PathLike[str] | None, strategies: Sequence[str] = ()) -> None:
        self.strategies = tuple(strategies)
        self._path = None if path is None else Path(path)
        self._games: list[str] = []  # ids of games that are already in the records
        self._records = self._read()

    def expect(self, opponent_id: str, race: int) -> OpponentForecast:
        """The forecast for an opponent: its own record, with the wider groups as prior."""
        records = list(self._of(opponent_id, race))
        rushed = _UNKNOWN_RUSHES
        for record in records:
            rushed = (record.rushes + BELIEF * rushed) / (record.games + BELIEF)
        won = [_estimate([record.starts for record in records], name, _UNKNOWN_WINS)[0] for name in self.strategies]
        return OpponentForecast(tuple(won), rushed)

    def choose_opening(
        self, opponent_id: str, race: int, openings: Mapping[str, float], chance: random.Random | None = None
    ) -> str:
        """Choose one of the openings, given with their prior win rates: the one with the best expected result or, with
        `chance`, a draw by Thompson sampling.
        """
        return _choose([record.openings for record in self._of(opponent_id, race)], openings, chance)

    def draw_start(self, opponent_id: str, race: int, chance: random.Random) -> int:
        """The index of a first strategy to try, drawn by Thompson sampling."""
        unknown = dict.fromkeys(self.strategies, _UNKNOWN_WINS)
        records = [record.starts for record in self._of(opponent_id, race)]
        return self.strategies.index(_choose(records, unknown, chance))

    def record(
        self,
        opponent_id: str,
        race: int,
        result: str,
        rushed: bool,
        opening: str = "",
        start: str = "",
        *,
        game: str = "",
    ) -> None:
        """Add a game and save. A disk error is logged, and the game continues.

        A game with an id (`game`) is added once, however often it is recorded.
        """
        if result not in _POINTS or (game and game in self._games):
            return
        if self._path is None:
            self._games += [game] * bool(game)
            self._add(_keys(opponent_id, race), _POINTS[result], rushed, opening, start)
            return
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with FileLock(self._path.with_name(f"{self._path.name}.lock")):  # other processes also write
                self._records = self._read() if self._path.exists() else self._records
                if game in self._games:
                    return
                self._games += [game] * bool(game)
                self._add(_keys(opponent_id, race), _POINTS[result], rushed, opening, start)
                self._write(self._path)
        except OSError as error:
            logger.warning("The opponent memory %s cannot be written: %s", self._path, error)

    def _add(self, keys: list[str], points: float, rushed: bool, opening: str, start: str) -> None:
        for key in keys:
            record = self._records.pop(key, OpponentRecord())
            record.add(points, rushed, opening, start)
            self._records[key] = record  # the newest is last
        while len(self._records) > _MOST_OPPONENTS:
            del self._records[next(iter(self._records))]

    def _of(self, opponent_id: str, race: int) -> Iterator[OpponentRecord]:
        """The records that apply to an opponent, the widest first."""
        return (self._records[key] for key in _keys(opponent_id, race) if key in self._records)

    def _read(self) -> dict[str, OpponentRecord]:
        if self._path is None:
            return {}
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            records = {str(key): _record(value) for key, value in content["opponents"].items()}
            self._games = [str(game) for game in content.get("games", [])]
            return records
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            logger.warning("The opponent memory %s cannot be read (%s); it is replaced.", self._path, error)
            return {}

    def _write(self, path: Path) -> None:
        records = {key: asdict(record) for key, record in self._records.items()}
        known = {"games": self._games[-_MOST_GAMES:]} if self._games else {}
        content = json.dumps({"opponents": records, **known}, indent=1).encode()
        write_atomically(path, lambda stream: stream.write(content))


def _estimate(groups: list[Tallies], choice: str, unknown: float) -> tuple[float, float]:
    """The expected win rate of a choice, and the number of games behind it; `groups` come widest first."""
    expected, games = unknown, 0.0
    for tallies in groups:
        games, points = tallies.get(choice, (0.0, 0.0))
        expected = (points + BELIEF * expected) / (games + BELIEF)
    return expected, games + BELIEF


def _choose(groups: list[Tallies], unknown: Mapping[str, float], chance: random.Random | None) -> str:
    """The choice with the best expected result or, with `chance`, a draw by Thompson sampling."""

    def promise(choice: str) -> float:
        expected, games = _estimate(groups, choice, unknown[choice])
        if chance is None:
            return expected
        return chance.betavariate(games * expected + 0.1, games * (1.0 - expected) + 0.1)

    return max(unknown, key=promise)


def _keys(opponent_id: str, race: int) -> list[str]:
    """The groups an opponent belongs to, the widest first."""
    return ["all", f"race {race}", *([f"id {opponent_id}"] if opponent_id else [])]


def _record(value: Any) -> OpponentRecord:
    openings, starts = (
        {str(name): (float(n), float(p)) for name, (n, p) in value.get(kind, {}).items()}
        for kind in ("openings", "starts")
    )
    return OpponentRecord(float(value["games"]), float(value["rushes"]), openings, starts)
