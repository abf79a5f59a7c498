"""Several bots train the same model at the same time: it becomes as good as with one after the other."""

from __future__ import annotations

import dataclasses
import math
import multiprocessing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.agent import RLAgent
from understudy.experience.episode import Episode
from understudy.models.live import Interface, LiveModel, new_model
from understudy.models.state import ModelState, rebase
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import NetworkSettings, Settings, TrainingSettings

FEATURES, ACTIONS, DECISIONS, GAMES = 4, 3, 10, 160
SETTINGS = Settings(
    network=NetworkSettings(hidden=(16,)), training=TrainingSettings(learning_rate=5e-3, gamma=0.0, epochs=8)
)
TOLERANCE = 0.1


def some_states(seed: int, *shape: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(size=(*shape, FEATURES)).astype(np.float32)


def right_actions(states: NDArray[np.float32]) -> NDArray[np.int64]:
    return np.asarray(states[:, :ACTIONS].argmax(axis=1))


def accuracy(model: LiveModel) -> float:
    states = some_states(0, 2000)
    logits, _ = model.network.evaluate(model.trainer.normalizer.apply(states), np.array([0]))
    return float(np.mean(logits.argmax(axis=1) == right_actions(states)))


# ---- bots in separate processes -------------------------------------------------------------------------------------


def agent_at(folder: str, seed: int) -> RLAgent:
    return RLAgent(FEATURES, ACTIONS, run_dir=folder, settings=SETTINGS, seed=seed, online_training=True)


def play(folder: str, seed: int, games: int, everybody: Barrier | None = None) -> None:
    """A bot whose every decision is paid at once."""
    with agent_at(folder, seed) as agent:
        for game in some_states(seed, games, DECISIONS):
            for state, right in zip(game, right_actions(game), strict=True):
                decision = agent.select_action(state)
                agent.observe_reward(float(decision.action == right))
            if everybody is not None:
                everybody.wait(300)  # all games end at the same time: every update meets those of all others
            assert agent.end_episode("Victory")["trained_online"]


def play_at_once(folder: str, bots: int) -> None:
    spawn = multiprocessing.get_context("spawn")
    everybody = spawn.Barrier(bots)
    games = GAMES // bots
    processes = [spawn.Process(target=play, args=(folder, 1 + bot, games, everybody)) for bot in range(bots)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * bots


def published(folder: Path) -> LiveModel:
    run = RunDir.at(folder)
    return LiveModel(ModelStore(run.model, run.ledger).load())


@pytest.fixture(scope="module")
def in_a_row(tmp_path_factory: pytest.TempPathFactory) -> float:
    """How good one bot becomes in as many games."""
    folder = tmp_path_factory.mktemp("run")
    play(str(folder), 1, GAMES)
    reached = accuracy(published(folder))
    assert reached > 0.85
    return reached


@pytest.mark.slow
@pytest.mark.parametrize("bots", [2, 4, 8])
def test_bots_that_train_at_the_same_time_reach_what_one_reaches_in_as_many_games(
    tmp_path: Path, in_a_row: float, bots: int
) -> None:
    agent_at(str(tmp_path), 0).close()
    play_at_once(str(tmp_path), bots)
    model = published(tmp_path)
    assert accuracy(model) > in_a_row - TOLERANCE
    assert (model.trainer.counters()["games"], model.version) == (GAMES, GAMES + 1)


def test_a_bot_whose_turn_does_not_come_trains_all_the_same(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    bot = RLAgent(FEATURES, ACTIONS, run_dir=tmp_path, settings=SETTINGS, online_training=True, online_seconds=0.02)
    with bot, ModelStore(run.model, run.ledger).turn(0.0) as taken:
        assert taken
        bot.select_action([0.0] * FEATURES)
        assert bot.end_episode("Victory")["trained_online"]
    assert published(tmp_path).version == 2


# ---- updates that are merged, since nobody waited -------------------------------------------------------------------


def learn_a_game(model: LiveModel, states: NDArray[np.float32], rng: np.random.Generator) -> None:
    logits, _ = model.network.evaluate(model.trainer.normalizer.apply(states), np.array([0]))
    probabilities = np.exp(logits - logits.max(axis=1, keepdims=True)).astype(np.float64)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    actions = np.array([rng.choice(ACTIONS, p=row) for row in probabilities])
    log_probs = np.log(probabilities[np.arange(DECISIONS), actions]).astype(np.float32)
    rewards = (actions == right_actions(states)).astype(np.float32)
    model.trainer.update([Episode(states, actions, rewards, log_probs)])


def merged_waves(trainers: int, games: int) -> ModelState:
    """In each wave all trainers begin from the same model, and their updates are merged one after the other."""
    first = new_model(Interface(FEATURES, ("a", "b", "c")), SETTINGS.network, SETTINGS.training, seed=1)
    head, model, rng = dataclasses.replace(first, version=1), LiveModel(first), np.random.default_rng(1)
    for wave in some_states(1, games // trainers, trainers, DECISIONS):
        base = head
        for states in wave:
            model.adopt(base)
            learn_a_game(model, states, rng)
            mine = model.export()
            merged = mine if head is base else rebase(head, base, mine)
            head = dataclasses.replace(merged, version=head.version + 1)
    return head


@pytest.mark.slow
@pytest.mark.parametrize("trainers", [2, 4, 8])
def test_updates_that_are_merged_teach_about_as_much_as_in_a_row(trainers: int) -> None:
    alone, together = LiveModel(merged_waves(1, 2 * GAMES)), LiveModel(merged_waves(trainers, 2 * GAMES))
    assert accuracy(together) > accuracy(alone) - TOLERANCE
    assert together.trainer.counters() | {"adam_steps": 0} == alone.trainer.counters() | {"adam_steps": 0}
    for name in ("adam_m", "adam_v"):
        largest = [float(np.abs(model.trainer.state_arrays()[name]).max()) for model in (alone, together)]
        assert largest[1] < 10 * largest[0]
    assert math.isclose(together.trainer.normalizer.count.item(), alone.trainer.normalizer.count.item())
