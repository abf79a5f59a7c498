from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from game_files import make_episode
from understudy.experience.episode import Episode
from understudy.experience.replay import ReplayMemory

MANY = 10**9


def remembered(games: list[Episode], surprises: list[float], most: int = 100, size: int = MANY) -> ReplayMemory:
    memory = ReplayMemory(most, size, 10)
    memory.add(games, surprises, 1)
    return memory


def drawn(memory: ReplayMemory, decisions: float, times: int = 2000) -> tuple[Counter[str], dict[str, float]]:
    """How often each game was drawn, and its weight."""
    rng, count, weights = np.random.default_rng(0), Counter[str](), {}
    for _ in range(times):
        for game in memory.draw(decisions, 1, rng):
            count[game.episode.meta.id] += 1
            weights[game.episode.meta.id] = game.weight
    return count, weights


def test_games_are_drawn_by_surprise_and_their_weights_make_up_for_it() -> None:
    games = [make_episode(seed) for seed in range(2)]
    count, weights = drawn(remembered(games, [1.0, 4.0]), 12)
    few, many = (game.meta.id for game in games)
    assert count[many] / count[few] == pytest.approx(4, rel=0.2)
    assert weights == {few: 1, many: pytest.approx(0.25)}


def test_games_of_a_rare_kind_are_drawn_more_often() -> None:
    games = [make_episode(seed, opponent_id="rare" if seed == 0 else "usual") for seed in range(10)]
    count, _ = drawn(remembered(games, [1.0] * 10), 12)
    usual = np.mean([count[game.meta.id] for game in games[1:]])
    assert count[games[0].meta.id] > 2 * usual


def test_no_game_is_drawn_twice_at_once_and_no_more_decisions_than_asked() -> None:
    memory = remembered([make_episode(seed) for seed in range(10)], [1.0] * 10)
    games = memory.draw(60, 1, np.random.default_rng(0))
    assert len({game.episode.meta.id for game in games}) == len(games) == 5
    assert memory.draw(0, 1, np.random.default_rng(0)) == []
    assert len(memory.draw(MANY, 1, np.random.default_rng(0))) == 10


def test_the_memory_keeps_the_newest_games_within_count_size_and_age() -> None:
    games = [make_episode(seed) for seed in range(6)]
    rng = np.random.default_rng(0)
    assert len(remembered(games, [1.0] * 6, most=4)) == 4
    small = remembered(games, [1.0] * 6, size=3 * games[0].nbytes)
    assert {game.episode.meta.id for game in small.draw(MANY, 1, rng)} == {game.meta.id for game in games[3:]}
    memory = remembered(games[:3], [1.0] * 3)
    memory.add(games[3:], [1.0] * 3, 9)
    assert {game.episode.meta.id for game in memory.draw(MANY, 12, rng)} == {game.meta.id for game in games[3:]}
    assert len(memory) == 3


def test_how_often_a_game_was_learned_from_again_and_what_it_taught_then_is_noted() -> None:
    games = [make_episode(seed) for seed in range(2)]
    memory = remembered(games, [1.0, 1.0])
    first = [game for game in memory.draw(MANY, 1, np.random.default_rng(0)) if game.episode is games[0]]
    memory.learned_again(first, [0.0])
    memory.learned_again(first, [0.0])
    assert [memory.times(game.meta.id) for game in games] == [2, 0]
    count, _ = drawn(memory, 12)
    assert count[games[0].meta.id] < 0.05 * count[games[1].meta.id]
