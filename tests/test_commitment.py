"""Games that an agent plays with one action throughout, to see what it is worth."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from understudy.agent import RLAgent
from understudy.sampling import held
from understudy.settings import Settings, TrainingSettings

ACTIONS = 4


def agent_at(folder: Path, commitment: float, *, half_life: float = 1e9, record: bool = True) -> RLAgent:
    training = TrainingSettings(exploration=0.0, commitment=commitment, commitment_half_life=half_life)
    return RLAgent(3, ACTIONS, run_dir=folder, settings=Settings(training=training), seed=0, record=record)


def game(agent: RLAgent, decisions: int = 60) -> tuple[int, float]:
    """The most frequent action and its share."""
    taken = Counter(agent.select_action([0.1, 0.2, 0.3]).action for _ in range(decisions))
    agent.end_episode("Tie")
    ((action, times),) = taken.most_common(1)
    return action, times / decisions


def test_a_game_that_is_committed_keeps_to_one_action_and_every_action_has_its_turn(tmp_path: Path) -> None:
    with agent_at(tmp_path, 1.0) as agent:
        games = [game(agent) for _ in range(24)]
    assert all(share > 0.7 for _, share in games)
    assert {action for action, _ in games} == set(range(ACTIONS))


def test_only_a_share_of_the_games_is_committed(tmp_path: Path) -> None:
    with agent_at(tmp_path, 0.5) as agent:
        committed = sum(game(agent)[1] > 0.7 for _ in range(40))
    assert 10 <= committed <= 30


def test_the_share_halves_with_the_games_learned_from(tmp_path: Path) -> None:
    training = TrainingSettings(commitment=0.8, commitment_half_life=2)
    with RLAgent(3, ACTIONS, run_dir=tmp_path, settings=Settings(training=training), online_training=True) as agent:
        for _ in range(4):
            game(agent)
        assert agent._model.commitment == pytest.approx(0.2)


def test_games_that_nobody_learns_from_are_not_committed(tmp_path: Path) -> None:
    with agent_at(tmp_path, 1.0, record=False) as agent:
        assert all(game(agent)[1] < 0.7 for _ in range(5))


def test_what_is_recorded_is_the_policys_own_probability(tmp_path: Path) -> None:
    with agent_at(tmp_path, 1.0) as agent:
        decisions = [agent.select_action([0.1, 0.2, 0.3]) for _ in range(20)]
    assert all(decision.probability == pytest.approx(1 / ACTIONS, abs=0.05) for decision in decisions)


@pytest.mark.parametrize("count", [3, 100])
def test_an_illegal_action_is_not_held_and_a_hopeless_one_has_a_finite_logarithm(count: int) -> None:
    logits = np.zeros(count, np.float32)
    logits[0] = -1e4
    legal = np.ones(count, np.bool_)
    choice = held(0, logits, legal)
    assert choice is not None
    assert choice.action == 0
    assert math.isfinite(math.log(choice.probability))
    legal[1] = False
    assert held(1, logits, legal) is None
    another = held(2, logits, legal)
    assert another is not None
    assert another.probability == pytest.approx(1 / (count - 2))
