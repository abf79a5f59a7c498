"""The learner's next opponent in a league, by its results so far: prioritised fictitious self-play (PFSP).

An opponent that the learner beats about half of the time teaches most, so it is drawn with a weight of p(1 − p), where
p is the learner's points per game against it. Opponents are names: past versions, players that the game provides,
external programs. A game with its own league uses it like this:

    standings = Standings()
    name = standings.draw([*("greedy", "random"), *map(str, versions_in(folder))], rng)
    standings.count(name, 0.5)              # the learner drew a game against it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MEMORY = 100.0
"""Games after which a result's weight falls to a third: the learner changes, so old results say little."""
_PRIOR_GAMES = 2.0  # games at even points, as a prior for opponents with few games
_LEAST_WEIGHT = 0.02  # every opponent keeps this weight at least


class Standings:
    """The learner's points against each opponent."""

    def __init__(self, saved: Mapping[str, Any] | None = None) -> None:
        """`saved` is what `snapshot` returned."""
        self._points = {str(name): (float(won), float(played)) for name, (won, played) in (saved or {}).items()}

    def count(self, opponent: str, points: float) -> None:
        """Count one game against an opponent: 1 point for a win of the learner, 0.5 for a draw, 0 for a loss."""
        won, played = self._points.get(opponent, (0.0, 0.0))
        kept = 1.0 - 1.0 / MEMORY
        self._points[opponent] = kept * won + points, kept * played + 1.0

    def keep_only(self, opponents: Sequence[str]) -> None:
        """Remove all other opponents, which can no longer be met."""
        self._points = {name: self._points[name] for name in opponents if name in self._points}

    def expected(self, opponent: str) -> float:
        """The learner's expected points per game against an opponent, from its recent games; 0.5 for a new opponent."""
        won, played = self._points.get(opponent, (0.0, 0.0))
        return (won + _PRIOR_GAMES / 2) / (played + _PRIOR_GAMES)

    def chances(self, opponents: Sequence[str]) -> NDArray[np.float64]:
        """The probability with which each of these opponents is drawn."""
        p = np.array([self.expected(name) for name in opponents])
        weights = np.maximum(p * (1 - p), _LEAST_WEIGHT)
        chances: NDArray[np.float64] = weights / weights.sum()
        return chances

    def draw(self, opponents: Sequence[str], rng: np.random.Generator) -> str:
        """Draw one of these opponents."""
        return opponents[int(rng.choice(len(opponents), p=self.chances(opponents)))]

    def snapshot(self) -> dict[str, Any]:
        """Plain values that continue these standings exactly."""
        return {name: list(points) for name, points in self._points.items()}


def versions_in(folder: Path) -> list[int]:
    """The versions of a run that are kept in its folder, including past champions; oldest first."""
    return sorted(int(path.stem) for path in folder.glob("*.npz") if path.stem.isdecimal())
