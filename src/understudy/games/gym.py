"""Any Gymnasium environment with a finite number of actions, as a game."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingsError
from understudy.games.game import Bools, Game, Singles, Step

try:
    import gymnasium
except ImportError as error:
    raise SettingsError("A Gymnasium environment needs Gymnasium: pip install 'understudy[gym]'.") from error


class GymnasiumGame(Game):
    """B environments of one id. Observations are flattened; `action_mask` in the info, if there is one, is obeyed."""

    players = 1

    def __init__(self, env_id: str, matches: int) -> None:
        super().__init__(matches)
        try:
            self._envs = [gymnasium.make(env_id) for _ in range(matches)]
        except gymnasium.error.Error as error:
            raise SettingsError(f"Gymnasium cannot make {env_id!r}: {error}") from error
        self._observation, space = self._envs[0].observation_space, self._envs[0].action_space
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise SettingsError(f"The actions of {env_id} are {space}; only Discrete ones can be learned.")
        self.name = env_id
        self.state_dim = int(gymnasium.spaces.flatdim(self._observation))
        self.actions = tuple(str(action) for action in range(int(space.n)))
        self._first_action = int(space.start)
        self._states = np.zeros((matches, self.state_dim), np.float32)
        self._finals = np.zeros_like(self._states)
        self._legal = np.ones((matches, len(self.actions)), np.bool_)
        self._sides = np.zeros(matches, np.int8)
        self.masked = "action_mask" in self._begin(0, seed=0)

    def reset(self, seed: np.random.SeedSequence) -> None:
        """See Game.reset."""
        for match, number in enumerate(seed.generate_state(self.matches)):
            self._begin(match, int(number))

    def observe(self, out: Singles) -> None:
        """See Game.observe."""
        np.copyto(out, self._states)

    def legal(self, out: Bools) -> None:
        """See Game.legal."""
        np.copyto(out, self._legal)

    def step(self, actions: NDArray[np.int64]) -> Step:
        """See Game.step."""
        rewards = np.zeros(self.matches, np.float32)
        over, cut = np.zeros(self.matches, np.bool_), np.zeros(self.matches, np.bool_)
        for match, (env, action) in enumerate(zip(self._envs, actions.tolist(), strict=True)):
            seen, reward, terminated, truncated, info = env.step(action + self._first_action)
            rewards[match] = reward
            if not (terminated or truncated):
                self._show(match, seen, info)
                continue
            over[match], cut[match] = terminated, truncated and not terminated
            if cut[match]:
                self._finals[match] = np.asarray(gymnasium.spaces.flatten(self._observation, seen), np.float32)
            self._begin(match)
        return Step(rewards, over, cut, self._finals, self._sides)

    def close(self) -> None:
        """See Game.close."""
        for env in self._envs:
            env.close()

    def _begin(self, match: int, seed: int | None = None) -> dict[str, object]:
        seen, info = self._envs[match].reset(seed=seed)
        self._show(match, seen, info)
        return dict(info)

    def _show(self, match: int, seen: object, info: dict[str, object]) -> None:
        self._states[match] = np.asarray(gymnasium.spaces.flatten(self._observation, seen), np.float32)
        if "action_mask" in info:
            self._legal[match] = info["action_mask"]
