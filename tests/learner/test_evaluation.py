from __future__ import annotations

import dataclasses
import threading
import time

import pytest

from game_files import make_model
from understudy.jobs.queue import JobOutcome
from understudy.learner.evaluation import EvaluationJobs, compare
from understudy.learner.loop import LearnerLoop
from understudy.learner.reports import evaluation as in_words
from understudy.ledger.connection import Ledger
from understudy.ledger.jobs import Job, JobLedger
from understudy.models.store import ModelStore
from understudy.run.lock import StopRequest
from understudy.rundir import RunDir
from understudy.settings import EvaluationSettings, LearnerSettings, ResourceSettings, Settings

EVALUATOR = EvaluationSettings(function="somewhere:evaluate", games=6, games_per_job=4)


@pytest.fixture
def store(run: RunDir) -> ModelStore:
    made = ModelStore(run.model, run.ledger, keep=3)
    made.create(make_model())
    return made


def publish(store: ModelStore) -> int:
    head = store.load()
    return store.publish(dataclasses.replace(head, seed=head.seed + 1), head, publisher="learner").version


def play(jobs: EvaluationJobs, result: str) -> list[str]:
    """Let a version win or lose all its games; the names of the jobs that took."""
    names = []
    while found := jobs.look(idle=True):
        (job,) = found
        names.append(job.name)
        assert jobs.settle(JobOutcome(job, result={"results": result * int(job.argument["games"])}))
    return names


def test_versions_are_compared_on_the_games_that_both_played() -> None:
    before = dict(enumerate("LLLLLLLLLLWWWWWWWWWW"))
    better = compare(7, dict(enumerate("WWWWWWWWLLWWWWWWWWWW")), 3, before)
    assert (better.won, better.difference, better.verdict) == (18, 0.4, "better")
    assert better.difference_low == pytest.approx(0.4 - 1.96 * (0.24 * 20 / 19 / 20) ** 0.5)
    assert compare(7, before, 3, dict(enumerate("WWWWWWWWLLWWWWWWWWWW"))).verdict == "worse"
    assert compare(7, dict(enumerate("WLLLLLLLLLWWWWWWWWWT")), 3, before).verdict == "no difference shown"
    elsewhere = compare(7, {100: "W", 101: "W"}, 3, before)
    assert (elsewhere.against, elsewhere.verdict) == (None, "nothing to compare with yet")


def test_two_versions_that_won_the_same_games_are_not_told_apart_by_certainty() -> None:
    same = compare(2, dict.fromkeys(range(30), "W"), 1, dict.fromkeys(range(30), "W"))
    assert (same.difference_low, same.difference_high, same.verdict) == (-0.1, 0.1, "no difference shown")


def test_a_version_plays_its_games_in_parts_and_the_newest_one_is_next(run: RunDir, store: ModelStore) -> None:
    with JobLedger(run.ledger) as ledger:
        jobs = EvaluationJobs(EVALUATOR, store, ledger)
        assert jobs.latest is None
        (first,) = jobs.look(idle=True)
        publish(store)
        assert jobs.look(idle=False) == []  # one at a time
        jobs.settle(JobOutcome(first, result={"results": "LLLL"}))
        assert play(jobs, "L")[0] == "version 1, games 5 to 6"  # it is finished, though there is a newer one
        latest = jobs.latest
        assert latest is not None
        assert (latest.version, latest.against, latest.games, latest.verdict) == (2, 1, 6, "no difference shown")
        publish(store)
        publish(store)
        assert play(jobs, "W") == ["version 4, games 1 to 4", "version 4, games 5 to 6"]
        restarted = EvaluationJobs(EVALUATOR, store, ledger)
        again = restarted.latest
        assert (again, restarted.done) == (jobs.latest, jobs.done) == (jobs.latest, 6)
        assert again is not None
        assert (again.version, again.against, again.verdict) == (4, 2, "better")
        assert in_words(again.as_dict()).endswith("against version 2 +100 points (+50 to +100): better")


def test_a_version_that_is_no_longer_kept_is_passed_over(run: RunDir, store: ModelStore) -> None:
    with JobLedger(run.ledger) as ledger:
        jobs = EvaluationJobs(EVALUATOR, store, ledger)
        (job,) = jobs.look(idle=True)
        newest = publish(store)
        assert jobs.settle(JobOutcome(job, refusal="There is no model."))
        (job,) = jobs.look(idle=True)
        assert job.key == f"{newest}:0"


def test_evaluation_that_keeps_failing_is_given_up(run: RunDir, store: ModelStore) -> None:
    with JobLedger(run.ledger) as ledger:
        jobs = EvaluationJobs(EVALUATOR, store, ledger)
        (job,) = jobs.look(idle=True)
        failed = JobOutcome(job, failure="ModuleNotFoundError: No module named 'somewhere'")
        assert [jobs.settle(failed) for _ in range(3)] == [False, False, True]
        publish(store)
        assert jobs.look(idle=True) == []
        assert "No module named" in (jobs.trouble or "")
        assert jobs.set_aside == EvaluationJobs(EVALUATOR, store, ledger).set_aside == 1


@pytest.mark.parametrize("result", [{}, {"results": "WW"}, {"results": "WWXW"}, {"results": None}])
def test_results_that_do_not_fit_are_a_failure_of_the_evaluator(
    run: RunDir, store: ModelStore, result: dict[str, object]
) -> None:
    with JobLedger(run.ledger) as ledger:
        jobs = EvaluationJobs(EVALUATOR, store, ledger)
        (job,) = jobs.look(idle=True)
        assert [jobs.settle(JobOutcome(job, result=result)) for _ in range(3)] == [False, False, True]
        assert "a text of 4 letters, W, L or T for each game" in (jobs.trouble or "")
        assert not ledger.evaluations(EVALUATOR.function)


def test_older_ledgers_get_the_tables_and_others_can_still_open_it(run: RunDir) -> None:
    Ledger(run.ledger).close()
    with JobLedger(run.ledger) as ledger:
        ledger.save_jobs([Job("evaluate", "1:0", "v", "a:b", {"first": 0}, 1.5, 7)])
        ledger.save_jobs([Job("evaluate", "1:0", "again", "a:b")])
        assert ledger.waiting_jobs() == [Job("evaluate", "1:0", "v", "a:b", {"first": 0}, 1.5, 7)]
    with Ledger(run.ledger, read_only=True) as ledger:
        assert ledger.problems() == []


@pytest.mark.slow
def test_a_learner_evaluates_beside_its_other_work_and_says_so(run: RunDir, store: ModelStore) -> None:
    evaluator = EvaluationSettings(function="jobs.chores:win_all", games=4, games_per_job=2)
    idle_enough = ResourceSettings(cpu_threshold=100.0, memory_threshold=100.0)
    settings = Settings(learner=LearnerSettings(verbose=False), evaluation=evaluator, resources=idle_enough)
    loop, request = LearnerLoop(run, settings), StopRequest()
    loop_thread = threading.Thread(target=_stop_when_evaluated, args=(loop, request))
    loop_thread.start()
    loop.run(request)
    loop_thread.join()
    assert loop.stats.evaluation is not None
    assert (loop.stats.evaluation["version"], loop.stats.evaluation["won"]) == (1, 4)
    assert loop.stats.jobs["evaluate done"] == 2
    assert "version 1 won 100% of 4 games" in run.log.read_text(encoding="utf-8")


def _stop_when_evaluated(loop: LearnerLoop, request: StopRequest) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (loop.stats.evaluation or {}).get("games") != 4:
        time.sleep(0.02)
    request.stop()
