"""The ladder task is the one that is described."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.check.ladder import (
    ACTIONS,
    BEST,
    DECISIONS,
    FEATURES,
    RANDOM,
    VISIBLE_FROM,
    LadderTask,
    draw_games,
    linear_reinforce,
    linear_win_rate,
    win_probability,
)


def test_a_game_has_twenty_decisions_of_fifty_features_and_pays_only_at_its_end() -> None:
    task = LadderTask(0)
    for _ in range(3):
        state = task.reset()
        rewards, over = [], False
        while not over:
            assert state.shape == (FEATURES,)
            state, reward, over = task.step(0)
            rewards.append(reward)
        assert len(rewards) == DECISIONS
        assert not any(rewards[:-1])
        assert rewards[-1] in (0.0, 1.0)


def test_the_same_seed_gives_the_same_games_and_results() -> None:
    def play(seed: int) -> list[float]:
        task = LadderTask(seed)
        played: list[float] = []
        for _ in range(20):
            played += task.reset().tolist()
            for action in range(DECISIONS):
                state, reward, _ = task.step(action % ACTIONS)
                played += [*state.tolist(), reward]
        return played

    assert play(3) == play(3)
    assert play(3) != play(4)


@pytest.mark.slow
def test_the_first_five_decisions_say_nothing_of_the_opponent_and_later_ones_do() -> None:
    games = draw_games(np.random.default_rng(0), 20_000)
    guesses = games.states[:, :, :ACTIONS].argmax(axis=-1) == games.right[:, None]
    np.testing.assert_allclose(guesses[:, :VISIBLE_FROM].mean(axis=0), 1 / ACTIONS, atol=0.02)
    assert (guesses[:, VISIBLE_FROM:].mean(axis=0) > 0.98).all()


@pytest.mark.slow
def test_random_and_best_play_win_as_often_as_stated() -> None:
    rng = np.random.default_rng(0)
    games = draw_games(rng, 20_000)
    assert win_probability(games, rng.integers(0, ACTIONS, (20_000, DECISIONS))).mean() == pytest.approx(
        RANDOM, abs=0.005
    )
    best = games.states[:, :, :ACTIONS].argmax(axis=-1)
    assert win_probability(games, best).mean() == pytest.approx(BEST, abs=0.005)
    assert win_probability(games, np.repeat(games.right[:, None], DECISIONS, axis=1)) == pytest.approx(0.95)


def test_results_are_drawn_with_the_probability_of_winning() -> None:
    task, won = LadderTask(1), 0.0
    for _ in range(2000):
        state = task.reset()
        over = False
        while not over:
            state, reward, over = task.step(int(state[:ACTIONS].argmax()))
            won += reward
    assert won / 2000 == pytest.approx(BEST, abs=0.03)


@pytest.mark.slow
def test_linear_reinforce_learns_something_of_it() -> None:
    assert linear_win_rate(linear_reinforce(0, 6000)) > RANDOM + 0.1
