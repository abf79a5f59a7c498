"""The ladder task: few decisions, many features, and a reward only at the end of the game.

A game has 20 decisions with 50 features and 6 actions each. The opponent is of one of 6 types, all equally likely. Each
type has one right action, the same at every decision of the game. All features are Gaussian noise; from the sixth
decision on, feature k is one higher if the opponent is of type k. The game is won with probability

    0.05 + 0.9 × share of right decisions

and pays 1 if it is won, else 0. A random player wins 20 % of its games. With every decision right, 95 % would be won.
The first five decisions are blind, though, so the best policy wins `BEST` = 75.5 %: one in six blind decisions is
right, and with this noise 99.0 % of the others are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.acting.sampling import draw_all, probabilities

Singles = NDArray[np.float32]
Integers = NDArray[np.int64]

DECISIONS, FEATURES, ACTIONS = 20, 50, 6
VISIBLE_FROM = 5
NOISE = 0.25
LEAST, SPAN = 0.05, 0.9
RANDOM = LEAST + SPAN / ACTIONS
SEEN_RIGHT = 0.9898  # how often the largest of the six features is the type's (tests/check/test_ladder.py counts it)
BEST = LEAST + SPAN * (VISIBLE_FROM / ACTIONS + (DECISIONS - VISIBLE_FROM) * SEEN_RIGHT) / DECISIONS


class Games(NamedTuple):
    """G games. They do not depend on the decisions made in them."""

    states: Singles  # (G, 20, 50)
    right: Integers  # (G,) the action that is right throughout the game


def draw_games(rng: np.random.Generator, count: int) -> Games:
    """Games against opponents of random types."""
    types = rng.integers(0, ACTIONS, count)
    states = NOISE * rng.standard_normal((count, DECISIONS, FEATURES), dtype=np.float32)
    states[np.arange(count), VISIBLE_FROM:, types] += 1
    return Games(states, types)


def win_probability(games: Games, actions: Integers) -> NDArray[np.float64]:
    """(G,) the probability that each game is won with these actions (G, 20)."""
    share: NDArray[np.float64] = (actions == games.right[:, None]).mean(axis=1)
    return LEAST + SPAN * share


class LadderTask:
    """Plays one game after the other, one decision at a time."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._game = draw_games(self._rng, 1)
        self._actions: list[int] = []

    def reset(self) -> Singles:
        """Start a new game and return its first state."""
        self._game = draw_games(self._rng, 1)
        self._actions = []
        return self._state(0)

    def step(self, action: int) -> tuple[Singles, float, bool]:
        """Decide once. Returns the next state, the reward, and whether the game is over. The last state is returned
        twice."""
        self._actions.append(int(action))
        if len(self._actions) < DECISIONS:
            return self._state(len(self._actions)), 0.0, False
        chance = win_probability(self._game, np.array([self._actions]))[0]
        return self._state(DECISIONS - 1), float(self._rng.random() < chance), True

    def _state(self, decision: int) -> Singles:
        state: Singles = self._game.states[0, decision]
        return state


def linear_reinforce(seed: int, games: int, step_size: float = 0.003) -> NDArray[np.float64]:
    """The weights of a linear policy after REINFORCE with one game per update. A learner should do no worse."""
    rng = np.random.default_rng(seed)
    weights, baseline = np.zeros((FEATURES + 1, ACTIONS)), RANDOM
    for _ in range(games):
        game = draw_games(rng, 1)
        inputs = np.column_stack([game.states[0], np.ones(DECISIONS)])
        logits = inputs @ weights
        actions, _ = draw_all(logits, None, 0.0, rng)
        won = float(rng.random() < win_probability(game, actions[None])[0])
        weights += (
            step_size * (won - baseline) * inputs.T @ (np.eye(ACTIONS)[actions] - probabilities(logits, None, 0.0))
        )
        baseline += 0.01 * (won - baseline)
    return weights


def linear_win_rate(weights: NDArray[np.float64], seed: int = 99, count: int = 2000) -> float:
    """The share of new games that a linear policy wins when it always takes its most probable action."""
    games = draw_games(np.random.default_rng(seed), count)
    return float(win_probability(games, (games.states @ weights[:-1] + weights[-1]).argmax(axis=-1)).mean())
