from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from understudy.ledger.connection import Ledger, LedgerGame
from understudy.ledger.jobs import JobLedger
from understudy.rundir import RunDir
from understudy.watch.history import RunHistory, read_history
from understudy.watch.ledger_reading import open_ledger


def game(number: int, result: str = "Victory", **about: Any) -> LedgerGame:
    return LedgerGame(f"g{number}", f"g{number}.npz", result, 10, 1.0, 100, ended=1000.0 + number, **about)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "l.sqlite")


def points_of(history: RunHistory) -> int:
    return max(len(series.x) for series in history.metrics.values())


def test_the_history_of_a_learned_run_holds_what_the_learner_did(learned: RunDir) -> None:
    with open_ledger(learned.ledger) as ledger:
        history = read_history(ledger)
        losses = [version.loss for version in ledger.versions() if version.loss is not None]
    assert (history.versions, history.games) == (5, 40)
    assert history.metrics["loss"].value == losses
    assert history.metrics["loss"].x == [2, 3, 4, 5]
    wanted = {"entropy", "kl", "clip_fraction", "value_loss", "staleness", "effective_sample_size"}
    assert wanted | {"games_per_second", "samples_per_second"} <= history.metrics.keys()
    assert history.win_rate.games[-1] == 40
    assert {axis: set(rates) for axis, rates in history.by_axis.items()} == {
        "opponent_race": {"Zerg", "Terran"},
        "difficulty": {"Hard"},
    }
    assert (history.by_version.x, history.by_version.games) == ([1], [40])
    assert history.mix.shares.keys() == {"LEFT", "RIGHT", "STAY"}
    assert [sum(shares) for shares in zip(*history.mix.shares.values(), strict=True)] == pytest.approx([1.0] * 6)


@pytest.mark.slow
def test_every_point_of_a_long_history_is_the_mean_and_the_extremes_of_what_it_stands_for(ledger: Ledger) -> None:
    for version in range(1, 301):
        ledger.record_version(version, version - 1, "learner", (), {"loss": float(version), "entropy": 1.0})
    history = read_history(ledger, points=10)
    loss = history.metrics["loss"]
    assert 5 <= len(loss.x) <= 10
    assert loss.x[-1] == 300
    for before, last, mean, low, high in zip([0, *loss.x], loss.x, loss.value, loss.low, loss.high, strict=False):
        assert (low, high) == (before + 1, last)
        assert mean == pytest.approx((low + high) / 2)
    assert history.metrics["entropy"].value == [1.0] * len(loss.x)


@pytest.mark.slow
def test_a_history_is_never_longer_than_asked_for(ledger: Ledger) -> None:
    for version in range(1, 300):
        ledger.record_version(version, version - 1, "learner", [game(version, played_by=version)], {"loss": 1.0})
    for points in (3, 40, 400):
        history = read_history(ledger, points=points)
        assert points_of(history) <= points
        assert len(history.win_rate.x) <= points
        assert len(history.mix.x) <= points
        assert len(history.by_version.x) <= 40
        assert sum(history.by_version.games) == 299


def test_what_came_before_a_time_can_be_left_out(ledger: Ledger) -> None:
    for version in range(1, 101):
        ledger.record_version(version, version - 1, "learner", [game(version)], {"loss": 1.0})
    ((middle,),) = ledger.query("SELECT at FROM versions WHERE version = 65")
    recent = read_history(ledger, since=middle)
    assert 48 < recent.metrics["loss"].x[0] <= 65  # to within a block
    assert recent.metrics["loss"].x[-1] == 100
    assert read_history(ledger, since=middle + 1e6).metrics == {}


def test_a_win_rate_counts_ties_half_and_crashes_not_at_all(ledger: Ledger) -> None:
    results = ["Victory", "Victory", "Defeat", "Tie", "Crash", "Unknown"]
    ledger.record_version(1, None, "learner", [game(i, result) for i, result in enumerate(results)])
    rate = read_history(ledger).win_rate
    assert (rate.games, rate.value) == ([4], [2.5 / 4])
    assert rate.low[0] < 2.5 / 4 < rate.high[0]


def test_the_win_rate_is_over_the_last_games_not_over_all(ledger: Ledger) -> None:
    results = ["Defeat"] * 200 + ["Victory"] * 200
    games = [game(number, result, played_by=number // 100) for number, result in enumerate(results)]
    ledger.record_version(1, None, "learner", games)
    rate = read_history(ledger).win_rate
    assert rate.value[-1] == 1.0
    assert rate.value[len(rate.value) // 4] == 0.0
    by_version = read_history(ledger).by_version
    assert (by_version.x, by_version.value) == ([0, 1, 2, 3], [0.0, 0.0, 1.0, 1.0])


def test_practice_trials_and_evaluation_are_series_of_their_own(tmp_path: Path) -> None:
    own = [game(i, "Victory", played_by=1, axes={"map": "A", "a b": "C"}, actions={"LEFT": 1}) for i in range(10)]
    other = {"played_by": 1, "axes": {"purpose": "practice", "map": "B", "my <b> note": "C"}, "actions": {"RIGHT": 1}}
    practice = [game(10 + i, "Defeat", **other) for i in range(30)]
    trial = [game(40 + i, "Tie", played_by=2, axes={"purpose": "trial"}) for i in range(5)]
    with JobLedger(tmp_path / "l.sqlite") as ledger:
        ledger.record_version(1, None, "learner", own + practice + trial)
        ledger.record_evaluation(1, "package:play", 0, "WLL", 1.0)
        ledger.record_evaluation(1, "package:play", 3, "L", 1.0)
        ledger.record_evaluation(2, "package:play", 0, "WWT", 1.0)
        history = read_history(ledger)
    assert (history.win_rate.value[-1], history.win_rate.games[-1]) == (1.0, 10)
    assert (history.by_version.x, history.by_version.games) == ([1], [10])
    assert {axis: set(values) for axis, values in history.by_axis.items()} == {"map": {"A"}, "a b": {"C"}}
    assert history.mix.shares.keys() == {"LEFT"}
    assert history.others.keys() == {"practice", "trial", "evaluation"}
    practised = history.others["practice"]
    assert (practised.rate.value[-1], practised.rate.games[-1], practised.by_version.games) == (0.0, 30, [30])
    assert {axis: set(values) for axis, values in practised.by_axis.items()} == {"map": {"B"}, "my <b> note": {"C"}}
    assert history.others["trial"].rate.value[-1] == 0.5
    evaluated = history.others["evaluation"].by_version
    assert (evaluated.x, evaluated.games, evaluated.value) == ([1, 2], [4, 3], [0.25, 2.5 / 3])
    assert history.last_played == 2, "a trial is a game of the bot; practice and evaluation are not"


def test_an_empty_ledger_has_an_empty_history(ledger: Ledger) -> None:
    history = read_history(ledger)
    assert (history.versions, history.games, history.metrics) == (0, 0, {})
    assert history.win_rate.x == history.by_version.x == history.mix.x == []


def test_a_ledger_of_the_version_before_is_read_without_changing_it(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    old_ledger(path)
    before = path.read_bytes()
    with open_ledger(path) as ledger:
        history = read_history(ledger)
    assert history.metrics["entropy"].value == [0.5]
    assert history.win_rate.games == [2]
    assert path.read_bytes() == before


def test_a_ledger_of_the_version_before_is_brought_up_to_date_when_the_learner_opens_it(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    old_ledger(path)
    with Ledger(path) as ledger:
        (first, outcome, version), _ = ledger.games()
        assert (first.name, first.axes, first.ended, outcome, version) == ("a.npz", {}, 7.0, "learned", 1)
        ledger.record_version(2, 1, "learner", [game(3, axes={"opponent_race": "Zerg"})], {"loss": 1.0})
        history = read_history(ledger)
    assert history.metrics["entropy"].value == [0.5]
    assert history.win_rate.games == [3]
    with Ledger(path) as ledger:  # once is enough
        assert read_history(ledger).win_rate.games == [3]


def old_ledger(path: Path) -> None:
    """As version 2 wrote it."""
    db = sqlite3.connect(path)
    db.executescript(
        """
        CREATE TABLE versions (version INTEGER PRIMARY KEY, parent INTEGER, publisher TEXT NOT NULL, at REAL NOT NULL,
            games INTEGER NOT NULL, steps INTEGER NOT NULL, seconds REAL NOT NULL, loss REAL, stats TEXT NOT NULL);
        CREATE TABLE games (id TEXT PRIMARY KEY, name TEXT NOT NULL, outcome TEXT NOT NULL, version INTEGER,
            result TEXT NOT NULL, steps INTEGER NOT NULL, reward REAL NOT NULL, bytes INTEGER NOT NULL,
            at REAL NOT NULL, archived INTEGER NOT NULL DEFAULT 0);
        CREATE TABLE rejected (name TEXT PRIMARY KEY, reason TEXT NOT NULL, bytes INTEGER NOT NULL, at REAL NOT NULL);
        INSERT INTO versions VALUES (1, NULL, 'learner', 7, 2, 20, 0.1, 0.25, '{"entropy": 0.5, "what": null}');
        INSERT INTO games VALUES ('a', 'a.npz', 'learned', 1, 'Victory', 10, 1, 100, 7, 1);
        INSERT INTO games VALUES ('b', 'b.npz', 'learned', 1, 'Defeat', 10, 1, 100, 7, 1);
        PRAGMA user_version = 2;
        """
    )
    db.close()
