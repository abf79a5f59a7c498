"""Two small tasks whose states do not depend on the actions, so that all games of a batch are played in one forward."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from understudy.experience.episode import Episode
from understudy.learning.losses import log_softmax
from understudy.learning.trainer import Trainer

Singles = NDArray[np.float32]
Rewards = Callable[[Singles, NDArray[np.int64]], Singles]

BANDIT_INPUTS, BANDIT_ACTIONS = 15, 5


def bandit_states(rng: np.random.Generator, games: int, steps: int) -> Singles:
    return rng.standard_normal((games, steps, BANDIT_INPUTS), dtype=np.float32)


def bandit_rewards(states: Singles, actions: NDArray[np.int64]) -> Singles:
    """1 for the action that is the argmax of the first five inputs."""
    right: NDArray[np.bool_] = states[..., :BANDIT_ACTIONS].argmax(axis=-1) == actions
    return right.astype(np.float32)


RECALL_STEPS, RECALL_CUES = 9, 3
RECALL_INPUTS = RECALL_STEPS + RECALL_CUES


def recall_states(rng: np.random.Generator, games: int) -> Singles:
    """The step, one-hot; and the cue, one-hot, in the first state only."""
    states = np.zeros((games, RECALL_STEPS, RECALL_INPUTS), np.float32)
    states[:, :, :RECALL_STEPS] = np.eye(RECALL_STEPS)
    states[np.arange(games), 0, RECALL_STEPS + rng.integers(0, RECALL_CUES, games)] = 1
    return states


def recall_rewards(states: Singles, actions: NDArray[np.int64]) -> Singles:
    """1 for naming the cue in the last step."""
    rewards = np.zeros(actions.shape, np.float32)
    rewards[:, -1] = states[:, 0, RECALL_STEPS:].argmax(axis=-1) == actions[:, -1]
    return rewards


def play(
    trainer: Trainer, states: Singles, rewards: Rewards, rng: np.random.Generator, uniform: bool = False
) -> list[Episode]:
    """Games of the current policy, or of the uniform one, with its log-probabilities recorded."""
    log_probs = _log_probs(trainer, states)
    if uniform:
        log_probs = np.full_like(log_probs, -np.log(log_probs.shape[-1]))
    actions = (log_probs + rng.gumbel(size=log_probs.shape)).argmax(axis=-1)
    chosen = np.take_along_axis(log_probs, actions[..., None], axis=-1)[..., 0]
    earned = rewards(states, actions)
    return [Episode(states[g], actions[g], earned[g], chosen[g]) for g in range(len(states))]


def greedy_return(trainer: Trainer, states: Singles, rewards: Rewards) -> float:
    """The mean sum of rewards of a game in which the likeliest action is always taken."""
    return float(rewards(states, _log_probs(trainer, states).argmax(axis=-1)).sum(axis=1).mean())


def _log_probs(trainer: Trainer, states: Singles) -> Singles:
    games, steps, width = states.shape
    flat = trainer.normalizer.apply(states.reshape(-1, width))
    logits, _ = trainer.network.forward(flat, np.arange(0, games * steps, steps))
    return log_softmax(logits).reshape(games, steps, -1).astype(np.float32)
