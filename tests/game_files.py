"""Games for tests: small, sound, and different from one another."""

from __future__ import annotations

import dataclasses
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from understudy.experience.episode import Episode, EpisodeMeta, file_name, write_episode
from understudy.models.live import Interface, new_model
from understudy.models.state import ModelState
from understudy.settings import NetworkSettings, TrainingSettings

STATE_DIM, ACTIONS = 4, ("LEFT", "RIGHT", "STAY")


def make_episode(seed: int = 0, steps: int = 12, **meta: Any) -> Episode:
    """A game of random states and rewards; `meta` are fields of its EpisodeMeta."""
    rng = np.random.default_rng(seed)
    return Episode(
        states=rng.standard_normal((steps, STATE_DIM)).astype(np.float32),
        actions=rng.integers(0, len(ACTIONS), steps),
        rewards=rng.standard_normal(steps).astype(np.float32),
        log_probs=np.full(steps, -np.log(len(ACTIONS)), np.float32),
        meta=EpisodeMeta(**{"result": "Victory", "ended_at": time.time(), "actions": ACTIONS, **meta}),
    )


def put_game(folder: Path, seed: int = 0, age: float = 0.0, **meta: Any) -> Path:
    """Write a game into a folder as if it had ended `age` seconds ago, and return its file."""
    ended_at = time.time() - age
    episode = make_episode(seed, **{"ended_at": ended_at, **meta})
    path = folder / file_name(episode.meta)
    write_episode(path, episode, compress=False)
    os.utime(path, (ended_at, ended_at))
    return path


def make_model(seed: int = 0, **training: Any) -> ModelState:
    """An untrained model that fits the games above."""
    settings = dataclasses.replace(TrainingSettings(), **training)
    return new_model(Interface(STATE_DIM, ACTIONS), NetworkSettings(hidden=(8,)), settings, seed)
