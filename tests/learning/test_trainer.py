from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from learning.small import ALGORITHMS, NETWORKS, A, S, assert_same_state, games, make
from understudy.experience.episode import Episode
from understudy.experience.replay import ReplayedGame
from understudy.learning import passes as passes_module
from understudy.learning import targets as targets_module
from understudy.learning import trainer as trainer_module
from understudy.learning.losses import log_softmax, ppo_clip, value_loss
from understudy.learning.returns import vtrace
from understudy.learning.trainer import Trainer
from understudy.learning.trust_region import kl_divergence, kl_limit
from understudy.learning.update_stats import GameOutlier
from understudy.settings import TrainingSettings


def probabilities(trainer: Trainer, states: NDArray[np.float32]) -> NDArray[np.float64]:
    logits, _ = trainer.network.forward(trainer.normalizer.apply(states))
    return np.exp(log_softmax(logits).astype(np.float64))


# What an update teaches


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_update_raises_the_probability_of_what_was_rewarded(algorithm: str, network: str) -> None:
    trainer = make(network, algorithm=algorithm, entropy_coefficient=0.0)
    states = np.random.default_rng(0).normal(size=(30, S)).astype(np.float32)
    actions = np.arange(30) % A
    rewards = np.where(actions == 1, 1, -1).astype(np.float32)
    before = probabilities(trainer, states)[:, 1].mean()
    trainer.update([Episode(states[i : i + 1], actions[i : i + 1], rewards[i : i + 1]) for i in range(30)])
    assert probabilities(trainer, states)[:, 1].mean() > before


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_gradient_ascends_the_advantage_weighted_log_probability(
    algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy_only: dict[str, Any] = {"value_coefficient": 0.0, "entropy_coefficient": 0.0, "max_grad_norm": 0.0}
    one_step: dict[str, Any] = {"epochs": 1, "minibatch": 1000}
    trainer = make(algorithm=algorithm, gamma=0.0, normalize_states=False, **policy_only, **one_step)
    rng = np.random.default_rng(0)
    states, actions = rng.normal(size=(60, S)).astype(np.float32), rng.integers(0, A, 60)
    rewards = rng.normal(size=60).astype(np.float32)
    network, rows = trainer.network, np.arange(60)
    _, values = network.forward(states)
    advantages = rewards - values  # neither centred nor, but for a common factor, scaled

    def objective() -> float:
        log_probs = log_softmax(network.forward(states)[0].astype(np.float64))
        return float((advantages * log_probs[rows, actions]).mean())

    slopes = np.empty(network.parameters.size)
    for i, kept in enumerate(network.parameters.copy()):
        network.parameters[i] = kept + np.float32(1e-2)
        above = objective()
        network.parameters[i] = kept - np.float32(1e-2)
        slopes[i] = above - objective()
        network.parameters[i] = kept
    taken: list[NDArray[Any]] = []
    monkeypatch.setattr(trainer.adam, "step", lambda gradients: taken.append(gradients.copy()))
    trainer.update([Episode(states, actions, rewards)])
    (descent,) = taken
    cosine = float(-descent @ slopes / (np.linalg.norm(descent) * np.linalg.norm(slopes)))
    assert cosine > 0.999


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_credit_goes_to_the_decision_that_was_rewarded(algorithm: str) -> None:
    lasting: dict[str, Any] = {
        "normalize_states": False,
        "entropy_coefficient": 0.0,
        "target_kl": 0.0,
        "learning_rate": 0.01,
    }
    trainer = make(algorithm=algorithm, gamma=0.0, **lasting)
    pairs = np.random.default_rng(0).permutation(S * A)  # every action in every state, in no order
    states, actions = np.eye(S, dtype=np.float32)[pairs // A], pairs % A
    rewarded = actions == (pairs // A) % A
    for _ in range(40):
        trainer.update([Episode(states, actions, rewarded.astype(np.float32))])
    gained = probabilities(trainer, states)[np.arange(S * A), actions]
    assert gained[rewarded].min() > 0.5
    assert gained[~rewarded].max() < 0.33


def test_a_single_decision_teaches() -> None:
    trainer = make(entropy_coefficient=0.0)
    game = Episode(np.ones((1, S), np.float32), np.array([2]), np.array([5.0], np.float32))
    before = probabilities(trainer, game.states)[0, 2]
    trainer.update([game])
    assert probabilities(trainer, game.states)[0, 2] > before


def test_the_step_size_falls_with_the_games_learned_from() -> None:
    trainer = make(learning_rate=0.01, learning_rate_half_life=3, target_kl=0.0)
    game = Episode(np.ones((1, S), np.float32), np.array([2]), np.array([5.0], np.float32))
    rates = []
    for _ in range(2):
        trainer.update([game] * 3)
        rates.append(trainer.adam.learning_rate)
    assert rates == pytest.approx([0.01, 0.005], rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(("cut", "worth"), [(False, 1.0), (True, 5.0)])
def test_a_cut_game_is_worth_what_would_have_followed(algorithm: str, cut: bool, worth: float) -> None:
    trainer = make(algorithm=algorithm, gamma=0.8, learning_rate=0.02)
    state = np.ones((1, S), np.float32)
    game = Episode(state, np.array([0]), np.ones(1, np.float32), final_state=state[0] if cut else None)
    for _ in range(900):
        trainer.update([game] * 4)
    _, values = trainer.network.forward(trainer.normalizer.apply(state))
    worth_now = trainer.values.expand(values)[0] + trainer.clock.of(np.zeros(1, np.int64))[0]
    assert worth_now == pytest.approx(worth, abs=0.1)


def test_experience_of_another_policy_counts_by_its_ratio() -> None:
    on_policy, stale = make(), make()
    fresh = games(0, log_probs=None)
    assert on_policy.update(fresh).effective_sample_size == 1
    skewed = [dataclasses.replace(g, log_probs=np.linspace(-5, -0.1, len(g.actions), dtype=np.float32)) for g in fresh]
    assert stale.update(skewed).effective_sample_size < 0.5
    assert not np.array_equal(on_policy.network.parameters, stale.network.parameters)


def test_reinforce_does_not_correct_for_another_policy() -> None:
    first, second = make(algorithm="reinforce"), make(algorithm="reinforce")
    first.update(games(0, log_probs=None))
    second.update(games(0))
    assert_same_state(first, second)


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_forced_moves_can_be_learned_from(algorithm: str, network: str) -> None:
    trainer = make(network, algorithm=algorithm)
    forced = [
        dataclasses.replace(
            g, legal=np.eye(A, dtype=np.bool_)[g.actions], log_probs=np.zeros(len(g.actions), np.float32)
        )
        for g in games(0)
    ]
    stats = trainer.update(forced)
    assert stats.entropy == 0
    assert stats.effective_sample_size == 1
    assert np.isfinite(trainer.network.parameters).all()


def test_masked_actions_are_not_learned_about() -> None:
    trainer = make(value_coefficient=0.0, epochs=1, minibatch=1000)
    legal = np.array([True, True, False])
    masked = [
        dataclasses.replace(g, actions=g.actions % 2, legal=np.tile(legal, (len(g.actions), 1))) for g in games(0)
    ]
    head = trainer.network.views(trainer.network.parameters)["head"]
    before = head.copy()
    trainer.update(masked)
    np.testing.assert_array_equal(head[:, 2], before[:, 2])
    assert not np.array_equal(head[:, :2], before[:, :2])


# How it goes about it


def test_passes_end_when_the_policy_has_moved_far_enough() -> None:
    assert make(target_kl=1e-6, learning_rate=0.05, epochs=6).update(games(0)).epochs_done == 1
    assert make(target_kl=0.0, learning_rate=0.05, epochs=6).update(games(0)).epochs_done == 6


@pytest.mark.slow
@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("learning_rate", [1e-5, 0.1, 10.0])
def test_no_update_moves_the_policy_beyond_the_limit(network: str, learning_rate: float) -> None:
    trainer = make(network, learning_rate=learning_rate)
    shortened = []
    for seed in range(20):
        batch = games(seed, 8, log_probs=None)
        limit = kl_limit(trainer.settings.target_kl, sum(map(len, batch)), trainer.adjusted.agreement)
        # The policy that the update starts from sees states by the statistics that follow them.
        twin = make(network)
        twin.restore(trainer.state_arrays(), trainer.counters())
        twin._normalized(np.concatenate([s for g in batch for s in (g.states, *_final(g))]))
        old = [taken(twin, game) for game in batch]
        stats = trainer.update(batch)
        new = [taken(trainer, game) for game in batch]
        moved = kl_divergence(np.concatenate(new) - np.concatenate(old))
        assert moved <= limit * 1.001
        assert stats.kl == pytest.approx(moved, rel=0.01, abs=1e-7)
        shortened.append(stats.shortened)
    assert (min(shortened) < 1) == (learning_rate >= 0.1)
    assert (trainer.adjusted.rate < 0.9) == (learning_rate >= 0.1)


def test_an_update_that_cannot_be_shortened_enough_is_undone_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = make(learning_rate=10.0)
    monkeypatch.setattr(passes_module, "kept_share", lambda kl, limit: 1.0)
    before = [taken(trainer, game) for game in games(0)]
    stats = trainer.update(games(0))
    assert (stats.kl, stats.shortened) == (0.0, 0.0)
    for game, old in zip(games(0), before, strict=True):
        np.testing.assert_allclose(taken(trainer, game), old, atol=0.2)  # the statistics of the states have moved


def taken(trainer: Trainer, game: Episode) -> NDArray[np.floating[Any]]:
    logits, _ = trainer.network.forward(trainer.normalizer.apply(game.states))
    return log_softmax(logits.astype(np.float64))[np.arange(len(game)), game.actions]


def test_steps_that_go_too_far_become_smaller_and_stats_say_so() -> None:
    trainer = make(learning_rate=0.1)
    rates = [trainer.update(games(seed)).learning_rate for seed in range(8)]
    assert rates[0] == 0.1
    assert rates[-1] < 0.05
    assert rates[-1] >= 0.01


def test_without_a_target_no_update_is_shortened() -> None:
    stats = make(learning_rate=0.1, target_kl=0.0).update(games(0))
    assert stats.shortened == 1
    assert stats.epochs_done == TrainingSettings().epochs


def test_stats_name_wild_values_and_the_games_that_had_them() -> None:
    trainer = make()
    assert trainer.update(games(0, 40)).outliers == ()
    batch = games(1)
    batch[2].states[0, 3] = 1e9
    assert trainer.update(batch).outliers == (GameOutlier(feature=3, game=2, value=1e9),)
    assert trainer.update(games(2)).outliers == ()


def test_stats_count_and_average_what_happened() -> None:
    batch = games(3)
    trainer = make()
    stats = trainer.update(batch)
    assert stats.games == len(batch)
    assert stats.total_steps == sum(len(g.actions) for g in batch)
    assert stats.mean_return == pytest.approx(np.mean([g.rewards.sum(dtype=np.float64) for g in batch]))
    assert 0 < stats.entropy <= np.log(A)
    assert stats.kl > 0
    assert 0 < stats.shortened <= 1
    assert stats.learning_rate == TrainingSettings().learning_rate
    assert stats.entropy_weight == TrainingSettings().entropy_coefficient
    assert stats.grad_norm > 0
    assert stats.explained_variance < 1
    assert trainer.counters() == {
        "updates": 1,
        "games": stats.games,
        "steps": stats.total_steps,
        "adam_steps": stats.epochs_done * -(-stats.total_steps // 16),
    }


def test_the_loss_reported_is_the_mean_over_gradient_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []

    def spy(*args: Any) -> tuple[float, Any]:
        loss, gradient = value_loss(*args)
        seen.append(loss)
        return loss, gradient

    monkeypatch.setattr(passes_module, "value_loss", spy)
    stats = make().update(games(3))
    assert len(seen) > 4
    assert stats.value_loss == pytest.approx(np.mean(seen))


@pytest.mark.parametrize("network", NETWORKS)
def test_targets_are_made_of_the_policy_and_values_before_the_update(
    network: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Any] = []

    def spy(*args: Any, **kwargs: Any) -> Any:
        given.extend([array.copy() for array in args[:4]])
        return vtrace(*args, **kwargs)

    monkeypatch.setattr(targets_module, "vtrace", spy)
    trainer, batch = make(network), games(0)
    player = make(network)  # plays the same games with the same parameters, a decision at a time
    player.normalizer.update(np.concatenate([s for g in batch for s in (g.states, *_final(g))]))
    values, bootstraps, log_ratios = [], [], []
    for game in batch:
        player.network.begin_episode()
        assert game.log_probs is not None
        for state, action, log_prob in zip(game.states, game.actions, game.log_probs, strict=True):
            logits, value = player.network.step(player.normalizer.apply(state))
            values.append(value)
            log_ratios.append(log_softmax(logits[None])[0, action] - log_prob)
        final = [player.network.step(player.normalizer.apply(state))[1] for (state,) in _final(game)]
        bootstraps.append(sum(final))
    trainer.update(batch)
    expected = [np.concatenate([g.rewards for g in batch]), values, bootstraps, log_ratios]
    for actual, array in zip(given, expected, strict=True):
        np.testing.assert_allclose(actual, np.array(array), atol=1e-5)


def _final(game: Episode) -> list[NDArray[np.float32]]:
    return [] if game.final_state is None else [game.final_state[None]]


def test_every_update_shuffles_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    orders: list[list[int]] = []

    def spy(*args: Any) -> Any:
        orders.append(args[1].tolist())
        return ppo_clip(*args)

    monkeypatch.setattr(passes_module, "ppo_clip", spy)
    trainer = make(epochs=2, target_kl=0.0, minibatch=1000)
    trainer.update(games(0))
    trainer.update(games(0))
    assert len({tuple(order) for order in orders}) == 4


@pytest.mark.parametrize(("floor", "lowest", "highest"), [(0.0, 0.0, 0.001), (0.05, 0.01, 0.05)])
def test_what_is_tried_in_vain_can_still_be_found_later_thanks_to_the_floor(
    floor: float, lowest: float, highest: float
) -> None:
    trainer = make(probability_floor=floor, entropy_coefficient=0.0, learning_rate=0.001)
    states = np.ones((30, S), np.float32)
    actions = np.arange(30) % A  # all of them equally often, however improbable
    rewards = np.where(actions == 1, 1, -1).astype(np.float32)
    tried = [Episode(states[i : i + 1], actions[i : i + 1], rewards[i : i + 1]) for i in range(30)]
    for _ in range(60):
        trainer.update(tried)
    in_vain = probabilities(trainer, states)[:, np.arange(A) != 1].mean(axis=0)
    assert (in_vain > lowest).all()
    assert (in_vain < highest).all()


def test_trials_are_learned_from_by_their_probability_or_as_if_the_policy_had_drawn_them() -> None:
    recorded = [dataclasses.replace(g, log_probs=np.full(len(g), -0.1, np.float32)) for g in games(0)]
    trials = [dataclasses.replace(g, trial=np.ones(len(g), np.bool_)) for g in recorded]
    unmarked = [dataclasses.replace(g, trial=np.zeros(len(g), np.bool_)) for g in recorded]
    on_policy = [dataclasses.replace(g, log_probs=None) for g in recorded]

    def learned(weight: float, batch: list[Episode]) -> NDArray[np.float32]:
        trainer = make(trial_weight=weight)
        trainer.update(batch)
        return trainer.network.parameters

    np.testing.assert_array_equal(learned(0.0, trials), learned(0.0, recorded))
    np.testing.assert_array_equal(learned(1.0, unmarked), learned(1.0, recorded))
    np.testing.assert_array_equal(learned(1.0, trials), learned(1.0, on_policy))
    assert not np.array_equal(learned(0.0, trials), learned(1.0, trials))


def test_the_entropy_coefficient_flattens_the_policy() -> None:
    trainer = make(entropy_coefficient=1.0, learning_rate=0.01)
    trainer.network.views(trainer.network.parameters)["head"][-1, 0] = 3  # the policy prefers action 0
    unrewarded = [dataclasses.replace(g, rewards=np.zeros_like(g.rewards), final_state=None) for g in games(0)]
    entropies = [trainer.update(unrewarded).entropy for _ in range(10)]
    assert entropies[-1] > 1.5 * entropies[0]


@pytest.mark.parametrize("network", NETWORKS)
def test_the_size_of_pieces_makes_no_difference(network: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, pieces = make(network), make(network)
    whole.update(games(0, 8))
    monkeypatch.setattr(trainer_module, "_PIECE", 7)
    pieces.update(games(0, 8))
    np.testing.assert_allclose(pieces.network.parameters, whole.network.parameters, atol=1e-5)


def test_states_are_normalised_unless_told_otherwise() -> None:
    on, off = make(), make(normalize_states=False)
    on.update(games(0))
    off.update(games(0))
    assert on.normalizer.count[0] > 0
    assert off.normalizer.count[0] == 0
    assert on.normalizer.mean.mean() == pytest.approx(3, abs=1)


def test_no_gradient_step_begins_after_the_deadline() -> None:
    trainer = make(epochs=5, minibatch=8, target_kl=0.0)
    assert trainer.update(games(1), deadline=0.0).epochs_done == 1
    assert trainer.adam.steps == 1
    assert trainer.update(games(2)).epochs_done == 5


def test_an_update_that_is_interrupted_keeps_the_steps_it_has_made() -> None:
    trainer, untouched = make(epochs=1000, target_kl=0.0), make()
    asked: list[bool] = []

    def interrupted() -> bool:
        asked.append(True)
        return len(asked) == 5

    update = trainer.update(games(1), interrupted=interrupted)
    assert (len(asked), trainer.adam.steps, trainer.updates) == (5, 5, 1)
    assert update.epochs_done < 1000
    assert not np.array_equal(trainer.network.parameters, untouched.network.parameters)


@pytest.mark.parametrize(("signal", "passes"), [(0.0, 4), (1.0, 10)])
def test_an_update_makes_fewer_passes_where_gradients_were_noise(signal: float, passes: int) -> None:
    trainer = make(target_kl=0.0, epochs=10)
    trainer.adjusted = trainer.adjusted._replace(signal=signal)
    assert trainer.update(games(1)).epochs_done == passes


def again(episodes: list[Episode], weight: float) -> list[ReplayedGame]:
    return [ReplayedGame(episode, weight) for episode in episodes]


def test_replayed_games_move_the_policy_but_neither_statistics_nor_counters() -> None:
    one, other = make(), make()
    stats = one.update(games(1), replayed=again(games(2), 1.0))
    alone = other.update(games(1))
    assert not np.array_equal(one.network.parameters, other.network.parameters)
    assert one.counters() | {"adam_steps": 0} == other.counters() | {"adam_steps": 0}
    for name in ("normalizer_count", "normalizer_sums", "normalizer_squares"):
        np.testing.assert_array_equal(one.state_arrays()[name], other.state_arrays()[name], err_msg=name)
    assert one.values.sums[0] == other.values.sums[0]
    assert (stats.games, stats.total_steps, stats.mean_return) == (alone.games, alone.total_steps, alone.mean_return)
    assert len(one.surprises) == len(games(1)) + len(games(2))


def test_a_replayed_game_of_little_weight_changes_little() -> None:
    states = np.zeros((20, S), np.float32)
    bad = [Episode(states, np.zeros(20, np.int64), np.full(20, -1, np.float32))]
    fresh = [Episode(states, np.arange(20) % A, np.zeros(20, np.float32))]
    chances = []
    for weight in (1.0, 1e-6):
        trainer = make(entropy_coefficient=0.0, epochs=1, normalize_states=False)
        trainer.update(fresh, replayed=again(bad, weight))
        chances.append(probabilities(trainer, states)[0, 0])
    assert chances[0] < chances[1]
