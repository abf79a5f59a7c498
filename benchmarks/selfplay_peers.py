"""Stable-Baselines3's PPO on Drift, its matches vectorised in NumPy as ours are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import VecEnv
from torch import nn

from understudy.games.drift import N_ACTIONS, STATE_DIM, Drift

MATCHES, STEPS = 64, 128


class DriftVecEnv(VecEnv):  # type: ignore[misc, unused-ignore]
    """64 matches of Drift for Stable-Baselines3."""

    def __init__(self) -> None:
        box = gymnasium.spaces.Box(-np.inf, np.inf, (STATE_DIM,), np.float32)
        super().__init__(MATCHES, box, gymnasium.spaces.Discrete(N_ACTIONS))
        self._game = Drift(MATCHES)
        self._returns = np.zeros(MATCHES)
        self.finished: list[float] = []

    def reset(self) -> NDArray[np.float32]:
        self._game.reset(np.random.SeedSequence(1))
        return self._states()

    def step_async(self, actions: NDArray[np.int64]) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], list[dict[str, Any]]]:
        step = self._game.step(self._actions)
        self._returns += step.rewards
        infos: list[dict[str, Any]] = [{} for _ in range(MATCHES)]
        if step.cut.any():
            infos = [{"TimeLimit.truncated": True, "terminal_observation": final.copy()} for final in step.finals]
            self.finished = self._returns.tolist()
            self._returns[:] = 0
        return self._states(), step.rewards, step.cut.copy(), infos

    def _states(self) -> NDArray[np.float32]:
        out = np.empty((MATCHES, STATE_DIM), np.float32)
        self._game.observe(out)
        return out

    def close(self) -> None: ...

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        return [None] * MATCHES

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None: ...

    def env_method(self, method_name: str, *args: Any, indices: Any = None, **kwargs: Any) -> list[Any]:
        return [None] * MATCHES

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        return [False] * MATCHES


class _EachUpdate(BaseCallback):  # type: ignore[misc, unused-ignore]
    def __init__(self, env: DriftVecEnv, note: Callable[[int, Sequence[float]], bool]) -> None:
        super().__init__()
        self._env, self._note, self._goes_on = env, note, True

    def _on_rollout_start(self) -> None:
        if self.num_timesteps:
            self._goes_on = self._note(self.num_timesteps, self._env.finished)

    def _on_step(self) -> bool:
        return self._goes_on


def sb3(minibatch: int, note: Callable[[int, Sequence[float]], bool]) -> None:
    """Train until `note`, called after every update, has enough; one thread, like all contenders."""
    torch.set_num_threads(1)
    env = DriftVecEnv()
    learner = PPO(
        "MlpPolicy",
        env,
        learning_rate=1e-3,
        n_steps=STEPS,
        batch_size=minibatch,
        n_epochs=4,
        ent_coef=0.01,
        policy_kwargs={"net_arch": [128, 64], "activation_fn": nn.ReLU},
        device="cpu",
        seed=1,
    )
    learner.learn(10**9, callback=_EachUpdate(env, note))
