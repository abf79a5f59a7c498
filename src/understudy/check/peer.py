"""Stable-Baselines3's PPO on the same tasks, with its defaults and with published tuned settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import VecEnv, VecNormalize

from understudy.check.ladder import ACTIONS, DECISIONS, FEATURES, LadderTask
from understudy.check.measure import FRESH_SEED, TaskOutcome, Watch
from understudy.check.tasks import LADDER, Task, prepare

# hyperparams/ppo.yml of github.com/DLR-RM/rl-baselines3-zoo. `envs`, `normalize` and `steps` are the zoo's n_envs,
# normalize and n_timesteps; the rest are arguments of PPO. A pair ("linear", x) falls from x to 0 over the steps.
TUNED: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "CartPole-v1": {
            "envs": 8,
            "steps": 100_000,
            "n_steps": 32,
            "batch_size": 256,
            "gae_lambda": 0.8,
            "gamma": 0.98,
            "n_epochs": 20,
            "ent_coef": 0.0,
            "learning_rate": ("linear", 1e-3),
            "clip_range": ("linear", 0.2),
        },
        "Acrobot-v1": {
            "envs": 16,
            "normalize": True,
            "n_steps": 256,
            "gae_lambda": 0.94,
            "gamma": 0.99,
            "n_epochs": 4,
            "ent_coef": 0.0,
        },
        "LunarLander-v3": {  # the zoo's settings for LunarLander-v2; the newer version only corrects the wind
            "envs": 16,
            "n_steps": 1024,
            "batch_size": 64,
            "gae_lambda": 0.98,
            "gamma": 0.999,
            "n_epochs": 4,
            "ent_coef": 0.01,
        },
    }
)
# By default PPO updates every 2,048 decisions. The ladder task has 120,000 decisions, so ten games per update suit it
# better.
_DEFAULTS: Mapping[str, Mapping[str, Any]] = MappingProxyType({LADDER: {"n_steps": 10 * DECISIONS, "batch_size": 50}})

DEFAULTS_NAME, TUNED_NAME = "SB3 defaults", "SB3 tuned"


def peers_of(task: Task) -> list[str]:
    """The names of the Stable-Baselines3 settings to compare with on this task."""
    return [DEFAULTS_NAME, TUNED_NAME] if task.env in TUNED else [DEFAULTS_NAME]


def train(task: Task, learner: str, seed: int, watch: Watch) -> TaskOutcome:
    """Train until the goal is reached, or to the end if the task has marks; then evaluate."""
    torch.set_num_threads(1)
    prepare(task)
    settings = dict(TUNED[task.env] if learner == TUNED_NAME else _DEFAULTS.get(task.env, {}))
    count, steps = settings.pop("envs", 1), min(task.steps, settings.pop("steps", task.steps))
    normalize = settings.pop("normalize", False)
    settings = {name: _schedule(value) for name, value in settings.items()}
    matches = make_vec_env(_environment(task), count, seed=seed)
    if normalize:
        matches = VecNormalize(matches, gamma=settings.get("gamma", 0.99))
    model = PPO("MlpPolicy", matches, seed=seed, device="cpu", **settings)

    def greedy() -> float:
        return _greedy_return(task, model, matches, seed + FRESH_SEED)

    model.learn(steps, callback=_Follow(watch, greedy, stop_at_goal=not task.marks))
    return watch.end(greedy)


class _Follow(BaseCallback):
    """Reports finished games to the watch, and stops training when the watch says so."""

    def __init__(self, watch: Watch, greedy: Callable[[], float], *, stop_at_goal: bool) -> None:
        super().__init__()
        self._watch = watch
        self._greedy = greedy
        self._stop_at_goal = stop_at_goal

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "episode" in info:
                self._watch.game(self.num_timesteps, float(info["episode"]["r"]))
                if self._watch.due():
                    self._watch.mark(self._greedy())
        self._watch.progress(self.num_timesteps)
        done = self._stop_at_goal and self._watch.outcome.reached is not None
        return not (done or self._watch.stopped())


def _greedy_return(task: Task, model: PPO, trained_on: VecEnv, seed: int) -> float:
    """The mean return of new matches, all played at once. Each counts once, however long it is."""
    matches = make_vec_env(_environment(task), task.fresh, seed=seed)
    seen: Any = matches.reset()
    totals, playing = np.zeros(task.fresh), np.ones(task.fresh, np.bool_)
    while playing.any():
        if isinstance(trained_on, VecNormalize):
            seen = trained_on.normalize_obs(seen)
        actions, _ = model.predict(seen, deterministic=True)
        seen, rewards, ended, _ = matches.step(actions)
        totals += np.where(playing, rewards, 0)
        playing &= ~ended
    matches.close()
    return float(totals.mean())


def _schedule(value: Any) -> Any:
    if not isinstance(value, tuple):
        return value
    _, start = value
    return lambda left: left * start


def _environment(task: Task) -> Any:
    return LadderEnvironment if task.env == LADDER else task.env


class LadderEnvironment(gymnasium.Env[Any, Any]):
    """The ladder task as a Gymnasium environment."""

    def __init__(self) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (FEATURES,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(ACTIONS)
        self._task = LadderTask(0)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """See gymnasium.Env.reset."""
        if seed is not None:
            self._task = LadderTask(seed)
        return self._task.reset(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """See gymnasium.Env.step."""
        state, reward, over = self._task.step(int(action))
        return state, reward, over, False, {}
