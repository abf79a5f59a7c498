"""Games in which an agent keeps to one action, to see what it is worth."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy.acting.sampling import KEPT, draw
from understudy.acting.trials import Commitment, draw_commitment
from understudy.agent import RLAgent
from understudy.experience.episode import read_episode
from understudy.settings import Settings, StorageSettings, TrainingSettings

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


@pytest.mark.slow
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


def learned_to_sustain(folder: Path, **training: Any) -> float:
    """How probable the right action is after 300 games that only those win which keep to it for most of the time."""
    settings = Settings(training=TrainingSettings(gamma=1.0, commitment_half_life=1e9, **training))
    states = np.stack([np.linspace(-1, 1, 20), np.linspace(0, 1, 20) ** 2], axis=1)
    with RLAgent(2, ACTIONS, run_dir=folder, settings=settings, seed=0, online_training=False) as agent:
        for _ in range(30):
            batch = []
            for _ in range(10):
                kept = sum(agent.select_action(state).action == 2 for state in states)
                agent.observe_reward(float(kept >= 16))
                batch.append(read_episode(agent.end_episode("Tie")["saved"], StorageSettings()))
            agent.train_from_batch(batch)
        model = agent._model
    logits, _ = model.network.evaluate(model.trainer.normalizer.apply(states.astype(np.float32)))
    return float(np.mean(np.exp(logits[:, 2]) / np.exp(logits).sum(axis=1)))


@pytest.mark.slow
def test_an_action_that_pays_only_when_sustained_is_found_by_trials(tmp_path: Path) -> None:
    assert learned_to_sustain(tmp_path / "none") < 0.6
    assert learned_to_sustain(tmp_path / "trials", commitment=0.5, trial_weight=1.0) > 0.9


@pytest.mark.parametrize("trial", [-1, ACTIONS])
def test_an_action_that_there_is_not_cannot_be_tried(tmp_path: Path, trial: int) -> None:
    with agent_at(tmp_path, 1.0) as agent, pytest.raises(ValueError, match="actions 0 to 3"):
        agent.begin_episode(trial=trial)


def test_what_is_recorded_is_the_probability_that_the_action_was_drawn_with(tmp_path: Path) -> None:
    with agent_at(tmp_path, 1.0) as agent:
        agent.begin_episode(trial=2)
        decisions = [agent.select_action([0.1, 0.2, 0.3]) for _ in range(400)]
        saved = agent.end_episode("Tie")["saved"]
    shares = np.bincount([decision.action for decision in decisions], minlength=ACTIONS) / len(decisions)
    policy = 0.25 + 0.05 * np.array([-1, 1])
    for action, share in enumerate(shares):
        recorded = {decision.probability for decision in decisions if decision.action == action}
        (probability,) = recorded  # the state is always the same
        assert probability == pytest.approx(share, abs=0.06)
        low, high = (KEPT if action == 2 else 0.0) + (1 - KEPT) * policy
        assert low < probability < high
    game = read_episode(saved, StorageSettings())
    assert game.log_probs is not None
    np.testing.assert_allclose(np.exp(game.log_probs), [decision.probability for decision in decisions], rtol=1e-5)


def test_the_decisions_of_a_trial_are_marked_and_no_others(tmp_path: Path) -> None:
    with agent_at(tmp_path, 1.0) as agent:
        agent.begin_episode()
        assert agent._game is not None
        agent._game.commitment = Commitment(2, 1.5, 5.0)
        masks = [None, None, None, [True, True, False, True], None, None]
        for legal in masks:
            agent.select_action([0.1, 0.2, 0.3], legal)
        saved = agent.end_episode("Tie")["saved"]
        agent._try_out = False
        agent.select_action([0.1, 0.2, 0.3])
        other = agent.end_episode("Tie")["saved"]
    trial = read_episode(saved, StorageSettings()).trial
    assert trial is not None
    assert trial.tolist() == [False, False, True, False, True, False]
    assert read_episode(other, StorageSettings()).trial is None


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


def test_a_stretch_covers_its_decisions_and_no_others() -> None:
    commitment = Commitment(2, 5.5, 10.0)
    covered = [decision for decision in range(15) if commitment.action_at(decision, None) == 2]
    assert covered == [6, 7, 8, 9]
    assert commitment.action_at(7, [True, True, False]) is None


@pytest.mark.parametrize("count", [3, 100])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("exploration", [0.0, 0.2])
def test_in_a_trial_actions_are_drawn_as_often_as_their_probability_says(
    count: int, masked: bool, exploration: float
) -> None:
    rng = np.random.default_rng(count)
    logits = rng.normal(0, 2, count).astype(np.float32)
    legal = np.arange(count) != 1 if masked else None
    draws, times, probabilities = 20_000, np.zeros(count), np.zeros(count)
    for i in range(draws):
        action, probabilities[action] = draw(logits, legal, exploration, (i + 0.5) / draws, kept=2)
        times[action] += 1
    np.testing.assert_allclose(times / draws, probabilities, atol=2.5 / draws)
    assert probabilities[2] > KEPT


def test_a_hopeless_action_that_is_kept_to_has_a_finite_logarithm() -> None:
    choice = draw(np.array([-1e4, 0.0, 0.0], np.float32), None, 0.0, 0.5, kept=0)
    assert choice.action == 0
    assert math.exp(math.log(choice.probability)) == pytest.approx(KEPT)
