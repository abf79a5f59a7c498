"""One match at a time for the live loop: a Gymnasium environment or the ladder task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.check.ladder import ACTIONS, FEATURES, LadderTask
from understudy.check.tasks import LADDER, Task, prepare

Singles = NDArray[np.float32]


class Moved(NamedTuple):
    """The outcome of a decision: the next state, the reward, and whether the match ended."""

    state: Singles
    reward: float
    over: bool
    cut: bool


class World(Protocol):
    """A game that is played one match after the other."""

    state_dim: int
    actions: int
    legal: NDArray[np.bool_] | None
    """Which actions are legal now; None if all are."""

    def reset(self) -> Singles:
        """Start a match and return its first state."""

    def step(self, action: int) -> Moved:
        """Decide once."""


class LadderWorld:
    """The ladder task."""

    state_dim, actions = FEATURES, ACTIONS
    legal: NDArray[np.bool_] | None = None

    def __init__(self, seed: int) -> None:
        self._task = LadderTask(seed)

    def reset(self) -> Singles:
        """See World.reset."""
        return self._task.reset()

    def step(self, action: int) -> Moved:
        """See World.step."""
        return Moved(*self._task.step(action), cut=False)


class GymWorld:
    """A Gymnasium environment, its observations flattened; `action_mask` in the info is obeyed, as in self-play."""

    def __init__(self, env_id: str, seed: int) -> None:
        import gymnasium  # noqa: PLC0415 - needed only here

        self._env = gymnasium.make(env_id)
        self._space = self._env.observation_space
        self._flatten = gymnasium.spaces.flatten
        self.state_dim = int(gymnasium.spaces.flatdim(self._space))
        self.actions = int(gymnasium.spaces.flatdim(self._env.action_space))
        self._first_action = int(getattr(self._env.action_space, "start", 0))
        self._seed: int | None = seed
        self.legal: NDArray[np.bool_] | None = None

    def reset(self) -> Singles:
        """See World.reset."""
        seen, info = self._env.reset(seed=self._seed)
        self._seed = None
        return self._state(seen, info)

    def step(self, action: int) -> Moved:
        """See World.step."""
        seen, reward, terminated, truncated, info = self._env.step(action + self._first_action)
        return Moved(self._state(seen, info), float(reward), terminated, truncated and not terminated)

    def _state(self, seen: Any, info: Mapping[str, Any]) -> Singles:
        if "action_mask" in info:
            self.legal = np.asarray(info["action_mask"], np.bool_)
        return np.asarray(self._flatten(self._space, seen), np.float32)


def open_world(task: Task, seed: int) -> World:
    """The world of a task; the same seed gives the same matches."""
    if task.env == LADDER:
        return LadderWorld(seed)
    prepare(task)
    return GymWorld(task.env, seed)
