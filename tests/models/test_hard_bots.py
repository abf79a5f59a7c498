"""Bots whose games are hard to compare: the gate notices a worse model all the same, or says why it cannot."""

from __future__ import annotations

import dataclasses
import math
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from game_files import make_model
from understudy.agent import RLAgent
from understudy.experience.journal import orphans
from understudy.ledger.gate import GateLedger
from understudy.models.evidence import Played
from understudy.models.gate import Gate
from understudy.models.gate_assignment import Assignment
from understudy.models.gate_report import gate_report
from understudy.models.state import read_model, to_bytes
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import GateSettings

Plays = Callable[[bool, random.Random], Played]


class Run:
    """A run in guard whose newest version is worse, or a copy of the champion, and a bot that plays."""

    def __init__(self, folder: Path, settings: GateSettings | None = None) -> None:
        self.place = RunDir.at(folder)
        self.place.create()
        store = ModelStore(self.place.model, self.place.ledger)
        head = store.create(make_model())
        self.gate = Gate(self.place.ledger, store, chance=random.Random(3))
        self.gate.use(settings or GateSettings())
        store.publish(head, head, publisher="learner")
        self.chance = random.Random(5)
        self.played = 0

    def assign(self, opponent: str = "somebody") -> tuple[str, Assignment]:
        self.played += 1
        name = f"game {self.played}"
        return name, self.gate.assign(name, opponent)

    def taken_off_after(self, plays: Plays, most: int, opponent: Callable[[int], str] = lambda _: "somebody") -> float:
        """How many games the line had played when it was taken off the stage; infinity if `most` games do not do it."""
        of_line = 0
        for number in range(most):
            name, part = self.assign(opponent(number))
            of_line += part.role == "line"
            self.gate.record(name, plays(part.role == "line", self.chance))
            state = self.gate.look()
            assert state is not None
            if state.stage == "champion":
                return of_line
        return math.inf

    @property
    def blind(self) -> str | None:
        report = gate_report(self.place.ledger)
        assert report is not None
        return report.blind


def by_reward(line: bool, chance: random.Random) -> Played:
    return Played(None, chance.gauss(-2.0 if line else 2.0, 1.0))


def always_cut(line: bool, chance: random.Random) -> Played:
    return Played(0.5, chance.gauss(-2.0 if line else 2.0, 1.0), cut=True)


def rarely_with_result(line: bool, chance: random.Random) -> Played:
    """Three of four results never arrive, as of a bot that is often killed before it hears of the end."""
    won = chance.random() < (0.1 if line else 0.9)
    known = chance.random() < 0.25
    return Played(float(won) if known else None, chance.gauss(won, 0.1))


def crashes(line: bool, chance: random.Random) -> Played:
    return Played(0.0, -math.inf) if line and chance.random() < 0.7 else Played(float(chance.random() < 0.7))


@pytest.mark.parametrize("plays", [by_reward, always_cut, rarely_with_result, crashes])
def test_a_worse_line_is_found_out_whatever_its_games_tell(plays: Plays, tmp_path: Path) -> None:
    assert Run(tmp_path).taken_off_after(plays, 300) <= 150


def test_two_bots_at_once_play_most_games_with_the_champion_while_the_line_does_a_little_worse(tmp_path: Path) -> None:
    run, roles = Run(tmp_path), []
    for _ in range(100):
        games = [run.assign(), run.assign()]
        for name, part in games:
            roles.append(part.role)
            run.gate.record(name, Played(float(part.role != "line" or run.chance.random() < 0.88)))
    of_line, control = roles[60:].count("line"), roles[60:].count("control")
    assert of_line >= 15
    assert of_line <= 0.4 * (of_line + control)
    report = gate_report(run.place.ledger)
    assert report is not None
    assert report.sentence.endswith("because the line's last games went worse than its own.")


def test_opponents_that_are_never_met_twice(tmp_path: Path) -> None:
    run = Run(tmp_path)
    lost = Played(0.0), Played(1.0)
    assert run.taken_off_after(lambda line, _: lost[not line], 300, opponent=lambda number: f"rival {number}") <= 200


def test_cut_games_count_half_where_games_have_results(tmp_path: Path) -> None:
    run = Run(tmp_path)
    played = [Played(1.0), Played(0.5, -5.0, cut=True)]
    for game in played:
        run.gate.record(run.assign()[0], game)
    with GateLedger(run.place.ledger) as ledger:
        assert [row[0] for row in ledger.query("SELECT score FROM gate_games ORDER BY rowid")] == [1.0, 0.5]


def test_results_that_arrive_late_and_out_of_order_all_count_once(tmp_path: Path) -> None:
    run = Run(tmp_path)
    waiting = [run.assign() for _ in range(60)]  # many bots at once
    run.chance.shuffle(waiting)
    for name, part in waiting * 2:  # each is reported twice
        run.gate.record(name, Played(0.1 if part.role == "line" else 0.9))
    state = run.gate.look()
    assert state is not None
    assert state.stage == "champion" or (state.contest is not None and state.contest.seen == 12)


def test_two_processes_share_one_comparison(tmp_path: Path) -> None:
    run = Run(tmp_path)
    store = ModelStore(run.place.model, run.place.ledger)
    bots = [run.gate, Gate(run.place.ledger, store, chance=random.Random(9))]
    roles = []
    for number in range(50):
        part = bots[number % 2].assign(f"game {number}", "somebody")
        bots[1 - number % 2].record(f"game {number}", Played(1.0))  # either bot may report
        roles.append(part.role)
    assert roles.count("control") == 10
    state = run.gate.look()
    assert state is not None
    assert state.contest is not None
    assert state.contest.seen == 10


def test_a_clock_that_is_set_back_hides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(tmp_path, GateSettings(control_share=0.1))
    real, moved = time.time, [3.15e7]
    monkeypatch.setattr(time, "time", lambda: real() + moved[0])
    assert run.taken_off_after(lambda _, chance: Played(float(chance.random() < 0.9)), 100) == math.inf
    name, _ = run.assign()  # its bot dies
    moved[0] = 0.0
    assert run.gate.unfinished() == [name]
    assert run.taken_off_after(lambda line, chance: Played(float(chance.random() < (0.1 if line else 0.9))), 200) <= 120


def test_a_broken_game_without_a_result_does_not_stop_the_bot(tmp_path: Path) -> None:
    run = Run(tmp_path)
    for number in range(40):
        broken = number % 3 == 0
        run.gate.record(run.assign()[0], Played(None, -math.inf if broken else 1.0))


@pytest.mark.parametrize(
    ("played", "why"),
    [
        (Played(None, 0.0), "no result, and the sum of their rewards is always the same"),
        (Played(0.5, 0.0), "drawn or cut"),
        (Played(0.0, -math.inf), "counts as crashed"),
        (None, "reported its end"),
    ],
)
def test_games_that_say_nothing_are_named(played: Played | None, why: str, tmp_path: Path) -> None:
    run = Run(tmp_path)
    for _ in range(45):
        name, _ = run.assign()
        if played is not None:
            run.gate.record(name, played)
    assert run.blind is not None
    assert why in run.blind


def test_games_that_are_all_won_are_no_trouble(tmp_path: Path) -> None:
    run = Run(tmp_path)
    for _ in range(45):
        run.gate.record(run.assign()[0], Played(1.0))
    assert run.blind is None


def test_the_game_of_a_dead_bot_is_salvaged_by_the_next_bot(tmp_path: Path) -> None:
    def bot() -> RLAgent:
        return RLAgent(3, 2, run_dir=tmp_path, hidden=(4,), seed=1, online_training=True)

    place = RunDir.at(tmp_path)
    with bot() as agent:
        for number in range(3):
            agent.begin_episode(opponent_id="somebody")
            for _ in range(4):
                agent.select_action(np.ones(3))
                agent.observe_reward(1.0)
            if number < 2:
                agent.end_episode("Victory")
        assert agent._game is not None
        agent._game.journal.close()  # as when its process is killed
        agent._game = None
    assert len(list(orphans(place.live))) == 1  # no learner runs here
    with GateLedger(place.ledger) as ledger, ledger.transaction() as db:
        db.execute("UPDATE gate_games SET began = began - 3600")
    with bot() as agent:
        agent.begin_episode(opponent_id="somebody")
        agent.select_action(np.ones(3))
        agent.end_episode("Victory")
    with GateLedger(place.ledger) as ledger:
        scores = [row[0] for row in ledger.query("SELECT score FROM gate_games ORDER BY rowid")]
    assert scores == [1.0, 0.0, 1.0]
    assert len(list(place.buffer.glob("game_*_Unknown_*.npz"))) == 1


@pytest.mark.parametrize(("said", "kept"), [("won", "Victory"), (True, "Victory"), ("LOST", "Defeat"), ("draw", "Tie")])
def test_words_for_results_are_understood(said: object, kept: str, tmp_path: Path) -> None:
    with RLAgent(3, 2, run_dir=tmp_path, hidden=(4,)) as agent:
        agent.select_action(np.ones(3))
        assert agent.end_episode(said)["result"] == kept


@pytest.mark.parametrize("weight", [math.nan, math.inf, 1e38])
def test_a_bot_goes_on_playing_when_a_broken_model_is_copied_over_its_own(
    weight: float, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def bot() -> RLAgent:
        return RLAgent(3, 2, run_dir=tmp_path, hidden=(4,), seed=1)

    model = RunDir.at(tmp_path).model
    with bot() as agent:
        state = read_model(model)
        signs = np.random.default_rng(0).choice((-1, 1), state.arrays["parameters"].shape)
        broken = (weight * signs).astype(np.float32)
        model.write_bytes(to_bytes(dataclasses.replace(state, arrays={**state.arrays, "parameters": broken})))
        for playing in (agent, bot()):  # one that plays already, and one that begins
            for _ in range(3):
                decision = playing.select_action(np.ones(3), legal=(False, True))
                assert (decision.action, math.isfinite(decision.probability)) == (1, True)
            assert playing.end_episode("Victory")["saved"]
    if not math.isfinite(weight):
        assert f"{model} cannot be played: " in caplog.text
