"""Blocks against many opponents: comparisons are complete soon, and the shares of the games are kept."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from game_files import make_model
from understudy.ledger.gate import GateLedger
from understudy.models.evidence import Played
from understudy.models.gate import Gate
from understudy.models.gate_blocks import STRANGERS
from understudy.models.store import ModelStore
from understudy.settings import GateSettings

CHANCE = random.Random(1)


def ladder(count: int) -> Callable[[int], str]:
    return lambda _: f"opponent {CHANCE.randrange(count)}"


class Ladder:
    """A guarded run whose line wins with a fixed probability, against given opponents."""

    def __init__(self, folder: Path, opponents: Callable[[int], str]) -> None:
        self.path = folder / "understudy.sqlite"
        store = ModelStore(folder / "models" / "rl_agent_model.npz", self.path)
        store.create(make_model())
        self.gate = Gate(self.path, store, chance=random.Random(2))
        self.gate.use(GateSettings())
        head = store.load()
        store.publish(dataclasses.replace(head, seed=9), head, publisher="learner")
        self.opponents, self.played, self.games = opponents, Counter[str](), 0

    def play(self, games: int, line: float, champion: float, until: str = "") -> int:
        """How many games the line played, until a decision."""
        before = self.played["line"]
        for _ in range(games):
            self.games += 1
            part = self.gate.assign(f"game-{self.games}", self.opponents(self.games))
            self.played[part.role] += 1
            wins = line if part.role in ("line", "challenger") else champion
            self.gate.record(f"game-{self.games}", Played(float(CHANCE.random() < wins)))
            if until and until in self.events:
                break
        return self.played["line"] - before

    @property
    def events(self) -> list[str]:
        with GateLedger(self.path) as ledger:
            return [event.what for event in ledger.events()]

    def complete(self) -> list[str]:
        """The opponents of the complete blocks."""
        with GateLedger(self.path) as ledger:
            return [row[0] for row in ledger.query("SELECT opponent FROM gate_blocks WHERE difference IS NOT NULL")]


@pytest.mark.slow
@pytest.mark.parametrize("opponents", [ladder(60), lambda number: f"somebody {number}"], ids=["60", "always new"])
def test_against_many_opponents_a_line_that_broke_is_taken_off_after_few_games(
    tmp_path: Path, opponents: Callable[[int], str]
) -> None:
    run = Ladder(tmp_path, opponents)
    run.play(90, 0.8, 0.8)
    assert set(run.events) <= {"began", "promoted"}
    assert run.play(300, 0.0, 0.8, until="demoted") <= 60
    assert "demoted" in run.events


@pytest.mark.slow
def test_blocks_are_by_opponent_and_the_control_keeps_its_share(tmp_path: Path) -> None:
    run = Ladder(tmp_path, ladder(60))
    run.play(200, 1.0, 1.0)
    assert 0.1 < run.played["control"] / 200 < 0.3
    complete = run.complete()
    assert len(complete) > 12
    assert sum(opponent != STRANGERS for opponent in complete) >= len(complete) / 3


def test_few_opponents_get_blocks_of_the_whole_size_at_once(tmp_path: Path) -> None:
    run = Ladder(tmp_path, lambda number: f"opponent {number % 3}")
    run.play(15, 1.0, 1.0)
    assert Counter(run.complete()) == {"opponent 0": 1, "opponent 1": 1, "opponent 2": 1}
    assert run.played == {"line": 12, "control": 3}
