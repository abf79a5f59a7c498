"""The sentence at the end of a session: what bots load against the untrained model."""

from __future__ import annotations

import dataclasses

import pytest

from game_files import make_model
from understudy.learner.last_evaluation import compare_with_first
from understudy.ledger.jobs import JobLedger
from understudy.models.gate import Gate
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import EvaluationSettings, GateSettings, Settings

FUNCTION = "jobs.chores:win_all"
SETTINGS = Settings(evaluation=EvaluationSettings(function=FUNCTION, games=20, games_per_job=5))


def trained(run: RunDir) -> int:
    """A run with an untrained and a trained version; the version that bots load."""
    store = ModelStore(run.model, run.ledger, keep=2)
    store.create(make_model())
    Gate(run.ledger, store).use(GateSettings())
    for _ in range(4):
        head = store.load()
        store.publish(dataclasses.replace(head, seed=head.seed + 1), head, publisher="learner")
    return store.load().version


def test_it_names_both_win_rates_and_the_difference_on_the_games_that_both_played(run: RunDir) -> None:
    newest = trained(run)
    with JobLedger(run.ledger) as ledger:
        ledger.record_evaluation(1, FUNCTION, 0, "LLLLL" * 3 + "WWWWL", 1.0)
        ledger.record_evaluation(newest, FUNCTION, 0, "WWWWW" * 4, 1.0)
    sentence = compare_with_first(run, SETTINGS, print, 0.0)
    assert sentence is not None
    assert sentence.startswith(
        "Trained against untrained on the same 20 games: version 5 wins 100%, version 1 20%: +80"
    )
    assert "95 % interval" in sentence


@pytest.mark.slow
def test_games_that_are_missing_are_played_and_recorded(run: RunDir) -> None:
    newest = trained(run)
    with JobLedger(run.ledger) as ledger:
        ledger.record_evaluation(1, FUNCTION, 0, "LLLLL" * 4, 1.0)
        said: list[str] = []
        sentence = compare_with_first(run, SETTINGS, said.append, 60.0)
        assert "20 games are left" in said[0]
        assert sentence is not None
        assert "+100 points" in sentence
        assert len(ledger.evaluations(FUNCTION)[newest]) == 20


def test_without_an_evaluator_or_time_or_training_it_says_nothing_or_why(run: RunDir) -> None:
    store = ModelStore(run.model, run.ledger)
    store.create(make_model())
    assert compare_with_first(run, SETTINGS, print, 0.0) is None  # no gate yet
    Gate(run.ledger, store).use(GateSettings())
    assert "still on stage" in str(compare_with_first(run, SETTINGS, print, 0.0))
    assert compare_with_first(run, Settings(), print, 0.0) is None
    head = store.load()
    store.publish(dataclasses.replace(head, seed=9), head, publisher="learner")
    assert "were not compared" in str(compare_with_first(run, SETTINGS, print, 0.0))
