"""One game of any bot: what is decided when, what is rewarded, and what is left behind however it ends."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from understudy.agent import RLAgent
from understudy.experience.episode import read_episode
from understudy.rundir import RunDir
from understudy.sc2.opponents import OpponentMemory, nothing_known
from understudy.sc2.session import BotSession
from understudy.settings import StorageSettings

STRATEGIES = ("ATTACK", "DEFEND")


def session(run: Path, **options: Any) -> BotSession:
    agent = RLAgent(2, STRATEGIES, run_dir=run, features=("gold", "army"), online_training=False, gamma=0.9, seed=0)
    return BotSession(agent, memory=OpponentMemory(run / "opponents.json", STRATEGIES), **options)


def saved(run: Path) -> Any:
    (path,) = RunDir.at(run).buffer.glob("*.npz")
    return read_episode(path, StorageSettings())


def test_a_decision_is_due_at_intervals_of_game_time(tmp_path: Path) -> None:
    game = session(tmp_path, decision_seconds=4.0)
    game.begin()
    decided = []
    for tick in range(100):
        if game.due(tick / 4):
            game.decide([0.0, 0.0], seconds=tick / 4)
            decided.append(tick / 4)
    assert decided == [0.0, 4.0, 8.0, 12.0, 16.0, 20.0, 24.0]


def test_rewards_are_the_changes_of_the_potential_and_the_result_and_telescope(tmp_path: Path) -> None:
    game = session(tmp_path)
    game.begin("somebody", 1)
    for potential in (0.1, 0.4, -0.2):
        game.decide([0.0, 0.0], potential=potential)
    game.reward(0.25)
    game.end("Victory", race=1)
    episode = saved(tmp_path)
    expected = [0.9 * 0.4 - 0.1, 0.9 * -0.2 - 0.4, 0.25 + 1.0 + 0.2]
    assert episode.rewards == pytest.approx(expected, abs=1e-6)
    assert sum(r * 0.9**t for t, r in enumerate(expected)) == pytest.approx(0.9**2 * (1.0 + 0.25) - 0.1)
    assert (episode.meta.opponent_id, episode.meta.opponent_race) == ("somebody", "Terran")


def test_the_first_end_counts_and_a_cut_game_has_its_last_state(tmp_path: Path) -> None:
    game = session(tmp_path)
    game.begin("somebody", 2)
    game.decide([1.0, 2.0], potential=0.5)
    first = game.end("Crash", state=lambda: [3.0, 4.0])
    assert game.end("Victory") is first
    episode = saved(tmp_path)
    assert episode.final_state.tolist() == [3.0, 4.0]
    assert (episode.meta.result, episode.rewards.tolist()) == ("Crash", [0.0])
    assert not (tmp_path / "opponents.json").exists(), "a crash says nothing about the opponent"


def test_a_game_that_never_began_leaves_nothing(tmp_path: Path) -> None:
    game = session(tmp_path)
    assert game.end("Defeat")["steps"] == 0
    assert list(RunDir.at(tmp_path).buffer.glob("*.npz")) == []


def test_the_memory_gets_the_strategy_that_the_game_began_with(tmp_path: Path) -> None:
    game = session(tmp_path, explore=False)
    game.begin("somebody", 3, opening="wall")
    for second in range(0, 200, 4):
        game.decide([0.0, 0.0], seconds=second)
    played = STRATEGIES.index(game.strategy)
    game.end("Defeat", race=3, rushed=True)
    forecast = session(tmp_path).expect("somebody", 3)
    assert forecast.won[played] < 0.5 == forecast.won[1 - played]
    assert forecast.rushes > nothing_known(STRATEGIES).rushes
    memory = OpponentMemory(tmp_path / "opponents.json", STRATEGIES)
    assert memory.choose_opening("somebody", 3, {"wall": 0.5, "expand": 0.5}) == "expand"


def test_a_trial_keeps_to_the_strategy_that_the_memory_draws(tmp_path: Path) -> None:
    memory = OpponentMemory(tmp_path / "opponents.json", STRATEGIES)
    for _ in range(20):
        memory.record("somebody", 1, "Victory", rushed=False, start="DEFEND")
        memory.record("somebody", 1, "Defeat", rushed=False, start="ATTACK")
    agent = RLAgent(2, STRATEGIES, run_dir=tmp_path, features=("gold", "army"), online_training=False, seed=0)
    tried: list[int | None] = []
    agent._draw_commitment = tried.append  # type: ignore[method-assign,assignment]
    for number in range(10):
        BotSession(agent, memory=memory, chance=random.Random(number)).begin("somebody", 1)
    assert tried == [STRATEGIES.index("DEFEND")] * 10
