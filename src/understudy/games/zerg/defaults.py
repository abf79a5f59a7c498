"""The agent that decides for the Zerg bot, and the settings it learns with."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Literal

from understudy.agent import RLAgent
from understudy.games.zerg import state
from understudy.games.zerg.rewards import GAMMA
from understudy.games.zerg.strategies import NAMES as STRATEGIES
from understudy.rundir import DEFAULT_RUN_DIR
from understudy.settings import LearnerSettings, NetworkSettings, Settings, TrainingSettings, load_settings

# Single results are noisy, so batches are large.
_LEARNER: dict[str, Any] = {"batch_games": 64, "min_batch_games": 16, "batch_growth": 25, "poll_seconds": 0.5}
# Tuned on the direct environment, where a game has about a hundred decisions.
SETTINGS = Settings(
    training=TrainingSettings(
        gamma=GAMMA,
        learning_rate=2e-3,
        learning_rate_half_life=2000,
        entropy_coefficient=0.003,
        probability_floor=0.02,
        target_kl=0.03,
        commitment=0.75,
        commitment_half_life=2000,
        commitment_stretch=40,
        trial_weight=1.0,  # a trial repeats one action, so importance weights would nearly cancel it
    ),
    learner=LearnerSettings(**_LEARNER),
)
# Players pause while more games than this (1.5 batches) wait for the learner.
BACKLOG = 3 * SETTINGS.learner.batch_games // 2


def zerg_settings(
    policy: Literal["mlp", "transformer"] = "mlp",
    algorithm: Literal["ppo", "reinforce"] = "ppo",
    base: Settings = SETTINGS,
) -> Settings:
    """Settings of a run with this network and algorithm."""
    network: NetworkSettings = dataclasses.replace(base.network, policy=policy)
    training: TrainingSettings = dataclasses.replace(base.training, algorithm=algorithm)
    return dataclasses.replace(base, network=network, training=training)


def with_what_was_given(base: Settings) -> Settings:
    """These settings, with learner and thresholds from understudy.toml and variables such as NUM_INSTANCES."""
    given = load_settings(defaults={"learner": _LEARNER})
    return dataclasses.replace(base, learner=given.learner, resources=given.resources)


def evaluated(base: Settings = SETTINGS) -> Settings:
    """Settings of a run whose learner also evaluates versions of the model, on games of the proving ground."""
    function = "understudy.games.zerg.direct.evaluation:evaluate_as_played"
    return dataclasses.replace(base, evaluation=dataclasses.replace(base.evaluation, function=function))


def zerg_agent(
    run_dir: str | os.PathLike[str] | None = DEFAULT_RUN_DIR, *, settings: Settings = SETTINGS, **more: Any
) -> RLAgent:
    """The agent of this bot: features of `state.py` in, a strategy out. `more` is passed to RLAgent."""
    return RLAgent(state.STATE_DIM, STRATEGIES, run_dir=run_dir, features=state.NAMES, settings=settings, **more)
