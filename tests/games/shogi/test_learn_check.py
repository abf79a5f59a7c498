from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.games.game import Step
from understudy.games.shogi.contest import contest
from understudy.games.shogi.league import OneByOne
from understudy.games.shogi.learn_check import GOALS, LearnCheck, Point, write_curve
from understudy.games.shogi.matches import MOST_LEGAL, ShogiMatches
from understudy.games.shogi.players import GreedyPlayer, RandomPlayer
from understudy.games.shogi.score import ContestScore
from understudy.networks.network import Floats, Integers, Network
from understudy.rundir import RunDir
from understudy.settings import NetworkSettings


class First(Network):
    """Likes the first legal move best."""

    sequential = False

    def __init__(self) -> None:
        super().__init__(ShogiMatches.state_dim, MOST_LEGAL, NetworkSettings(), ())

    def forward(self, states: Floats, starts: Integers | None = None) -> tuple[Floats, Floats]:
        return np.tile(-np.arange(MOST_LEGAL, dtype=np.float32), (len(states), 1)), np.zeros(len(states), np.float32)

    def backward(self, d_logits: Floats, d_values: Floats) -> None: ...

    def begin_episode(self) -> None: ...

    def step(self, state: Floats) -> tuple[Floats, float]:
        raise NotImplementedError


def test_a_contest_counts_every_game_once_for_the_policy() -> None:
    assert contest(First(), OneByOne(RandomPlayer), 4, 0, max_moves=10).draws == 4
    score = contest(First(), OneByOne(GreedyPlayer), 6, 0)
    assert score.games == 6
    assert score.losses >= 5


def test_moves_are_drawn_from_the_policy_and_the_same_seed_draws_the_same_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = [contest(First(), OneByOne(GreedyPlayer), 6, seed, max_moves=60) for seed in (0, 0)]
    assert scores[0] == scores[1]
    moves: list[int] = []
    step = ShogiMatches.step

    def noted(self: ShogiMatches, places: NDArray[np.int64]) -> Step:
        moves.extend(places.tolist())
        return step(self, places)

    monkeypatch.setattr(ShogiMatches, "step", noted)
    contest(First(), OneByOne(RandomPlayer), 40, 0, max_moves=20)
    share = moves.count(1) / moves.count(0)  # e^(−1 / ½) of the most probable one
    assert 0.08 < share < 0.2


@pytest.mark.slow
def test_a_check_trains_from_nothing_and_measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.games.shogi.learn_check._ON_THE_WAY", 2)
    lines: list[str] = []
    check = LearnCheck(RunDir.at(tmp_path), 0.001, 0, 0, lines.append)
    assert not check.run(2)  # nothing is learned in no time
    (point,) = check.points
    assert point.decisions == check.loop.stats.decisions > 0
    assert point.cpu_seconds > 0.12
    assert str(tmp_path) in lines[0]
    assert "against greedy" in lines[1]
    assert "2 games" in lines[2]
    assert [line.split(":")[0] for line in lines[3:]] == [f"without search against {name}" for name in GOALS]


def test_training_ends_by_processor_time_and_measuring_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [100.0]
    monkeypatch.setattr("understudy.games.shogi.learn_check.processor_seconds", lambda _: clock[0])
    monkeypatch.setattr("time.process_time", lambda: clock[0])

    def measured(*_: object) -> dict[str, ContestScore]:
        clock[0] += 1000
        return {name: ContestScore(1, 1, 0) for name in GOALS}

    monkeypatch.setattr("understudy.games.shogi.learn_check.measure", measured)
    check = LearnCheck(RunDir.at(tmp_path), 1, 0, 0, lambda _: None)
    check._begin()
    for seconds, measurements, over in ((59, 0, False), (1, 1, False), (59, 1, False), (1, 2, True)):
        clock[0] += seconds
        check._on_update(check.loop.stats, [])
        assert len(check.points) == measurements
        assert check._request.event.is_set() == over
    assert [point.cpu_seconds for point in check.points] == [60, 120]


@pytest.mark.slow
def test_the_curve_is_saved_as_numbers_and_as_a_picture(tmp_path: Path) -> None:
    points = [Point(60.0 * i, 50.0 * i, 1000 * i, 10 * i, dict.fromkeys(GOALS, 0.1 * i)) for i in range(3)]
    picture = write_curve(points, tmp_path)
    assert picture is not None
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "shogi_learning.json").read_text())[2]["won"]["greedy"] == 0.2
