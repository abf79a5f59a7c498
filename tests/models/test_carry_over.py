"""A bot that changes its features or actions keeps what it learned."""

from __future__ import annotations

import dataclasses
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy import RLAgent
from understudy.errors import ModelMismatch, SettingsError
from understudy.models.carry_over import carried_over, fitted
from understudy.models.live import Interface, LiveModel, new_model
from understudy.models.state import ModelState
from understudy.models.store import ModelStore
from understudy.rundir import RunDir

FEATURES = ("health", "gold", "enemies", "time")
ACTIONS = ("ATTACK", "DEFEND", "EXPAND")
SCALES = np.array([1.0, 500.0, 20.0, 1000.0])

Floats = NDArray[Any]


def states(count: int, seed: int = 0) -> Floats:
    return np.asarray(np.random.default_rng(seed).random((count, 4)) * SCALES, np.float32)


def play(agent: RLAgent, games: int, seed: int, columns: list[int] | None = None) -> float:
    """Games in which the best action depends on the features; the mean reward of a decision."""
    total = 0.0
    for game in range(games):
        rows = states(20, seed + game)
        for row in rows:
            shown = row if columns is None else row[columns]
            decision = agent.select_action(shown)
            wanted = ("ATTACK", "DEFEND")[int(row[0] > 0.5)]
            reward = float(decision.label == wanted)
            agent.observe_reward(reward)
            total += reward
        agent.end_episode("Victory")
    return total / (20 * games)


def trained(folder: Path, **given: Any) -> ModelState:
    with RLAgent(4, ACTIONS, run_dir=folder, features=FEATURES, online_training=True, seed=1, **given) as agent:
        play(agent, 12, 0)
    return store_of(folder).load()


def store_of(folder: Path) -> ModelStore:
    run = RunDir.at(folder)
    return ModelStore(run.model, run.ledger)


def probabilities(state: ModelState, rows: Floats) -> tuple[Floats, Floats]:
    model = LiveModel(state)
    logits, values = model.network.forward(model.trainer.normalizer.apply(rows))
    wide = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    return wide / wide.sum(axis=1, keepdims=True), model.trainer.values.expand(values.copy())


NETWORKS: list[dict[str, Any]] = [{}, {"policy": "transformer"}, {"hidden": ()}]


@pytest.fixture(params=NETWORKS, ids=["mlp", "transformer", "linear"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> ModelState:
    return trained(tmp_path, **request.param)


def test_reordered_features_and_actions_give_the_same_probabilities(model: ModelState) -> None:
    order, actions = [2, 0, 3, 1], [1, 2, 0]
    new, report = carried_over(model, [FEATURES[i] for i in order], [ACTIONS[i] for i in actions])
    rows = states(50, 9)
    before, values = probabilities(model, rows)
    after, new_values = probabilities(new, rows[:, order])
    np.testing.assert_allclose(after, before[:, actions], atol=1e-6)
    np.testing.assert_allclose(new_values, values, atol=1e-5)
    assert str(report) == "features: 4 kept; actions: 3 kept"
    assert before.std(axis=0).max() > 0.01, "an untrained policy would show nothing"


def test_a_new_feature_changes_nothing_at_first(model: ModelState) -> None:
    new, report = carried_over(model, ("weather", *FEATURES), ACTIONS)
    rows = states(50, 9)
    wild = np.random.default_rng(3).normal(0, 1000, (50, 1)).astype(np.float32)
    before, _ = probabilities(model, rows)
    after, _ = probabilities(new, np.concatenate([wild, rows], axis=1))
    np.testing.assert_allclose(after, before, atol=1e-6)
    assert "1 new (weather)" in str(report)


def test_a_removed_feature_counts_as_its_mean(model: ModelState) -> None:
    new, report = carried_over(model, FEATURES[:3], ACTIONS)
    rows = states(50, 9)
    rows[:, 3] = LiveModel(model).trainer.normalizer.mean[3]
    before, _ = probabilities(model, rows)
    after, _ = probabilities(new, rows[:, :3])
    np.testing.assert_allclose(after, before, atol=1e-6)
    assert "1 removed (time)" in str(report)


def test_renamed_features_and_actions_keep_their_weights(model: ModelState) -> None:
    renamed = {"gold": "minerals", "ATTACK": "RAID"}
    new, report = carried_over(model, ("health", "minerals", "enemies", "time"), ("RAID", *ACTIONS[1:]), renamed)
    rows = states(50, 9)
    np.testing.assert_allclose(probabilities(new, rows)[0], probabilities(model, rows)[0], atol=1e-6)
    assert "gold → minerals" in str(report)
    again, report = carried_over(new, new.features or (), new.spec.actions, renamed)  # the map stays in the code
    assert again.features == new.features
    assert not report.features.renamed


def test_other_actions_keep_their_proportions(model: ModelState) -> None:
    rows = states(50, 9)
    before, _ = probabilities(model, rows)
    fewer, _ = probabilities(carried_over(model, FEATURES, ACTIONS[:2])[0], rows)
    np.testing.assert_allclose(fewer, before[:, :2] / before[:, :2].sum(axis=1, keepdims=True), atol=1e-6)
    more, _ = probabilities(carried_over(model, FEATURES, (*ACTIONS, "HIDE"))[0], rows)
    np.testing.assert_allclose(more[:, :3] / more[:, :3].sum(axis=1, keepdims=True), before, atol=1e-6)
    geometric = np.exp(np.log(more[:, :3]).mean(axis=1))  # the mean logit
    np.testing.assert_allclose(more[:, 3], geometric, rtol=1e-4)


def test_networks_with_a_value_of_their_own(tmp_path: Path) -> None:
    state = trained(tmp_path)
    network = dataclasses.replace(state.spec.network, separate=not state.spec.network.separate)
    other = new_model(Interface(4, ACTIONS, None, FEATURES), network, state.training, seed=5)
    noise = np.random.default_rng(5).normal(0, 0.3, other.arrays["parameters"].size).astype(np.float32)
    other = dataclasses.replace(other, arrays={**other.arrays, "parameters": noise})
    new, _ = carried_over(other, FEATURES[::-1], ACTIONS[::-1])
    rows = states(20, 2)
    np.testing.assert_allclose(probabilities(new, rows[:, ::-1])[0], probabilities(other, rows)[0][:, ::-1], atol=1e-6)


def test_an_agent_with_other_features_goes_on_and_learns(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = trained(tmp_path)
    names = ("gold", "health", "weather")
    with caplog.at_level(logging.WARNING):
        agent = RLAgent(3, (*ACTIONS, "HIDE"), run_dir=tmp_path, features=names, online_training=True, seed=2)
    assert "2 kept, 1 new (weather), 2 removed (enemies, time)" in caplog.text
    assert store_of(tmp_path).load().version == before.version + 1
    with agent:
        first = play(agent, 4, 100, [1, 0, 2])
        play(agent, 80, 200, [1, 0, 2])
        last = play(agent, 4, 300, [1, 0, 2])
    assert last > first
    assert last > 0.6
    assert store_of(tmp_path).load().counters["games"] > before.counters["games"]


def test_versions_of_before_follow_the_change(tmp_path: Path) -> None:
    before = trained(tmp_path)
    RLAgent(3, ACTIONS, run_dir=tmp_path, features=FEATURES[:3]).close()
    store = store_of(tmp_path)
    rolled_back = store.rollback(before.version)
    assert rolled_back.features == FEATURES[:3]
    assert fitted(before, rolled_back).spec == rolled_back.spec
    RLAgent(3, ACTIONS, run_dir=tmp_path, features=FEATURES[:3]).close()
    assert store.load().version == rolled_back.version, "nothing was left to change"


def test_without_names_a_model_is_refused_as_before(tmp_path: Path) -> None:
    RLAgent(4, ACTIONS, run_dir=tmp_path).close()
    with pytest.raises(ModelMismatch, match="state_dim: 4 there, 5 here"):
        RLAgent(5, ACTIONS, run_dir=tmp_path)


def test_a_map_of_unknown_names_is_refused(model: ModelState) -> None:
    with pytest.raises(SettingsError, match="the model has neither"):
        carried_over(model, FEATURES, ACTIONS, {"golld": "gold2"})
    with pytest.raises(SettingsError, match="no feature or action 'minerals'"):
        carried_over(model, FEATURES, ACTIONS, {"gold": "minerals"})
    with pytest.raises(ModelMismatch, match="another list of features: it has none of the present names"):
        carried_over(model, ("a", "b"), ACTIONS)
    with pytest.raises(ModelMismatch, match="None of the model's actions"):
        carried_over(model, FEATURES, ("LEFT", "RIGHT"))
