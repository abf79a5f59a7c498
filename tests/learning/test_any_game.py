"""What anybody's game may look like: results only at the end, rewards of any scale, wild values, a world that changes.

All with default settings; a bandit's decisions have no consequences, hence its gamma of 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from learning.small_games import (
    Singles,
    balance,
    balance_well,
    best,
    default_trainer,
    draw,
    exploration,
    log_policy,
    steer,
    steer_well,
)
from understudy.check.ladder import ACTIONS, DECISIONS, FEATURES, draw_games, win_probability
from understudy.experience.episode import Episode
from understudy.learning.trainer import Trainer
from understudy.learning.trust_region import worthwhile_batch

Bools = NDArray[np.bool_]


# ---- the direction of a batch --------------------------------------------------------------------------------------


def finished(trainer: Trainer, rng: np.random.Generator, won: Bools, action: int | None = None) -> list[Episode]:
    """Games of the ladder task with a given result, in which all decisions are given or drawn from the policy."""
    games = draw_games(rng, len(won))
    actions, log_probs = draw(trainer, games.states, rng, 0.0)
    if action is not None:
        actions[:] = action
        log_probs = log_policy(trainer, games.states)[..., action]
    rewards = np.zeros(actions.shape, np.float32)
    rewards[:, -1] = won
    return [Episode(games.states[g], actions[g], rewards[g], log_probs[g]) for g in range(len(won))]


def chosen(trainer: Trainer, games: list[Episode]) -> Singles:
    states, actions = np.stack([game.states for game in games]), np.stack([game.actions for game in games])
    return np.take_along_axis(log_policy(trainer, states), actions[..., None], axis=-1)[..., 0]


def changes(won: Bools, action: int | None = None, repetitions: int = 60) -> Singles:
    """(G, 20) the mean change of log π of the decisions after an update on games with these results."""
    trainer, rng = default_trainer(FEATURES, ACTIONS, 0), np.random.default_rng(1)
    for _ in range(60):  # half of them are won, whatever is decided: it knows what to expect
        trainer.update(finished(trainer, rng, np.arange(10) % 2 == 0))
    before, seen = (trainer.state_arrays(), trainer.counters()), []
    for _ in range(repetitions):
        trainer.restore(*before)
        games = finished(trainer, rng, won, action)
        old = chosen(trainer, games)
        trainer.update(games)
        seen.append(chosen(trainer, games) - old)
    mean: Singles = np.mean(seen, axis=0)
    return mean


def smooth(change: Singles) -> Singles:
    """The mean over games and over three neighbouring decisions: less of the noise that other decisions make."""
    return np.convolve(change.mean(axis=0), np.full(3, 1 / 3, np.float32), mode="valid")


@pytest.mark.parametrize("games", [1, 2, 10])
def test_games_that_an_action_won_make_it_more_probable_at_every_decision(games: int) -> None:
    assert (changes(np.ones(games, np.bool_), action=2, repetitions=20).mean(axis=0) > 0.003).all()


@pytest.mark.parametrize("games", [1, 2, 10])
def test_games_that_an_action_lost_make_it_less_probable_at_every_decision(games: int) -> None:
    assert (changes(np.zeros(games, np.bool_), action=2, repetitions=20).mean(axis=0) < -0.003).all()


@pytest.mark.slow
@pytest.mark.parametrize("games", [1, 2])
def test_few_games_won_make_each_of_their_decisions_more_probable(games: int) -> None:
    assert (smooth(changes(np.ones(games, np.bool_), repetitions=150)) > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("games", [1, 2])
def test_few_games_lost_make_each_of_their_decisions_less_probable(games: int) -> None:
    assert (smooth(changes(np.zeros(games, np.bool_), repetitions=150)) < 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("games", [2, 10])
def test_in_a_mixed_batch_games_won_and_lost_go_their_own_ways(games: int) -> None:
    won = np.arange(games) % 2 == 0
    change = changes(won)
    half = DECISIONS // 2
    for part in (slice(half), slice(half, None)):
        assert change[won, part].mean() > 0
        assert change[~won, part].mean() < 0


def games_of_a_batch(trainer: Trainer, decisions: int) -> int:
    """How many games of this length the live learner waits for before its next update."""
    return math.ceil(worthwhile_batch(trainer.steps, trainer.adjusted) / decisions)


def ladder_win_rate(seed: int, learned_games: int) -> float:
    """Of the greedy policy that learned the ladder task in batches as small as the live learner makes them."""
    trainer, rng = default_trainer(FEATURES, ACTIONS, seed), np.random.default_rng(seed)
    while trainer.games < learned_games:
        batch = games_of_a_batch(trainer, DECISIONS)
        games = draw_games(rng, batch)
        actions, log_probs = draw(trainer, games.states, rng, exploration(trainer))
        rewards = np.zeros(actions.shape, np.float32)
        rewards[:, -1] = rng.random(batch) < win_probability(games, actions)
        trainer.update([Episode(games.states[g], actions[g], rewards[g], log_probs[g]) for g in range(batch)])
    games = draw_games(np.random.default_rng(99), 1000)
    return float(win_probability(games, best(trainer, games.states)).mean())


@pytest.mark.slow
def test_the_ladder_task_is_learned_in_1500_games_in_small_batches() -> None:
    assert np.mean([ladder_win_rate(seed, 1500) for seed in range(5)]) >= 0.3


# ---- rewards -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1e-4, 10.0, 1e4])
def test_rewards_of_any_scale_are_learned_from_alike(scale: float) -> None:
    lengths = []
    for seed in (2, 3):
        trainer, rng = default_trainer(2, 2, seed), np.random.default_rng(seed)
        for _ in range(40):
            trainer.update(balance(trainer, rng, 16, scale))
        lengths.append(balance_well(trainer))
    assert min(lengths) >= 90


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "offset"),
    [(1.0, 0.0), (1000.0, 0.0), (1e-4, 0.0), (1.0, 10.0), (1.0, -10.0), (1.0, 100.0), (1.0, -100.0), (1000.0, 100.0)],
)
def test_a_constant_that_every_reward_has_besides_changes_nothing(scale: float, offset: float) -> None:
    returns = []
    for seed in (0, 1):
        trainer, rng = default_trainer(2, 3, seed), np.random.default_rng(seed)
        for _ in range(60):
            trainer.update(steer(trainer, rng, 16, scale, offset))
        returns.append(steer_well(trainer))
    assert min(returns) >= -8


# ---- states --------------------------------------------------------------------------------------------------------

WIDTH = 8
Right = Callable[[Singles], NDArray[np.int64]]


def positive(states: Singles) -> NDArray[np.int64]:
    return (states[..., 0] > 0).astype(np.int64)


def negative(states: Singles) -> NDArray[np.int64]:
    return 1 - positive(states)


def bandit_games(trainer: Trainer, rng: np.random.Generator, games: int, steps: int, right: Right) -> list[Episode]:
    states = rng.standard_normal((games, steps, WIDTH), dtype=np.float32)
    actions, log_probs = draw(trainer, states, rng, exploration(trainer))
    rewards = (actions == right(states)).astype(np.float32)
    return [Episode(states[g], actions[g], rewards[g], log_probs[g]) for g in range(games)]


def accuracy(trainer: Trainer, right: Right) -> float:
    states = np.random.default_rng(99).standard_normal((2000, WIDTH), dtype=np.float32)
    return float((best(trainer, states) == right(states)).mean())


@pytest.mark.slow
@pytest.mark.parametrize("value", [1e9, -1e30])
@pytest.mark.parametrize(
    "feature",
    [0, 5],
    ids=["of the feature that matters", "of another feature"],
)
def test_one_wild_value_does_no_harm(feature: int, value: float) -> None:
    trainer, rng = default_trainer(WIDTH, 2, 0, gamma=0.0), np.random.default_rng(0)
    for _ in range(60):
        trainer.update(bandit_games(trainer, rng, 5, 20, positive))
    assert accuracy(trainer, positive) >= 0.95
    game = bandit_games(trainer, rng, 1, 20, positive)
    game[0].states[3, feature] = value
    trainer.update(game)
    after = accuracy(trainer, positive)
    for _ in range(20):
        trainer.update(bandit_games(trainer, rng, 5, 20, positive))
    assert min(after, accuracy(trainer, positive)) >= 0.9


@pytest.mark.parametrize("reward", [1e9, -1e30])
def test_one_wild_reward_does_not_end_learning(reward: float) -> None:
    trainer, rng = default_trainer(WIDTH, 2, 0, gamma=0.0), np.random.default_rng(0)
    for _ in range(15):
        trainer.update(bandit_games(trainer, rng, 5, 20, positive))
    game = bandit_games(trainer, rng, 5, 20, positive)
    game[0].rewards[3] = reward
    trainer.update(game)
    for _ in range(60):
        trainer.update(bandit_games(trainer, rng, 5, 20, positive))
    assert accuracy(trainer, positive) >= 0.95


# ---- time ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [0, 1])
def test_when_the_other_action_becomes_the_right_one_the_policy_follows(seed: int) -> None:
    trainer, rng = default_trainer(WIDTH, 2, seed, gamma=0.0), np.random.default_rng(seed)
    while trainer.games < 300:
        trainer.update(bandit_games(trainer, rng, games_of_a_batch(trainer, 10), 10, positive))
    assert accuracy(trainer, positive) >= 0.9
    while trainer.games < 1500:
        trainer.update(bandit_games(trainer, rng, games_of_a_batch(trainer, 10), 10, negative))
    assert accuracy(trainer, negative) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_a_policy_does_not_dissolve_when_rewards_tell_nothing(seed: int) -> None:
    contexts = np.eye(3, dtype=np.float32)
    trainer, rng = default_trainer(3, 3, seed), np.random.default_rng(seed)

    def play(*, tell: bool) -> list[Episode]:
        states = contexts[rng.integers(0, 3, (10, 30))]
        actions, log_probs = draw(trainer, states, rng, 0.05)
        right = actions == states.argmax(axis=-1)
        rewards = (right if tell else rng.standard_normal(actions.shape)).astype(np.float32)
        return [Episode(states[g], actions[g], rewards[g], log_probs[g]) for g in range(10)]

    def certainty() -> float:
        return float(np.exp(np.diag(log_policy(trainer, contexts))).mean())

    for _ in range(200):
        trainer.update(play(tell=True))
    assert certainty() >= 0.99
    for _ in range(60):
        trainer.update(play(tell=False))
    assert certainty() >= 0.98


@pytest.mark.slow
def test_the_less_advantages_differ_from_noise_the_shorter_are_the_steps() -> None:
    trainer, rng = default_trainer(WIDTH, 2, 0, gamma=0.0), np.random.default_rng(0)
    for _ in range(10):
        trainer.update(bandit_games(trainer, rng, 100, 20, positive))
    for _ in range(24):
        games = bandit_games(trainer, rng, 100, 20, positive)
        for game in games:
            game.rewards[:] = 1 + 1e-3 * rng.standard_normal(len(game))
        rate = trainer.adjusted.rate
        stats = trainer.update(games)
    assert trainer.values.loudness < 0.5  # Adam's own steps are as long as ever, whatever the size of the gradients
    assert stats.learning_rate == pytest.approx(trainer.settings.learning_rate * rate * trainer.values.loudness)


@pytest.mark.slow
def test_experience_that_is_one_update_old_is_as_good() -> None:
    lengths = []
    for seed in (0, 1):
        trainer, player = default_trainer(2, 2, seed), default_trainer(2, 2, seed)
        rng = np.random.default_rng(seed)
        for _ in range(45):
            games = balance(trainer, rng, 16, player=player)
            player.restore(trainer.state_arrays(), trainer.counters())
            trainer.update(games)
        lengths.append(balance_well(trainer))
    assert min(lengths) >= 90


@pytest.mark.slow
@pytest.mark.parametrize("learning_rate", [1e-3, 3e-2])
def test_an_update_does_not_move_the_policy_much_farther_than_the_target(learning_rate: float) -> None:
    trainer, rng = default_trainer(3, 3, 0, learning_rate=learning_rate), np.random.default_rng(0)
    states = np.eye(3, dtype=np.float32)[rng.integers(0, 3, (64, 64))]
    moved = []
    for _ in range(10):
        actions, log_probs = draw(trainer, states, rng, 0.0)
        rewards = (actions == states.argmax(axis=-1)).astype(np.float32)
        old = log_policy(trainer, states)
        trainer.update([Episode(states[g], actions[g], rewards[g], log_probs[g]) for g in range(64)])
        moved.append(float((np.exp(old) * (old - log_policy(trainer, states))).sum(axis=-1).mean()))
    assert max(moved) <= 2 * trainer.settings.target_kl
