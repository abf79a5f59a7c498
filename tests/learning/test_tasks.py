"""The trainer learns what can be learned, and does not learn what cannot."""

from __future__ import annotations

import numpy as np
import pytest

from learning.tasks import (
    BANDIT_ACTIONS,
    BANDIT_INPUTS,
    RECALL_CUES,
    RECALL_INPUTS,
    Rewards,
    Singles,
    bandit_rewards,
    bandit_states,
    greedy_return,
    play,
    recall_rewards,
    recall_states,
)
from understudy.learning.trainer import Trainer
from understudy.networks.factory import model_factory
from understudy.settings import NetworkSettings, TrainingSettings

pytestmark = pytest.mark.slow

# A decision of the bandit has no consequences, hence no discounted future. 10 games × 100 decisions an update.
BANDIT = TrainingSettings(gamma=0.0)
GAMES, STEPS = 10, 100
TRANSFORMER = NetworkSettings(policy="transformer", context=12, width=32, heads=4, layers=1)


def bandit_trainer(settings: TrainingSettings) -> Trainer:
    network = model_factory(BANDIT_INPUTS, BANDIT_ACTIONS, NetworkSettings(), np.random.default_rng(0))
    return Trainer(network, settings, seed=0)


def train_on_bandit(
    trainer: Trainer,
    updates: int,
    rng: np.random.Generator,
    rewards: Rewards = bandit_rewards,
    uniform: bool = False,
) -> None:
    for _ in range(updates):
        trainer.update(play(trainer, bandit_states(rng, GAMES, STEPS), rewards, rng, uniform))


def accuracy(trainer: Trainer) -> float:
    return greedy_return(trainer, bandit_states(np.random.default_rng(99), 1, 4000), bandit_rewards) / 4000


# REINFORCE makes one gradient step an update, where PPO makes many: it needs larger ones.
ONE_STEP = TrainingSettings(algorithm="reinforce", gamma=0.0, learning_rate=1e-3)


@pytest.mark.parametrize(("settings", "required"), [(BANDIT, 0.9), (ONE_STEP, 0.8)], ids=["ppo", "reinforce"])
def test_the_bandit_is_learned_on_policy_in_a_hundred_updates(settings: TrainingSettings, required: float) -> None:
    trainer = bandit_trainer(settings)
    assert accuracy(trainer) < 0.5
    train_on_bandit(trainer, 100, np.random.default_rng(1))
    assert accuracy(trainer) >= required


def test_rewards_of_any_size_leave_the_policy_its_share_of_the_network() -> None:
    def large(states: Singles, actions: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Singles:
        return 1000 * bandit_rewards(states, actions)

    trainer = bandit_trainer(BANDIT)
    train_on_bandit(trainer, 40, np.random.default_rng(1), large)
    assert accuracy(trainer) >= 0.9


def test_experience_of_a_uniform_policy_teaches_an_untrained_one() -> None:
    trainer = bandit_trainer(BANDIT)
    train_on_bandit(trainer, 40, np.random.default_rng(1), uniform=True)
    assert accuracy(trainer) >= 0.8


def test_experience_of_a_uniform_policy_does_not_unteach_a_trained_one() -> None:
    rng = np.random.default_rng(1)
    trainer = bandit_trainer(BANDIT)
    train_on_bandit(trainer, 40, rng)
    trained = accuracy(trainer)
    stats = trainer.update(play(trainer, bandit_states(rng, GAMES, STEPS), bandit_rewards, rng, uniform=True))
    assert stats.effective_sample_size < 0.5
    train_on_bandit(trainer, 40, rng, uniform=True)
    assert trained >= 0.9
    assert accuracy(trainer) >= trained - 0.02


def recall_accuracy(network: NetworkSettings, updates: int) -> float:
    rng = np.random.default_rng(5)
    settings = TrainingSettings(learning_rate=2e-3)
    trainer = Trainer(model_factory(RECALL_INPUTS, RECALL_CUES, network, rng), settings, seed=0)
    for _ in range(updates):
        trainer.update(play(trainer, recall_states(rng, 128), recall_rewards, rng))
    return greedy_return(trainer, recall_states(rng, 1000), recall_rewards)


def test_a_transformer_recalls_a_cue_of_eight_steps_ago() -> None:
    assert recall_accuracy(TRANSFORMER, 30) >= 0.95


def test_an_mlp_cannot_recall_what_its_state_does_not_hold() -> None:
    assert recall_accuracy(NetworkSettings(), 30) == pytest.approx(1 / RECALL_CUES, abs=0.1)
