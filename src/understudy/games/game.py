"""The small interface of a game: a batch of matches that are played at the same time, one decision of each a step.

One player, or two whose gains and losses are each other's. The matches of a batch share nothing but the call.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingsError

Singles = NDArray[np.float32]
Bools = NDArray[np.bool_]
Sides = NDArray[np.int8]


class Step(NamedTuple):
    """What one decision in each of B matches led to."""

    rewards: Singles  # (B,) for the player who decided; in a game of two the other one gets the negative
    over: Bools  # (B,) ended by the rules: nothing follows
    cut: Bools  # (B,) stopped though it could have gone on, as by a limit of moves: neither won nor lost
    finals: Singles  # (B, S) where cut, the position it stopped at, seen by the player to move there
    final_sides: Sides  # (B,) where cut, who that is


class Game(ABC):
    """B matches. A match that ends begins anew within the same step; `observe` then shows its first position."""

    name: str
    players: int
    """1, or 2 in a zero-sum game."""
    state_dim: int
    actions: tuple[str, ...]
    features_hash: str | None = None
    """Of the names of the features, where a model must know that they are the same."""
    masked: bool
    """Whether `legal` says something."""

    def __init__(self, matches: int) -> None:
        self.matches = matches

    @abstractmethod
    def reset(self, seed: np.random.SeedSequence) -> None:
        """Begin all matches anew; the same seed and the same decisions give the same matches."""

    @abstractmethod
    def observe(self, out: Singles) -> None:
        """Write the positions (B, S), each as the player to move sees it."""

    @abstractmethod
    def step(self, actions: NDArray[np.int64]) -> Step:
        """Decide once in every match; the arrays are valid until the next step."""

    def legal(self, out: Bools) -> None:
        """Write which actions (B, A) are legal; not called unless `masked`."""
        raise NotImplementedError

    def to_move(self) -> Sides:
        """(B,) whose turn it is, 0 or 1."""
        return np.zeros(self.matches, np.int8)

    def close(self) -> None:
        """Let go of what the matches hold outside of Python."""
        return


def open_game(name: str, matches: int) -> Game:
    """Make the game of this name: `drift`, `shogi`, `tictactoe`, `gym:ID` of Gymnasium, or `package.module:factory`.

    `shogi:FOLDER` also plays against the versions of a model in that folder. A factory is called with the number of
    matches. A name is all that a worker process needs to make its own.
    """
    if name in _GAMES:
        return _factory(*_GAMES[name])(matches)
    kind, _, rest = name.partition(":")
    if kind == "gym":
        return _factory("understudy.games.gym", "GymnasiumGame")(rest, matches)
    if kind == "shogi":
        return _factory("understudy.games.shogi.league", "open_shogi")(matches, rest)
    if not rest:
        raise SettingsError(
            f"There is no game {name!r}; there is {', '.join(sorted(_GAMES))}, gym:ID and package.module:factory."
        )
    return _factory(kind, rest)(matches)


def suggested_settings(name: str) -> Mapping[str, Mapping[str, Any]]:
    """What differs from the defaults, by section, for a new model of this game, unless somebody says otherwise."""
    return _SUGGESTED.get(name, {})


_SUGGESTED: dict[str, dict[str, dict[str, Any]]] = {
    "shogi": {
        "network": {"policy": "resnet", "blocks": 2, "channels": 32},
        "training": {
            "learning_rate": 3e-3,
            "gae_lambda": 0.75,
            "epochs": 1,
            "minibatch": 512,
            "normalize_states": False,
            "exploration": 0.0,
        },
        # Learning takes far longer than playing: both in turn, with all cores each, on the newest weights.
        "parallel": {"games_per_worker": 64, "batch_size": 2048, "max_staleness": 0, "learner_threads": 0},
    }
}

# Where games live; each is imported when it is played, so that none needs another one's libraries.
_GAMES = {
    "drift": ("understudy.games.drift", "Drift"),
    "shogi": ("understudy.games.shogi.league", "open_shogi"),
    "tictactoe": ("understudy.games.tictactoe", "TicTacToe"),
}


def _factory(module: str, name: str) -> Callable[..., Game]:
    try:
        factory: Callable[..., Game] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise SettingsError(f"The game {module}:{name} cannot be loaded: {error}.") from error
    return factory
