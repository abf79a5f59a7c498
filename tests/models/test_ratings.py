"""Ratings by a joint fit, and the sequential test of a match."""

from __future__ import annotations

import random

import numpy as np
import pytest

from understudy.models.ratings import ELO, PairResults, fit, log_posterior
from understudy.models.sprt import Sprt, expected_score


def simulated(strengths: dict[str, float], games: int, seed: int, draws: float = 0.5) -> list[PairResults]:
    """A round robin in which each pair plays `games` games with either moving first."""
    rng = np.random.default_rng(seed)
    found = []
    for one, a in strengths.items():
        for other, b in strengths.items():
            if one != other:
                z = (a - b) / 2 / ELO + 0.1
                weights = np.exp([z, np.log(draws), -z])
                won, drawn, lost = rng.multinomial(games, weights / weights.sum()).tolist()
                found.append(PairResults(one, other, won, drawn, lost))
    return found


def test_the_fit_is_where_the_posterior_is_largest() -> None:
    games = simulated({"a": 0, "b": 80, "c": -150}, 30, 1)
    fitted = fit(games)
    x, places = fitted._means, dict(fitted._places)
    best = log_posterior(x, games, places)
    rng = np.random.default_rng(2)
    for _ in range(100):
        assert log_posterior(x + rng.normal(0, 0.02, len(x)), games, places) < best
    for place in range(len(x)):
        step = np.zeros(len(x))
        step[place] = 1e-4
        slope = (log_posterior(x + step, games, places) - log_posterior(x - step, games, places)) / 2e-4
        assert slope == pytest.approx(0, abs=1e-4)


def test_intervals_hold_the_true_difference_about_as_often_as_they_say() -> None:
    held = 0
    for seed in range(60):
        fitted = fit(simulated({"anchor": 0, "b": 120, "c": 60}, 15, seed), {"anchor": 0.0})
        (rating,) = [row for row in fitted.table if row.player == "b"]
        held += rating.low <= 120 <= rating.high
    assert 0.88 <= held / 60 <= 1.0


def test_anchors_stay_and_who_won_everything_has_a_finite_rating() -> None:
    fitted = fit([PairResults("weak", "strong", 0, 0, 20), PairResults("strong", "weak", 20, 0, 0)], {"weak": 1000.0})
    strong, weak = fitted.table
    assert (weak.player, weak.anchor) == ("weak", True)
    assert [weak.elo, weak.low, weak.high] == pytest.approx([1000.0] * 3)
    assert 1200 < strong.elo < 3000
    assert strong.low > 1000
    assert (strong.games, strong.score) == (40, 1.0)
    assert fitted.superiority("strong", "weak") > 0.999


def test_superiority_is_even_between_equals_and_adds_up() -> None:
    fitted = fit([PairResults("a", "b", 10, 5, 10), PairResults("b", "a", 10, 5, 10), PairResults("b", "c", 5, 0, 3)])
    assert fitted.superiority("a", "b") + fitted.superiority("b", "a") == pytest.approx(1)
    assert abs(fitted.superiority("a", "b") - 0.5) < 0.05


def test_players_who_never_met_are_compared_through_others() -> None:
    games = [
        PairResults("a", "b", 15, 0, 5),
        PairResults("b", "a", 5, 0, 15),
        PairResults("b", "c", 15, 0, 5),
        PairResults("c", "b", 5, 0, 15),
    ]
    fitted = fit(games)
    assert [row.player for row in fitted.table] == ["a", "b", "c"]
    assert fitted.superiority("a", "c") > 0.99


def test_no_games_and_the_same_player_only_as_an_anchor() -> None:
    assert fit([]).table == ()
    assert fit([], {"a": 5.0}).table[0].elo == pytest.approx(5)


def test_a_match_is_decided_both_ways_and_seldom_wrongly() -> None:
    test = Sprt(0, 50)
    chance = random.Random(1)

    def pairs(elo: float) -> str | None:
        score, played = expected_score(elo), []
        for _ in range(3000):
            played.append((float(chance.random() < score) + float(chance.random() < score)) / 2)
            if (found := test.decided(played)) is not None:
                return found
        return None

    assert [pairs(100) for _ in range(10)] == ["stronger"] * 10
    assert [pairs(-50) for _ in range(10)] == ["not stronger"] * 10
    assert sum(pairs(0) == "stronger" for _ in range(100)) <= 12
    assert test.decided([1.0] * 4) is None
