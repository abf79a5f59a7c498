from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("numba")

from games.zerg.small_games import Scene
from understudy.games.zerg.direct.game import Opponent, StrategyGame
from understudy.games.zerg.enemy_memory import EnemyMemory
from understudy.games.zerg.rewards import GAMMA, potential, shaped_reward
from understudy.sc2.shaping import RESULT_REWARDS, final_reward


def discounted(rewards: list[float]) -> float:
    return sum(reward * GAMMA**n for n, reward in enumerate(rewards))


@pytest.mark.parametrize("result", RESULT_REWARDS)
def test_shaping_adds_the_same_to_every_way_of_playing(result: str) -> None:
    """The discounted sum of all rewards is the discounted result minus Φ of the start, whatever happened between."""
    dice = np.random.default_rng(0)
    for length in (1, 5, 40):
        path = [0.25, *dice.uniform(-0.3, 1.0, length - 1)]
        rewards = [shaped_reward(before, after) for before, after in itertools.pairwise(path)]
        rewards.append(final_reward(result, path[-1]))
        expected = GAMMA ** (length - 1) * RESULT_REWARDS[result] - 0.25
        assert discounted(rewards) == pytest.approx(expected)


def test_a_win_is_worth_more_than_a_tie_and_a_tie_more_than_a_loss() -> None:
    assert RESULT_REWARDS["Victory"] > RESULT_REWARDS["Tie"] > RESULT_REWARDS["Defeat"]


def test_the_potential_rises_with_drones_army_and_trades() -> None:
    scene = Scene()
    memory = EnemyMemory()

    def now() -> float:
        snapshot = scene.snapshot()
        return potential(snapshot, memory.summary(snapshot.loop))

    values = [now()]
    for units in ({"Drone": 5}, {"Roach": 5}, {"Hatchery": 1}):
        scene.add(units)
        values.append(now())
    assert values == sorted(set(values))


def test_the_rewards_of_a_whole_game_add_up_to_the_result() -> None:
    game = StrategyGame(Opponent(1, 1, 5), seed=0, time_limit=60)
    start = game.brain.potential
    rewards = []
    while True:
        turn = game.play(0)
        rewards.append(turn.reward)
        if turn.result:
            break
    assert turn.result == "Tie"
    expected = GAMMA ** (len(rewards) - 1) * RESULT_REWARDS["Tie"] - start
    assert discounted(rewards) == pytest.approx(expected)
