"""Games to measure with: 50 features, 8 actions, 300 decisions, as a bot of StarCraft II would leave them."""

from __future__ import annotations

import math
import time

import numpy as np

from understudy import Episode, EpisodeMeta

STATE_DIM, N_ACTIONS, STEPS = 50, 8, 300
ACTIONS = tuple(f"action {i}" for i in range(N_ACTIONS))


def random_game(rng: np.random.Generator, steps: int = STEPS) -> Episode:
    """A finished game of a policy without preferences, which is what an untrained network is; its id is its own."""
    return Episode(
        states=rng.standard_normal((steps, STATE_DIM), np.float32),
        actions=rng.integers(0, N_ACTIONS, steps),
        rewards=rng.standard_normal(steps, np.float32),
        log_probs=np.full(steps, -math.log(N_ACTIONS), np.float32),
        values=np.zeros(steps, np.float32),
        meta=EpisodeMeta(result="Victory", actions=ACTIONS, ended_at=time.time()),
    )
