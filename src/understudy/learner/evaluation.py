"""Is the new model really better? Published versions play the same games, and the results are compared.

When a version has been evaluated, the newest version is next. It plays a fixed set of games, a few at a time, so that
no job is long. Since every version plays the same games, versions are compared game by game.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from understudy.errors import GameFailed
from understudy.games.spec import evaluation_results
from understudy.jobs.queue import JobOutcome
from understudy.learner.gate_games import FIRST, GateGames
from understudy.ledger.jobs import MOST_ATTEMPTS, Job, JobLedger, Kind
from understudy.models.intervals import Z95, wilson
from understudy.models.model_files import Signature
from understudy.models.store import ModelStore
from understudy.settings import EvaluationSettings


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a version did, and whether it is better than the version evaluated before it; intervals are 95 %."""

    version: int
    games: int
    won: int
    win_rate: float
    low: float
    high: float
    against: int | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    verdict: str = "nothing to compare with yet"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for statistics."""
        return asdict(self)


class EvaluationJobs:
    """Evaluates the versions of a run with a function of the game: `evaluator(model, first, games)`."""

    kind: Kind = "evaluate"
    looking = False

    def __init__(
        self, settings: EvaluationSettings, store: ModelStore, ledger: JobLedger, gate: GateGames | None = None
    ) -> None:
        """With `gate`, every second job compares the gate's candidate with the champion."""
        self._gate = gate
        self._gates_turn = False
        self._settings = settings
        self._store = store
        self._ledger = ledger
        self._results = ledger.evaluations(settings.function)
        self._under_way: set[str] = {job.key for job in ledger.waiting_jobs() if job.kind == self.kind}
        self._gone: set[int] = set()  # versions whose file was pruned too early
        self._given_up = False
        self._nothing_at: Signature | None = None  # the model for which there was nothing to evaluate
        self.done = ledger.evaluations_done()
        self.set_aside = ledger.set_aside(self.kind)
        self.trouble: str | None = None

    @property
    def latest(self) -> Evaluation | None:
        """The newest version that played all its games, compared with the one before it; else the first, so far."""
        versions = sorted(self._results)
        whole = [version for version in versions if self.is_whole(version)] or versions[-1:]
        if not whole:
            return None
        before = self._results[whole[-2]] if len(whole) > 1 else None
        return compare(whole[-1], self._results[whole[-1]], whole[-2] if len(whole) > 1 else None, before)

    def look(self, *, idle: bool) -> list[Job]:
        """The next few games of the version that is being evaluated; one job at a time."""
        if self._under_way or self._given_up:
            return []
        if (job := self._gates_job()) is not None:
            self._under_way.add(job.key)
            return [job]
        signature = self._store.signature()
        if signature == self._nothing_at:
            return []
        version = self._candidate()
        if version is None:
            self._nothing_at = signature
            return []
        first = len(self._results.get(version, {}))
        games = min(self._settings.games_per_job, self._settings.games - first)
        argument = {"model": str(self._store.version_path(version)), "first": first, "games": games}
        key = f"{version}:{first}"
        self._under_way.add(key)
        limits = (self._settings.time_limit, self._settings.memory_limit)
        name = f"version {version}, games {first + 1} to {first + games}"
        return [Job(self.kind, key, name, self._settings.function, argument, *limits)]

    def _gates_job(self) -> Job | None:
        """The gate's games: every second turn, and whenever there is nothing else to play."""
        if self._gate is None:
            return None
        self._gates_turn = not self._gates_turn or self._store.signature() == self._nothing_at
        return self._gate.next_job() if self._gates_turn else None

    def settle(self, outcome: JobOutcome) -> bool:
        """Record results; False if the job should be tried again."""
        outcome, job = checked(outcome), outcome.job
        version, first = map(int, job.key.split(":"))
        if first >= FIRST and (outcome.result is not None or outcome.refusal is not None):
            if self._gate is not None:
                results = None if outcome.result is None else str(outcome.result["results"])
                self._gate.settle(version, first, results, outcome.seconds)
                self.done += outcome.result is not None
        elif outcome.result is not None:
            results = str(outcome.result["results"])
            self._ledger.record_evaluation(version, job.function, first, results, outcome.seconds)
            self.done += 1
            if job.function == self._settings.function:
                self._results.setdefault(version, {}).update(enumerate(results, first))
        elif outcome.refusal is not None:  # its file is no longer kept or no longer readable
            self._gone.add(version)
        else:
            reason = outcome.failure or "It failed."
            if self._ledger.record_failure(job.kind, job.key, reason) < MOST_ATTEMPTS:
                return False
            self.set_aside += 1
            self._given_up = True  # the next version would fail the same way
            self.trouble = f"Evaluation was given up: {job.name} failed {MOST_ATTEMPTS} times. {reason}"
        self._under_way.discard(job.key)
        return True

    def close(self) -> None:
        """Nothing to do."""

    def _candidate(self) -> int | None:
        """The version that is being evaluated; otherwise the newest one, unless it is already evaluated."""
        kept = set(self._store.kept_versions()) - self._gone
        begun = [version for version in self._results if version in kept and not self.is_whole(version)]
        newest = max(kept, default=None)
        return begun[0] if begun else None if newest is None or newest in self._results else newest

    def is_whole(self, version: int) -> bool:
        """Whether a version has played all its games."""
        return len(self._results[version]) >= self._settings.games


def checked(outcome: JobOutcome) -> JobOutcome:
    """The outcome of an evaluation job; invalid results count as a failure of the evaluator."""
    if outcome.result is not None:
        try:
            evaluation_results(outcome.result, int(outcome.job.argument["games"]))
        except GameFailed as error:
            return replace(outcome, result=None, failure=str(error))
    return outcome


def compare(
    version: int, results: Mapping[int, str], against: int | None = None, before: Mapping[int, str] | None = None
) -> Evaluation:
    """The win rate of a version, and the difference to another one on the games that both have played."""
    won, games = sum(result == "W" for result in results.values()), len(results)
    low, high = wilson(won, games)
    alone = Evaluation(version, games, won, won / games, low, high)
    both = sorted(results.keys() & before.keys()) if before else []
    if against is None or before is None or len(both) < 2:  # an interval needs two games
        return alone
    gains = [(results[number] == "W") - (before[number] == "W") for number in both]
    mean = sum(gains) / len(gains)
    variance = sum((gain - mean) ** 2 for gain in gains) / (len(gains) - 1)
    # If no game differed, the 95 % bound is three differing games (rule of three).
    margin = max(Z95 * math.sqrt(variance / len(gains)), 3 / len(gains))
    verdict = "better" if mean > margin else "worse" if mean < -margin else "no difference shown"
    interval = max(mean - margin, -1.0), min(mean + margin, 1.0)
    return Evaluation(version, games, won, won / games, low, high, against, mean, *interval, verdict)
