"""The small interface of a game: a batch of matches that are played at the same time, one decision of each a step.

One player, or two whose gains and losses are each other's. The matches of a batch share nothing but the call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingsError
from understudy.games.spec import argument_of, find_game, resolve

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
    features: tuple[str, ...] | None = None
    """These names, for the model to keep."""
    masked: bool
    """Whether `legal` says something."""
    settings: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """What a run of this game has as defaults, by section, where they differ from the general ones."""

    def model_settings(self) -> Mapping[str, Mapping[str, Any]]:
        """The sections network and training of these; a game that knows them only when it is open says them here."""
        return self.settings

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

    def begin_anew(self, which: Bools) -> Bools:
        """Begin some matches (B,) anew though they are not over; returns those that have, which may be others as well.

        A run asks for it once for each match, so that matches of equal length do not all end in the same step. A game
        that cannot do it returns no match.
        """
        return np.zeros_like(which)

    def snapshot(self) -> bytes | None:
        """All that `restore` needs to go on with these matches exactly; None from a game that cannot save them.

        It must be safe to read: `understudy.games.saved` packs arrays and plain values. Nothing is unpickled.
        """
        return None

    def restore(self, saved: bytes) -> Bools:
        """Go on with the matches of a snapshot, perhaps of another process, in place of `reset`.

        Returns which matches (B,) go on exactly where they were; the others have begun anew. Raises MatchesDamaged
        for what cannot be used; `reset` is called then.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what the matches hold outside of Python."""
        return


def open_game(name: str, matches: int) -> Game:
    """Make this many matches of a game: `tictactoe`, `gym:CartPole-v1`, `package.module:SPEC` (see `games.spec`).

    A name is all that a worker process needs to make its own.
    """
    game: Game = _factory(name)(matches, *filter(None, [argument_of(name)]))
    return game


def default_settings(name: str) -> Mapping[str, Mapping[str, Any]]:
    """The `settings` of the game of this name."""
    settings: Mapping[str, Mapping[str, Any]] = getattr(_factory(name), "settings", {})
    return settings


def _factory(name: str) -> Any:
    spec = find_game(name)
    if spec.matches is None:
        raise SettingsError(f"The game {name!r} cannot be trained by self-play: its GameSpec has no `matches`.")
    return resolve(spec.matches)
