"""Environments that break now and then do not end a run; those that always break do, with an explanation."""

from __future__ import annotations

import itertools
import logging
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.check.evaluation import Play
from understudy.errors import GameFailed, SettingsError
from understudy.games.game import open_game
from understudy.parallel.loop import TrainingLoopManager
from understudy.settings import Settings


class Shown(gymnasium.Env[Any, np.int64]):
    """The right action is shown; ten decisions. Now and then something goes wrong."""

    observation_space = gymnasium.spaces.Box(-1e6, 1e6, (3,), np.float32)
    action_space = gymnasium.spaces.Discrete(3)
    wrong: ClassVar[str] = ""
    rare = 100

    made = itertools.count()

    def __init__(self, **_: object) -> None:
        self._steps = 7 * next(self.made)  # not all matches at once

    def reset(self, *, seed: int | None = None, options: object = None) -> tuple[NDArray[np.float32], dict[str, Any]]:
        super().reset(seed=seed)
        self._age = 0
        return self._look(), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        reward = float(action == self._right)
        self._age += 1
        self._steps += 1
        now = self._steps % self.rare == 0
        if now and self.wrong == "step":
            raise RuntimeError("the simulator died")
        seen = self._look()
        if now and self.wrong == "state":
            seen[1] = np.nan
        if now and self.wrong == "reward":
            reward = float("inf")
        return seen, reward, self._age == 10, False, {}

    def _look(self) -> NDArray[np.float32]:
        self._right = int(self.np_random.integers(3))
        seen: NDArray[np.float32] = np.eye(3, dtype=np.float32)[self._right]
        return seen


class WrongStates(Shown):
    wrong = "state"


class WrongRewards(Shown):
    wrong = "reward"


class WrongSteps(Shown):
    wrong = "step"


class NothingButWrong(Shown):
    wrong, rare = "step", 1


class NeverBegins(Shown):
    def reset(self, *, seed: int | None = None, options: object = None) -> tuple[NDArray[np.float32], dict[str, Any]]:
        raise RuntimeError("no display")


class OtherObservations(Shown):
    observation_space = gymnasium.spaces.Box(-1, 1, (7,), np.float32)


class OfAnyLength(Shown):
    observation_space: Any = gymnasium.spaces.Sequence(gymnasium.spaces.Discrete(3))


gymnasium.register("Wrong/begin-v0", entry_point=NeverBegins)
gymnasium.register("Wrong/observation-v0", entry_point=OtherObservations, disable_env_checker=True)
gymnasium.register("Wrong/length-v0", entry_point=OfAnyLength)
gymnasium.register("Wrong/state-v0", entry_point=WrongStates)
gymnasium.register("Wrong/reward-v0", entry_point=WrongRewards)
gymnasium.register("Wrong/step-v0", entry_point=WrongSteps)
gymnasium.register("Wrong/always-v0", entry_point=NothingButWrong)


def learn(kind: str, decisions: int = 12_000) -> TrainingLoopManager:
    loop = TrainingLoopManager(f"gym:Wrong/{kind}-v0", Settings(), seed=0)
    loop.run(decisions=decisions)
    return loop


@pytest.mark.parametrize("kind", ["state", "reward", "step"])
def test_a_game_that_breaks_now_and_then_is_learned_all_the_same(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        loop = learn(kind)
    assert loop.stats.mean_return > 6
    assert loop.stats.refused_updates == 0
    said = {"state": "feature 1 of the states", "reward": "reward of inf", "step": "RuntimeError: the simulator died"}
    assert said[kind] in caplog.text
    assert loop.stats.restarts == 0
    game = open_game(f"gym:Wrong/{kind}-v0", 4)
    returns, _ = Play(game, loop.model, sample=False, seed=0).returns(8)
    assert np.isfinite(returns).all()


def test_an_environment_that_always_fails_ends_the_run_and_says_so() -> None:
    game = open_game("gym:Wrong/always-v0", 4)
    game.reset(np.random.SeedSequence(0))
    for _ in range(4):
        game.step(np.zeros(4, np.int64))
    with pytest.raises(GameFailed, match=r"failed 20 times within .* RuntimeError: the simulator died"):
        game.step(np.zeros(4, np.int64))


def test_an_episode_too_long_to_play_again_begins_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("understudy.games.gym._REPLAYED", 5)
    game = open_game("gym:CartPole-v1", 2)
    game.reset(np.random.SeedSequence(0))
    saved = []
    for step in range(7):
        game.step(np.array([step % 2, step % 2]))
        saved.append(game.snapshot())
    for steps, same in ((3, True), (7, False)):
        with caplog.at_level(logging.WARNING):
            found = open_game("gym:CartPole-v1", 2)
            bytes_ = saved[steps - 1]
            assert bytes_ is not None
            assert found.restore(bytes_).tolist() == [same, same]
    assert "an episode is longer than 5 decisions" in caplog.text


@pytest.mark.parametrize(
    ("kind", "error", "said"),
    [
        ("begin", GameFailed, "cannot begin an episode.*no display"),
        ("observation", GameFailed, r"not in Box\(-1.0, 1.0, \(7,\)"),
        ("length", SettingsError, "Sequence.*need a fixed length"),
    ],
)
def test_an_environment_that_cannot_be_opened_is_explained(kind: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        open_game(f"gym:Wrong/{kind}-v0", 2)
