"""Simulated games for the gate: champion and candidate play the same new games, and the gate counts the differences.

Each comparison uses new games; otherwise a champion that was lucky in some games would look better than every
candidate.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from understudy.ledger.jobs import Job, JobLedger
from understudy.models.gate import Gate, SimulatedPair
from understudy.models.store import ModelStore
from understudy.settings import EvaluationSettings

FIRST = 1_000_000  # number of the first of these games; evaluations of single versions use lower numbers
_LOOK_SECONDS = 0.5
_POINTS = {"W": 1.0, "T": 0.5, "L": 0.0}


@dataclass(slots=True)
class _Pair:
    """The games that two versions are playing."""

    wanted: SimulatedPair
    first: int
    results: dict[int, str] = field(default_factory=dict)
    """The results of each version that has finished."""

    @property
    def next_version(self) -> int | None:
        """The version that plays next; None when both have played."""
        both = (self.wanted.candidate, self.wanted.champion)
        return next((version for version in both if version not in self.results), None)


class GateGames:
    """Lets champion and candidate play, one job after the other."""

    def __init__(self, settings: EvaluationSettings, store: ModelStore, ledger: JobLedger, gate: Gate) -> None:
        self._settings, self._store, self._ledger, self._gate = settings, store, ledger, gate
        self._name = f"{settings.function} for the gate"
        played = [n for games in ledger.evaluations(self._name).values() for n in games]
        self._next = max(played, default=FIRST - 1) + 1
        self._pair: _Pair | None = None
        self._unplayable: set[int] = set()
        self._next_look = 0.0

    def next_job(self) -> Job | None:
        """The next few games of one of the two versions; None while there is no comparison."""
        if self._pair is None:
            if time.monotonic() < self._next_look:
                return None
            self._next_look = time.monotonic() + _LOOK_SECONDS
            wanted = self._gate.to_simulate()
            if wanted is None or {wanted.candidate, wanted.champion} & self._unplayable:
                return None
            self._pair = _Pair(wanted, self._next)
            self._next += self._settings.games_per_job
        pair, version = self._pair, self._pair.next_version
        assert version is not None
        games = self._settings.games_per_job
        argument = {"model": str(self._store.version_path(version)), "first": pair.first, "games": games}
        name = f"version {version}, {games} games for the gate"
        limits = (self._settings.time_limit, self._settings.memory_limit)
        return Job("evaluate", f"{version}:{pair.first}", name, self._settings.function, argument, *limits)

    def settle(self, version: int, first: int, results: str | None, seconds: float) -> None:
        """Record a version's results; None if it could not play. A pair that is given up does not count."""
        if results is None:
            self._unplayable.add(version)
            self._pair = None
            return
        self._ledger.record_evaluation(version, self._name, first, results, seconds)
        pair = self._pair
        if pair is None or pair.first != first:  # a job of an earlier learner
            return
        pair.results[version] = results
        if pair.next_version is None:
            ours, theirs = (pair.results[v] for v in (pair.wanted.candidate, pair.wanted.champion))
            differences = [_POINTS[a] - _POINTS[b] for a, b in zip(ours, theirs, strict=True)]
            self._gate.record_simulated(pair.wanted, first, differences)
            self._pair = None
