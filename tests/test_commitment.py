"""Games in which an agent keeps to one action, to see what it is worth."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from understudy.agent import RLAgent
from understudy.commitment import HELD, Commitment, draw_commitment
from understudy.sampling import held
from understudy.settings import Settings, TrainingSettings

ACTIONS = 4


def agent_at(folder: Path, commitment: float, **more: bool) -> RLAgent:
    training = TrainingSettings(exploration=0.0, commitment=commitment, commitment_half_life=1e9)
    return RLAgent(3, ACTIONS, run_dir=folder, settings=Settings(training=training), seed=0, **more)  # type: ignore[arg-type]


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


@pytest.mark.parametrize("flag", ["record", "try_out"])
def test_games_that_nobody_learns_from_and_those_of_agents_that_only_play_are_not_committed(
    tmp_path: Path, flag: str
) -> None:
    with agent_at(tmp_path, 1.0, **{flag: False}) as agent:
        assert all(game(agent)[1] < 0.7 for _ in range(5))


def test_a_game_that_is_told_what_to_try_keeps_to_that(tmp_path: Path) -> None:
    with agent_at(tmp_path, 1.0) as agent:
        for trial in (0, 3, 3, 1):
            agent.begin_episode(trial=trial)
            assert game(agent)[0] == trial


@pytest.mark.parametrize("trial", [-1, ACTIONS])
def test_an_action_that_there_is_not_cannot_be_tried(tmp_path: Path, trial: int) -> None:
    with agent_at(tmp_path, 1.0) as agent, pytest.raises(ValueError, match="actions 0 to 3"):
        agent.begin_episode(trial=trial)


def test_what_is_recorded_is_the_policys_own_probability(tmp_path: Path) -> None:
    with agent_at(tmp_path, 1.0) as agent:
        decisions = [agent.select_action([0.1, 0.2, 0.3]) for _ in range(20)]
    assert all(decision.probability == pytest.approx(1 / ACTIONS, abs=0.05) for decision in decisions)


def test_with_a_stretch_that_is_their_median_some_last_for_long_and_one_in_four_begins_later() -> None:
    rng = np.random.default_rng(0)
    drawn = [draw_commitment(0.5, 20.0, ACTIONS, rng.random) for _ in range(8000)]
    made = [commitment for commitment in drawn if commitment is not None]
    assert len(made) == pytest.approx(4000, abs=150)
    assert {commitment.action for commitment in made} == set(range(ACTIONS))
    lengths = np.array([end - begin for _, begin, end in made])
    assert np.median(lengths) == pytest.approx(20.0, abs=2.0)
    assert lengths.min() >= 10.0
    assert np.mean(lengths > 100) == pytest.approx(0.1, abs=0.03)
    later = [commitment.begin for commitment in made if commitment.begin > 0]
    assert len(later) == pytest.approx(len(made) / 4, abs=100)
    assert np.mean(later) == pytest.approx(20.0, abs=2.0)


def test_what_is_tried_at_the_start_can_be_given_and_what_is_tried_later_is_drawn() -> None:
    rng = np.random.default_rng(0)
    drawn = [draw_commitment(1.0, 20.0, ACTIONS, rng.random, 2) for _ in range(400)]
    made = [commitment for commitment in drawn if commitment is not None]
    assert {commitment.action for commitment in made if commitment.begin == 0} == {2}
    assert {commitment.action for commitment in made if commitment.begin > 0} == set(range(ACTIONS))


def test_a_stretch_holds_most_of_its_decisions_and_no_others() -> None:
    rng = np.random.default_rng(0)
    commitment = Commitment(2, 5.5, 10.0)
    held_at = [np.mean([commitment.holds(decision, rng.random) for _ in range(1000)]) for decision in range(15)]
    assert held_at[:6] == [0] * 6
    assert held_at[6:10] == pytest.approx([HELD] * 4, abs=0.05)
    assert held_at[10:] == [0] * 5


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
