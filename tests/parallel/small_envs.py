"""Small Gymnasium environments; importing this module registers them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray


class Dots(gymnasium.Env[Any, np.int64]):
    """A dot somewhere in one of two channels: 1 for naming the channel. A game is ten images."""

    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, channels_first: bool = False, side: int = 6, **_: object) -> None:
        self._shape = (2, side, side) if channels_first else (side, side, 2)
        self._first = channels_first
        self.observation_space = gymnasium.spaces.Box(0, 1, self._shape, np.uint8)

    def reset(self, *, seed: int | None = None, options: object = None) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        super().reset(seed=seed)
        self._age = 0
        return self._look(), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        right = float(action == self._channel)
        self._age += 1
        return self._look(), right, self._age == 10, False, {}

    def _look(self) -> NDArray[np.uint8]:
        row, column, self._channel = (int(n) for n in self.np_random.integers([6, 6, 2]))
        image = np.zeros(self._shape, np.uint8)
        image[(self._channel, row, column) if self._first else (row, column, self._channel)] = 1
        return image


class Offset(gymnasium.Env[Any, np.int64]):
    """Actions 5, 6 and 7, one of which is illegal: at first the second, then the first. It pays its number."""

    def __init__(self, **_: object) -> None:
        super().__init__()

    action_space = gymnasium.spaces.Discrete(3, start=5)
    observation_space = gymnasium.spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: object = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self._age = 0
        return 0, {"action_mask": np.array([1, 0, 1], np.int8)}

    def step(self, action: np.int64) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self._age += 1
        return 1, float(action), self._age == 5, False, {"action_mask": np.array([0, 1, 1], np.int8)}


gymnasium.register("Dots-v0", entry_point=Dots)
gymnasium.register("DotsFirst-v0", entry_point=Dots, kwargs={"channels_first": True})
gymnasium.register("LargeDots-v0", entry_point=Dots, kwargs={"side": 120})
gymnasium.register("Offset-v0", entry_point=Offset)
