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
from understudy.games.shogi.players import ContestScore, GreedyPlayer, RandomPlayer
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
    check._next = 0.0
    scores = check.run(2)
    assert {name: score.games for name, score in scores.items()} == {"random": 2, "greedy": 2}
    assert check.points[0].decisions == check.loop.stats.decisions > 0
    assert str(tmp_path) in lines[0]
    assert "against greedy" in lines[1]
    assert "2 games" in lines[-1]
    rate = check.loop.model.trainer.adam.learning_rate
    assert rate < check.loop.model.trainer.settings.learning_rate


def test_training_ends_early_only_when_it_has_been_good_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = LearnCheck(RunDir.at(tmp_path), 1, 0, 0, lambda _: None)
    check._began = -1e9  # every update is measured
    shares = {"random": [20, 20, 20, 20, 20, 20], "greedy": [20, 20, 16, 18, 20, 17]}
    for number in range(6):
        assert not check._request.event.is_set()
        monkeypatch.setattr(
            "understudy.games.shogi.learn_check.measure",
            lambda *_, n=number: {name: ContestScore(wins[n], 20 - wins[n], 0) for name, wins in shares.items()},
        )
        check._next = 0.0
        check._on_update(check.loop.stats, [])
    assert check._request.event.is_set()


@pytest.mark.slow
def test_the_curve_is_saved_as_numbers_and_as_a_picture(tmp_path: Path) -> None:
    points = [Point(60.0 * i, 50.0 * i, 1000 * i, 10 * i, dict.fromkeys(GOALS, 0.1 * i)) for i in range(3)]
    picture = write_curve(points, tmp_path)
    assert picture is not None
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "shogi_learning.json").read_text())[2]["won"]["greedy"] == 0.2
