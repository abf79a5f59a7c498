"""The gate: who plays, what results change, and that files, ledger and decisions agree whatever is killed when."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from game_files import make_model
from understudy.errors import ModelMissing, RunDirError
from understudy.ledger.connection import LedgerGame
from understudy.ledger.gate import GateLedger
from understudy.models.evidence import Played
from understudy.models.gate import Gate
from understudy.models.gate_assignment import Assignment
from understudy.models.gate_state import GateState, state_from
from understudy.models.state import ModelState, read_model
from understudy.models.store import ModelStore
from understudy.settings import GateSettings

GUARD, STRICT = GateSettings(mode="guard"), GateSettings(mode="strict", candidate_games=1)


class Run:
    """A run whose games are simulated: each version wins with a fixed probability."""

    def __init__(self, folder: Path, settings: GateSettings, *, keep: int = 5) -> None:
        self.ledger = folder / "understudy.sqlite"
        self.store = ModelStore(folder / "models" / "rl_agent_model.npz", self.ledger, keep=keep)
        self.store.create(make_model())
        self.chance = random.Random(1)
        self.gate = Gate(self.ledger, self.store, chance=random.Random(2))
        self.gate.use(settings)
        self.games = 0
        self.played: Counter[str] = Counter()

    def publish(self) -> int:
        """The next version of the line, as a learner publishes it."""
        head = self.store.load()
        parameters = head.arrays["parameters"].copy()
        parameters[0] += 1
        trained = dataclasses.replace(head, arrays={**head.arrays, "parameters": parameters})
        game = LedgerGame(f"learned-{head.version}", "x.npz", "Victory", 10, 1.0, 100)
        return self.store.publish(trained, head, publisher="learner", consumed=[game]).version

    def play(self, wins: Callable[[Assignment], float], opponent: str = "somebody") -> Assignment:
        self.games += 1
        game = f"game-{self.games}"
        part = self.gate.assign(game, opponent, appoint=True)
        self.played[part.role] += 1
        self.gate.record(game, Played(float(self.chance.random() < wins(part))))
        return part

    def play_until(
        self, wins: Callable[[Assignment], float], done: Callable[[GateState], bool], most: int = 3000
    ) -> int:
        for number in range(1, most + 1):
            self.play(wins)
            if done(self.state):
                return number
        raise AssertionError(f"nothing was decided in {most} games: {self.state}")

    @property
    def state(self) -> GateState:
        found = self.gate.look()
        assert found is not None
        return found

    @property
    def events(self) -> list[str]:
        with GateLedger(self.ledger) as ledger:
            return [event.what for event in ledger.events(1000)]

    @property
    def on_stage(self) -> ModelState:
        return read_model(self.store.model)


def same_weights(one: ModelState, other: ModelState) -> bool:
    return bool(np.array_equal(one.arrays["parameters"], other.arrays["parameters"]))


def worse_line(part: Assignment) -> float:
    return 0.9 if part.role in ("champion", "control") else 0.1


def better_line(part: Assignment) -> float:
    return 0.3 if part.role in ("champion", "control") else 0.9


def test_without_a_model_there_is_no_gate_yet(tmp_path: Path) -> None:
    store = ModelStore(tmp_path / "models" / "rl_agent_model.npz", tmp_path / "understudy.sqlite")
    gate = Gate(tmp_path / "understudy.sqlite", store)
    assert gate.use(GUARD) is None
    assert gate.assign("a", "", appoint=True) == Assignment("line")
    gate.record("a", Played(1.0))


def test_off_always_plays_the_newest(tmp_path: Path) -> None:
    run = Run(tmp_path, GateSettings(mode="off"))
    for _ in range(10):
        run.publish()
        assert run.play(worse_line) == Assignment("line")
    assert run.on_stage.version == 11


def test_guard_plays_the_line_with_the_champion_as_control_in_the_share_that_was_asked_for(tmp_path: Path) -> None:
    run = Run(tmp_path, dataclasses.replace(GUARD, control_share=0.2))
    assert run.play(lambda _: 1.0) == Assignment("line")  # nothing was learned yet: both are the same
    run.publish()
    for _ in range(50):
        run.play(lambda _: 1.0)
    assert run.played == {"line": 41, "control": 10}


def test_guard_takes_a_worse_line_off_and_begins_again_from_the_champion(tmp_path: Path) -> None:
    run = Run(tmp_path, GUARD)
    champion = run.store.load()
    for _ in range(30):  # more than are kept
        run.publish()
    bad = run.store.load()
    games = run.play_until(worse_line, lambda state: state.stage == "champion")
    assert games <= 75
    assert run.state.champion == 1
    assert "demoted" in run.events
    assert same_weights(run.on_stage, champion)
    assert same_weights(run.store.load(), champion)
    assert run.store.load().version == bad.version + 1
    with GateLedger(run.ledger) as ledger:
        (event,) = [event for event in ledger.events() if event.what == "demoted"]
    assert "version 31" in event.sentence
    assert "evidence" in event.sentence
    # What is learned from here on is not played before it has shown itself.
    version = run.publish()
    assert same_weights(run.on_stage, champion)
    assert run.store.load().version == version


def test_guard_lets_a_line_return_that_is_as_good_again(tmp_path: Path) -> None:
    run = Run(tmp_path, GUARD)
    run.publish()
    run.play_until(worse_line, lambda state: state.stage == "champion")
    for _ in range(GUARD.candidate_games):
        run.publish()
    run.played.clear()
    run.play_until(lambda _: 0.9, lambda state: state.stage == "line")
    assert run.played["challenger"] < run.played["champion"]
    assert "returned" in run.events
    assert not run.store.separate
    assert run.on_stage.version == run.store.load().version == 22 + 1


def test_guard_refuses_a_line_that_is_bad_again_and_it_plays_few_games(tmp_path: Path) -> None:
    run = Run(tmp_path, dataclasses.replace(GUARD, candidate_games=2))
    run.publish()
    run.play_until(worse_line, lambda state: state.stage == "champion")
    run.played.clear()
    for number in range(1000):
        if number % 25 == 0:
            for _ in range(2):
                run.publish()
        run.play(worse_line)
    assert run.events.count("refused") >= 3
    assert run.state.stage == "champion"
    assert run.played["challenger"] <= 0.06 * 1000


def test_guard_makes_a_line_champion_that_is_better(tmp_path: Path) -> None:
    run = Run(tmp_path, GUARD)
    version = run.publish()
    games = run.play_until(better_line, lambda state: state.champion != 1)
    assert games <= 200
    assert run.state.champion == version
    assert run.state.stage == "line"
    assert run.on_stage.version == version


def test_strict_promotes_only_what_is_better(tmp_path: Path) -> None:
    run = Run(tmp_path, STRICT)
    version = run.publish()
    run.publish()
    assert run.on_stage.version == 1
    run.play(better_line)
    assert run.state.challenger == 3
    run.play_until(better_line, lambda state: state.champion != 1)
    assert run.state.champion == 3 != version
    assert run.on_stage.version == 3
    assert 0.15 < run.played["challenger"] / run.games < 0.35


def test_strict_never_shows_a_worse_line_to_bots(tmp_path: Path) -> None:
    run = Run(tmp_path, STRICT)
    champion = run.on_stage
    for number in range(400):
        if number % 10 == 0:
            run.publish()
        run.play(worse_line)
        assert same_weights(run.on_stage, champion)
    assert run.state.champion == 1
    assert run.events.count("refused") >= 5


def test_a_champion_and_those_before_it_are_never_pruned(tmp_path: Path) -> None:
    run = Run(tmp_path, STRICT, keep=3)
    for _ in range(2):
        run.publish()
        before = run.state.champion
        run.play_until(better_line, lambda state, before=before: state.champion != before)  # type: ignore[misc]
        for _ in range(10):
            run.publish()
    state = run.state
    kept = run.store.kept_versions()
    assert {1, *state.former, state.champion} <= set(kept)
    assert len(kept) <= 3 + 4  # the newest, and what is pinned
    run.gate.pin(kept[-1], "a test")
    for _ in range(10):
        run.publish()
    assert kept[-1] in run.store.kept_versions()


def test_a_result_counts_once(tmp_path: Path) -> None:
    run = Run(tmp_path, dataclasses.replace(GUARD, control_share=0.5))
    run.publish()
    for game in ("a", "b"):
        run.gate.assign(game, "somebody", appoint=True)
    for _ in range(5):
        run.gate.record("a", Played(1.0))
    contest = run.state.contest
    assert contest is not None
    assert contest.seen == 0  # the block is not complete
    for _ in range(5):
        run.gate.record("b", Played(0.0))
        run.gate.record("a", Played(0.0))
    contest = run.state.contest
    assert contest is not None
    assert contest.seen == 1
    assert abs(contest.total) == 1


def test_blocks_are_of_one_opponent(tmp_path: Path) -> None:
    run = Run(tmp_path, dataclasses.replace(GUARD, control_share=0.5))
    run.publish()
    for opponent in ("x", "y", "z"):
        run.play(lambda _: 1.0, opponent)
    contest = run.state.contest
    assert contest is not None
    assert contest.seen == 0
    run.play(lambda _: 1.0, "y")
    contest = run.state.contest
    assert contest is not None
    assert contest.seen == 1


def test_a_late_result_of_an_earlier_contest_changes_nothing(tmp_path: Path) -> None:
    run = Run(tmp_path, dataclasses.replace(GUARD, control_share=0.5))
    run.publish()
    run.gate.assign("late", "x", appoint=True)
    run.gate.promote(2, "a test")
    run.publish()
    run.gate.assign("other", "x", appoint=True)
    before = run.state
    run.gate.record("late", Played(1.0))
    assert run.state == before


def test_by_hand(tmp_path: Path) -> None:
    run = Run(tmp_path, STRICT)
    run.publish()
    run.publish()
    assert run.gate.promote(2, "a test").champion == 2
    assert run.on_stage.version == 2
    champion = run.on_stage
    run.gate.demote("a test")
    assert same_weights(run.store.load(), champion)
    assert run.store.load().version == 4
    assert run.events[-2:] == ["promoted", "demoted"]
    with pytest.raises(ModelMissing):
        run.gate.promote(77, "a test")


def test_by_hand_needs_a_gate(tmp_path: Path) -> None:
    run = Run(tmp_path, GateSettings(mode="off"))
    with pytest.raises(RunDirError, match="off"):
        run.gate.demote("a test")


def test_leaving_strict_puts_the_newest_on_stage(tmp_path: Path) -> None:
    run = Run(tmp_path, STRICT)
    run.publish()
    assert run.on_stage.version == 1
    run.gate.use(GateSettings(mode="off"))
    assert run.on_stage.version == 2
    assert not run.store.separate
    assert run.publish() == 3
    assert run.on_stage.version == 3
    run.gate.use(STRICT)
    assert run.state.champion == 3


class Killed(Exception):
    """The process ended here."""


@pytest.mark.parametrize("step", range(8))
def test_a_kill_between_decision_and_files_is_made_good_by_the_next_one(
    tmp_path: Path, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path, GUARD)
    run.publish()
    champion = run.store.load_version(1)
    left = step

    def counted(name: str) -> None:
        real = getattr(ModelStore, name)

        def call(*arguments: object, **options: object) -> object:
            nonlocal left
            if left == 0:
                raise Killed
            left -= 1
            return real(*arguments, **options)

        monkeypatch.setattr(ModelStore, name, call)

    for name in ("restart", "put_on_stage", "_put"):
        counted(name)
    try:
        run.gate.demote("a test")
    except Killed:
        assert step < 3
    monkeypatch.undo()
    again = Gate(run.ledger, run.store)
    again.assign("next", "somebody", appoint=True)
    state = run.state
    assert (state.agreed, state.restart, state.stage) == (True, None, "champion")
    assert same_weights(run.on_stage, champion)
    assert same_weights(run.store.load(), champion)
    assert run.store.load().version == state.line_from == 3  # once
    assert run.events.count("demoted") == 1


def test_the_state_survives_json(tmp_path: Path) -> None:
    run = Run(tmp_path, STRICT)
    run.publish()
    run.play(better_line)
    state = run.state
    assert state.contest is not None
    assert state_from(state.as_json()) == state


@pytest.mark.parametrize("settings", [GUARD, STRICT], ids=["guard", "strict"])
def test_a_change_of_the_world_is_not_blamed_on_the_line(tmp_path: Path, settings: GateSettings) -> None:
    """Both lose from some game on: that is no evidence against either."""
    run = Run(tmp_path, settings)
    run.publish()
    for _ in range(100):
        run.play(lambda _: 0.9)
    for _ in range(200):
        run.play(lambda _: 0.1)
    assert "demoted" not in run.events
    assert "refused" not in run.events


def test_strict_follows_a_change_of_the_world(tmp_path: Path) -> None:
    run = Run(tmp_path, STRICT)
    for _ in range(100):
        run.publish()
        run.play(lambda _: 0.9)
    before = run.state.champion
    games = run.play_until(
        lambda part: 0.6 if part.role == "challenger" else 0.1, lambda state: state.champion != before
    )
    assert run.events[-1] == "promoted", games
