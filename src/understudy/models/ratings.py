"""Ratings: one joint fit over all recorded games, with draws, first-move advantage, anchors and intervals.

The model is Bradley and Terry's with Davidson's draws: with z = (r_first − r_second + advantage) / 2, the probability
of a win is proportional to e^z, of a loss to e^−z, of a draw to e^drawing. All parameters are found together by
Newton's method on the log-posterior, which is concave; a weak normal prior keeps the rating of a player who won
everything finite. Updating ratings game by game would drift and give no intervals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.models.intervals import Z95

ELO = 400 / math.log(10)
_SPREAD = 3.0  # standard deviation of the prior of ratings, about 520 Elo
_SPREAD_ADVANTAGE, _SPREAD_DRAWING = 0.5, 2.0
_STEPS, _CLOSE = 100, 1e-10
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PairResults:
    """Games of two players, from the view of the one who moves first."""

    first: str
    second: str
    won: int = 0
    drawn: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Rating:
    """A player's strength in Elo, with a 95 % interval; an anchor's rating is fixed."""

    player: str
    elo: float
    low: float
    high: float
    games: int
    score: float
    """Points as a share of the games; a draw is half a point."""
    anchor: bool = False


@dataclass(frozen=True)
class Ratings:
    """The result of a fit, strongest first."""

    table: tuple[Rating, ...]
    advantage: float
    """The advantage of the first move, in Elo."""
    _places: Mapping[str, int]
    _means: _Floats
    _covariance: _Floats

    def superiority(self, one: str, other: str) -> float:
        """The probability that one player is stronger than the other."""
        i, j = self._places[one], self._places[other]
        c = self._covariance
        spread = math.sqrt(max(c[i, i] + c[j, j] - 2 * c[i, j], 0.0))
        apart = float(self._means[i] - self._means[j])
        if spread == 0:
            return 0.5 if apart == 0 else float(apart > 0)
        return 0.5 * (1 + math.erf(apart / spread / math.sqrt(2)))


def fit(results: Iterable[PairResults], anchors: Mapping[str, float] | None = None) -> Ratings:
    """Fit all games together. `anchors` are fixed ratings in Elo; without any, the mean rating is about 0."""
    games = [found for found in results if found.won + found.drawn + found.lost]
    players = sorted({name for found in games for name in (found.first, found.second)} | set(anchors or ()))
    places = {name: place for place, name in enumerate(players)}
    fixed = {places[name]: elo / ELO for name, elo in (anchors or {}).items()}
    means, covariance = _fit(games, places, fixed)
    table = _table(games, players, means, covariance, fixed)
    return Ratings(table, float(means[-2]) * ELO, places, means, covariance)


def log_posterior(x: _Floats, games: Sequence[PairResults], places: Mapping[str, int]) -> float:
    """The function that the fit maximises: x holds all ratings, then advantage and drawing."""
    total = -float(np.sum((x / _spreads(len(x))) ** 2)) / 2
    for found in games:
        z = (x[places[found.first]] - x[places[found.second]] + x[-2]) / 2
        weights = np.array([z, x[-1], -z])
        log_sum = float(np.logaddexp.reduce(weights))
        counts = np.array([found.won, found.drawn, found.lost])
        total += float(counts @ (weights - log_sum))
    return total


def _spreads(size: int) -> _Floats:
    spreads = np.full(size, _SPREAD)
    spreads[-2:] = _SPREAD_ADVANTAGE, _SPREAD_DRAWING
    return spreads


def _fit(
    games: Sequence[PairResults], places: Mapping[str, int], fixed: Mapping[int, float]
) -> tuple[_Floats, _Floats]:
    """Mean and covariance of the parameters; those of anchors have no variance."""
    size = len(places) + 2
    x = np.zeros(size)
    for place, value in fixed.items():
        x[place] = value
    free = np.array([place for place in range(size) if place not in fixed])
    first = np.array([places[found.first] for found in games], np.int64)
    second = np.array([places[found.second] for found in games], np.int64)
    counts = np.array([[found.won, found.drawn, found.lost] for found in games], np.float64).reshape(-1, 3)
    best = log_posterior(x, games, places)
    for _ in range(_STEPS):
        gradient, information = _derivatives(x, first, second, counts)
        step = np.zeros(size)
        step[free] = np.linalg.solve(information[np.ix_(free, free)], gradient[free])
        length = 1.0
        while (value := log_posterior(x + length * step, games, places)) < best and length > _CLOSE:
            length /= 2  # Newton's step may be too long if a result was nearly certain
        x, best = x + length * step, max(value, best)
        if np.abs(step).max() < _CLOSE:
            break
    _, information = _derivatives(x, first, second, counts)
    covariance = np.zeros((size, size))
    covariance[np.ix_(free, free)] = np.linalg.inv(information[np.ix_(free, free)])
    return x, covariance


def _derivatives(
    x: _Floats, first: NDArray[np.int64], second: NDArray[np.int64], counts: _Floats
) -> tuple[_Floats, _Floats]:
    """Gradient and negative Hessian of the log-posterior."""
    size, spreads = len(x), _spreads(len(x))
    z = (x[first] - x[second] + x[-2]) / 2
    weights = np.stack((z, np.full(len(z), x[-1]), -z), axis=1)
    p = np.exp(weights - np.logaddexp.reduce(weights, axis=1, keepdims=True)) if len(z) else counts
    n = counts.sum(axis=1)
    by_z = (counts[:, 0] - counts[:, 2]) - n * (p[:, 0] - p[:, 2])
    by_c = counts[:, 1] - n * p[:, 1]
    # Curvatures: covariances of (win − loss, draw) under the model.
    zz = n * (p[:, 0] + p[:, 2] - (p[:, 0] - p[:, 2]) ** 2)
    zc = -n * p[:, 1] * (p[:, 0] - p[:, 2])
    cc = n * p[:, 1] * (1 - p[:, 1])
    design = np.zeros((len(first), size))  # dz / dx
    rows = np.arange(len(first))
    design[rows, first] += 0.5
    design[rows, second] -= 0.5
    design[:, -2] = 0.5
    gradient = design.T @ by_z - x / spreads**2
    gradient[-1] += by_c.sum()
    information = design.T @ (zz[:, None] * design) + np.diag(1 / spreads**2)
    across = design.T @ zc
    information[-1] += across
    information[:, -1] += across
    information[-1, -1] += cc.sum()
    return gradient, information


def _table(
    games: Sequence[PairResults],
    players: Sequence[str],
    means: _Floats,
    covariance: _Floats,
    fixed: Mapping[int, float],
) -> tuple[Rating, ...]:
    rows = []
    for place, name in enumerate(players):
        played = points = 0.0
        for found in games:
            count = found.won + found.drawn + found.lost
            if name == found.first:
                played, points = played + count, points + found.won + found.drawn / 2
            if name == found.second:
                played, points = played + count, points + found.lost + found.drawn / 2
        elo, margin = float(means[place]) * ELO, Z95 * math.sqrt(max(covariance[place, place], 0.0)) * ELO
        share = points / played if played else 0.0
        rows.append(Rating(name, elo, elo - margin, elo + margin, int(played), share, place in fixed))
    return tuple(sorted(rows, key=lambda row: (-row.elo, row.player)))
