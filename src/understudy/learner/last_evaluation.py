"""Did training help? At the end of a session, the model that bots load and the untrained one play the same games."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable

from understudy.jobs.dispatch import Dispatcher
from understudy.jobs.queue import JobOutcome
from understudy.learner.evaluation import checked, compare
from understudy.ledger.jobs import Job, JobLedger, Kind
from understudy.models.gate import Gate
from understudy.models.gate_report import gate_report
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import Settings


class _MissingGames:
    """The evaluation games that versions have not played yet."""

    kind: Kind = "evaluate"
    looking = False
    done = 0
    set_aside = 0

    def __init__(self, jobs: list[Job], ledger: JobLedger) -> None:
        self._new, self._ledger = jobs, ledger
        self.left = len(jobs)
        self.trouble: str | None = None

    def look(self, *, idle: bool) -> list[Job]:
        """Return all jobs, once."""
        new, self._new = self._new, []
        return new

    def settle(self, outcome: JobOutcome) -> bool:
        """Record results."""
        self.left -= 1
        outcome = checked(outcome)
        version, first = map(int, outcome.job.key.split(":"))
        if outcome.result is None:
            self.trouble = outcome.failure or outcome.refusal
        else:
            results = str(outcome.result["results"])
            self._ledger.record_evaluation(version, outcome.job.function, first, results, outcome.seconds)
        return True

    def close(self) -> None:
        """Nothing to do."""


def compare_with_first(run: RunDir, settings: Settings, say: Callable[[str], None], seconds: float) -> str | None:
    """A sentence that compares the model that bots load with the run's first version, on the same games.

    Games that the learner has already evaluated are not repeated. After `seconds`, or after Ctrl-C, only the games that
    both have played count. None if the run has no evaluator or no gate.
    """
    store = ModelStore(run.model, run.ledger)
    state, report = Gate(run.ledger, store).look(), gate_report(run.ledger)
    if not settings.evaluation.function or state is None or report is None or not state.first:
        return None
    first, last = state.first, report.on_stage
    if first == last:
        return f"Version {first}, the untrained model, is still on stage."
    with JobLedger(run.ledger) as ledger:
        trouble = _play(run, settings, store, ledger, (first, last), say, seconds)
        results = ledger.evaluations(settings.evaluation.function)
    wanted = range(settings.evaluation.games)
    ours, theirs = ({n: r for n, r in results.get(version, {}).items() if n in wanted} for version in (last, first))
    both = ours.keys() & theirs.keys()
    if len(both) < 2:
        return f"Trained and untrained model were not compared: {trouble or 'there was no time for it.'}"
    ours, theirs = ({n: played[n] for n in both} for played in (ours, theirs))
    found, before = compare(last, ours, first, theirs), compare(first, theirs)
    assert found.difference is not None
    assert found.difference_low is not None
    assert found.difference_high is not None
    return (
        f"Trained against untrained on the same {len(both)} games: version {last} wins {found.win_rate:.0%}, "
        f"version {first} {before.win_rate:.0%}: {100 * found.difference:+.0f} points "
        f"(95 % interval {100 * found.difference_low:+.0f} to {100 * found.difference_high:+.0f})."
    )


def _play(
    run: RunDir,
    settings: Settings,
    store: ModelStore,
    ledger: JobLedger,
    versions: tuple[int, int],
    say: Callable[[str], None],
    seconds: float,
) -> str | None:
    """Let versions play the games that they have not played; returns what went wrong, if anything."""
    jobs = [job for version in versions for job in _missing(settings, store, ledger, version)]
    if not jobs:
        return None
    jobs.sort(key=lambda job: int(job.key.split(":")[1]))  # the same games first, in case time runs out
    cores = dataclasses.replace(settings.learner, max_workers=os.cpu_count() or 1)
    work = _MissingGames(jobs, ledger)
    total = sum(int(job.argument["games"]) for job in jobs)
    dispatcher = Dispatcher(run, dataclasses.replace(settings, learner=cores), [work], governed=False)
    say(f"Evaluation: {total} games are left to compare the trained model with the untrained one ...")
    began, told = time.monotonic(), 0
    try:
        while work.left and time.monotonic() < began + seconds:
            dispatcher.turn(0.2)
            if (done := len(jobs) - work.left) != told:
                told = done
                say(f"Evaluation: {done} of {len(jobs)} parts played")
    except KeyboardInterrupt:
        say("Evaluation: stopped")
    finally:
        dispatcher.close()
    return work.trouble


def _missing(settings: Settings, store: ModelStore, ledger: JobLedger, version: int) -> list[Job]:
    evaluation = settings.evaluation
    played = ledger.evaluations(evaluation.function).get(version, {})
    jobs = []
    for first in range(0, evaluation.games, evaluation.games_per_job):
        games = min(evaluation.games_per_job, evaluation.games - first)
        if any(number not in played for number in range(first, first + games)):
            argument = {"model": str(store.version_path(version)), "first": first, "games": games}
            limits = (evaluation.time_limit, evaluation.memory_limit)
            jobs.append(
                Job("evaluate", f"{version}:{first}", f"version {version}", evaluation.function, argument, *limits)
            )
    return jobs
