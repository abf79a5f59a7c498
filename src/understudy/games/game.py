"""The interface of a game: a batch of independent matches that advance together, one decision per match and step.

Games have one player, or two players with opposite rewards (zero-sum).
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingsError
from understudy.games.spec import argument_of, find_game, resolve

Singles = NDArray[np.float32]
Bools = NDArray[np.bool_]
Sides = NDArray[np.int8]


class Step(NamedTuple):
    """The result of one decision in each of B matches."""

    rewards: Singles  # (B,) for the player who decided; with two players the other one gets the negative
    over: Bools  # (B,) ended by the rules
    cut: Bools  # (B,) stopped by a limit, for example of moves: neither won nor lost
    finals: Singles  # (B, S) where cut: the last state, from the view of the player to move there
    final_sides: Sides  # (B,) where cut: the player to move there


class Game(ABC):
    """B matches. A match that ends starts again within the same step; `observe` then gives its first state."""

    name: str
    players: int
    """1, or 2 in a zero-sum game."""
    state_dim: int
    actions: tuple[str, ...]
    features_hash: str | None = None
    """Hash of the feature names; a model refuses states with another one. None: not checked."""
    features: tuple[str, ...] | None = None
    """The feature names, stored in the model."""
    masked: bool
    """Whether some actions can be illegal, so that `legal` is called."""
    settings: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Defaults of runs of this game, by section, where they differ from the general ones."""

    def model_settings(self) -> Mapping[str, Mapping[str, Any]]:
        """The network and training defaults; override this if they are known only after the game is opened."""
        return self.settings

    def __init__(self, matches: int) -> None:
        self.matches = matches

    @abstractmethod
    def reset(self, seed: np.random.SeedSequence) -> None:
        """Start all matches; the same seed and the same decisions give the same matches."""

    @abstractmethod
    def observe(self, out: Singles) -> None:
        """Write the states (B, S), each from the view of the player to move."""

    @abstractmethod
    def step(self, actions: NDArray[np.int64]) -> Step:
        """Apply one decision per match (B,); the arrays of the result are valid until the next step."""

    def legal(self, out: Bools) -> None:
        """Write which actions (B, A) are legal; only called if `masked`."""
        raise NotImplementedError

    def to_move(self) -> Sides:
        """The player to move in each match (B,), 0 or 1."""
        return np.zeros(self.matches, np.int8)

    def begin_anew(self, which: Bools) -> Bools:
        """Restart some matches (B,) before they are over; returns which were restarted, possibly more than asked for.

        A run calls it once per match at its start, so that matches of equal length do not all end in the same step. A
        game that cannot restart single matches returns all False.
        """
        return np.zeros_like(which)

    def snapshot(self) -> bytes | None:
        """What `restore` needs to continue these matches exactly; None if the game cannot save them.

        `understudy.games.saved` packs arrays and plain values safely. Pickle is not allowed.
        """
        return None

    def restore(self, saved: bytes) -> Bools:
        """Continue the matches of a snapshot, possibly of another process, instead of `reset`.

        Returns which matches (B,) continue exactly; the others were restarted. Raises MatchesDamaged if the snapshot
        cannot be used; the caller then calls `reset`.
        """
        raise NotImplementedError

    def join_league(self, share: float, versions: Path) -> bool:
        """Play this share of the matches against opponents of a league, including past versions from a folder.

        Called once, before `reset`. Returning False, the default, leaves the league to `parallel.league`.
        `parallel.standings` draws opponents by the learner's results.
        """
        return False

    def close(self) -> None:
        """Release resources such as processes and files."""
        return


def open_game(name: str, matches: int) -> Game:
    """Make this many matches of a game: `tictactoe`, `gym:CartPole-v1`, `package.module:SPEC` (see `games.spec`).

    Each worker process opens its own matches by this name.
    """
    factory, argument = _factory(name), argument_of(name)
    arguments = (matches, argument) if argument else (matches,)
    if not _takes(factory, arguments):
        if argument:
            raise SettingsError(f"The game {name.removesuffix(f':{argument}')} takes nothing after a colon.")
        raise SettingsError(f"{name} is not a game: it must be a GameSpec or a function of the number of matches.")
    game: Game = factory(*arguments)
    _check_attributes(game, matches)
    return game


def _takes(factory: Any, arguments: tuple[object, ...]) -> bool:
    try:
        inspect.signature(factory).bind(*arguments)
    except TypeError:
        return False
    except ValueError:  # a built-in function without a signature
        pass
    return True


def _check_attributes(game: Game, matches: int) -> None:
    """Raise SettingsError if a game lacks an attribute of the interface or gives it an invalid value."""
    rules: dict[str, tuple[str, Callable[[Any], object]]] = {
        "matches": (f"{matches}; call super().__init__(matches)", lambda value: value == matches),
        "name": ("a text", lambda value: isinstance(value, str)),
        "players": ("1 or 2", lambda value: value in (1, 2)),
        "state_dim": ("a whole number above 0", lambda value: isinstance(value, (int, np.integer)) and value > 0),
        "actions": ("a tuple of labels, one text for each action", _are_labels),
        "masked": ("True or False", lambda value: isinstance(value, (bool, np.bool_))),
    }
    for name, (wanted, fits) in rules.items():
        value = getattr(game, name, None)
        if not fits(value):
            found = f"is {value!r}" if hasattr(game, name) else "is missing"
            raise SettingsError(f"{type(game).__name__}.{name} {found}; it must be {wanted} (docs/add-a-game.md).")


def _are_labels(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) > 0 and all(isinstance(label, str) for label in value)


def default_settings(name: str) -> Mapping[str, Mapping[str, Any]]:
    """The `settings` of the game with this name."""
    settings: Mapping[str, Mapping[str, Any]] = getattr(_factory(name), "settings", {})
    return settings


def _factory(name: str) -> Any:
    spec = find_game(name)
    if spec.matches is None:
        raise SettingsError(f"The game {name!r} cannot be trained by self-play: its GameSpec has no `matches`.")
    return resolve(spec.matches)
