"""Simulated games for the gate: who plays them, that each counts once, and what they decide."""

from __future__ import annotations

import dataclasses
import random

import pytest

from game_files import make_model
from understudy.jobs.queue import JobOutcome
from understudy.learner import gate_games
from understudy.learner.evaluation import EvaluationJobs
from understudy.learner.gate_games import FIRST, GateGames
from understudy.ledger.connection import LedgerGame
from understudy.ledger.gate import GateLedger
from understudy.ledger.jobs import JobLedger
from understudy.models.evidence import Played
from understudy.models.gate import Gate
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import EvaluationSettings, GateSettings

EVALUATOR = EvaluationSettings(function="somewhere:evaluate", games=6, games_per_job=4)
GUARD, STRICT = GateSettings(mode="guard"), GateSettings(mode="strict", candidate_games=1)


class Beside:
    """A learner's evaluation beside a gate; each version wins simulated games with a fixed probability."""

    def __init__(self, run: RunDir, ledger: JobLedger, settings: GateSettings) -> None:
        self.run, self.ledger = run, ledger
        self.store = ModelStore(run.model, run.ledger, keep=5)
        self.store.create(make_model())
        self.gate = Gate(run.ledger, self.store, chance=random.Random(1))
        self.gate.use(settings)
        self.chance = random.Random(2)
        self.jobs = self.start()

    def start(self) -> EvaluationJobs:
        return EvaluationJobs(
            EVALUATOR, self.store, self.ledger, GateGames(EVALUATOR, self.store, self.ledger, self.gate)
        )

    def publish(self) -> int:
        head = self.store.load()
        arrays = {**head.arrays, "parameters": head.arrays["parameters"] + 1}
        game = LedgerGame(f"learned-{head.version}", "x.npz", "Victory", 10, 1.0, 100)
        changed = dataclasses.replace(head, arrays=arrays)
        return self.store.publish(changed, head, publisher="learner", consumed=[game]).version

    def play(self, rates: dict[int, float], jobs: int) -> list[int]:
        """The versions that played for the gate, in their order."""
        played = []
        for _ in range(jobs):
            for job in self.jobs.look(idle=True):
                version, first = map(int, job.key.split(":"))
                played += [version] * (first >= FIRST)
                games = int(job.argument["games"])
                results = "".join("W" if self.chance.random() < rates[version] else "L" for _ in range(games))
                assert self.jobs.settle(JobOutcome(job, result={"results": results}))
        return played

    @property
    def events(self) -> list[str]:
        with GateLedger(self.run.ledger) as ledger:
            return [event.what for event in ledger.events()]


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_games, "_LOOK_SECONDS", 0.0)


def test_the_line_and_the_champion_play_the_same_games_and_a_better_line_becomes_champion(run: RunDir) -> None:
    with JobLedger(run.ledger) as ledger:
        beside = Beside(run, ledger, GUARD)
        assert beside.play({1: 0.3}, 10) == []  # there is nothing to compare
        version = beside.publish()
        played = beside.play({1: 0.3, version: 0.9}, 100)
        assert played[:4] == [version, 1, version, 1]
        assert "promoted" in beside.events
        state = beside.gate.look()
        assert state is not None
        assert state.champion == version
        numbers = ledger.query("SELECT number FROM gate_simulated ORDER BY number")
        assert [row[0] for row in numbers] == list(range(FIRST, FIRST + len(numbers)))  # each game once


def test_a_line_that_loses_simulated_games_is_taken_off_without_a_live_game(run: RunDir) -> None:
    with JobLedger(run.ledger) as ledger:
        beside = Beside(run, ledger, GUARD)
        version = beside.publish()
        beside.play({1: 0.9, version: 0.1, version + 1: 0.9}, 40)
        assert beside.events == ["began", "demoted"]
        assert beside.store.load().parent == 1


def test_strict_promotes_a_challenger_that_wins_simulated_games(run: RunDir) -> None:
    with JobLedger(run.ledger) as ledger:
        beside = Beside(run, ledger, STRICT)
        version = beside.publish()
        beside.gate.appoint()
        beside.play({1: 0.2, version: 0.9}, 60)
        assert beside.events == ["began", "promoted"]


def test_simulated_games_do_not_promote_what_loses_live(run: RunDir) -> None:
    with JobLedger(run.ledger) as ledger:
        beside = Beside(run, ledger, GUARD)
        version = beside.publish()
        for number in range(10):
            part = beside.gate.assign(f"game-{number}", "somebody")
            beside.gate.record(f"game-{number}", Played(float(part.role == "control")))
        beside.play({1: 0.1, version: 0.9}, 60)
        assert beside.events == ["began"]


def test_a_restart_uses_new_games_and_counts_none_twice(run: RunDir) -> None:
    with JobLedger(run.ledger) as ledger:
        beside = Beside(run, ledger, GUARD)
        version = beside.publish()
        beside.play({1: 0.5, version: 0.5}, 2)  # one job for the gate is done, its other half is not
        beside.jobs = beside.start()
        beside.play({1: 0.5, version: 0.5}, 20)
        state = beside.gate.look()
        assert state is not None
        assert state.contest is not None
        counted = ledger.query("SELECT count(*), count(DISTINCT number), min(number) FROM gate_simulated")[0]
        assert counted[0] == counted[1] == state.contest.simulated.seen > 0
        assert counted[2] > FIRST
