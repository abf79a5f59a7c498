"""Games that raise, return what does not fit, or make numbers that are not finite."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

from understudy.errors import GameFailed
from understudy.games.game import Bools, Game, Singles, Step
from understudy.parallel.checked_game import CheckedGame

MATCHES = 3


class Wrong(Game):
    """Right until a test replaces something."""

    name, players, state_dim, masked = "wrong", 1, 2, True
    actions = ("A", "B")
    features = ("speed", "height")
    result: Any = None
    state: Any = 1.0
    allowed: Any = True

    def reset(self, seed: np.random.SeedSequence) -> None:
        raise ZeroDivisionError("no seed")

    def observe(self, out: Singles) -> None:
        out[:] = self.state

    def legal(self, out: Bools) -> None:
        out[:] = self.allowed

    def step(self, actions: np.ndarray[Any, Any]) -> Step:
        return self.result  # type: ignore[no-any-return]


def step(**changes: Any) -> Step:
    no = np.zeros(MATCHES, np.bool_)
    whole = Step(np.ones(MATCHES, np.float32), no, no, np.zeros((MATCHES, 2), np.float32), np.zeros(MATCHES, np.int8))
    return whole._replace(**changes)


def checked(**changes: Any) -> CheckedGame:
    game = Wrong(MATCHES)
    for name, value in changes.items():
        setattr(game, name, value)
    return CheckedGame(game)


ACTIONS = np.zeros(MATCHES, np.int64)
ALL = np.ones(MATCHES, np.bool_)


def test_what_a_game_raises_names_the_method_the_error_and_the_line() -> None:
    with pytest.raises(
        GameFailed, match=r"Wrong\.reset raised ZeroDivisionError: no seed \(.*test_checked_game\.py:\d+"
    ):
        checked().reset(np.random.SeedSequence(0))


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (None, "returned NoneType; it must return a Step"),
        (step(rewards=[1.0, 1.0, 1.0]), r"rewards is a list; it must be an array of shape \(3,\)"),
        (step(rewards=np.ones(2)), r"rewards has shape \(2,\); it must be an array of shape \(3,\)"),
        (step(over=np.zeros((3, 1), np.bool_)), r"over has shape \(3, 1\)"),
        (step(cut=ALL, finals=None), r"finals is a NoneType; it must be an array of shape \(3, 2\)"),
        (step(cut=ALL, final_sides=np.zeros(2)), r"final_sides has shape \(2,\)"),
    ],
)
def test_a_step_that_does_not_fit_is_described(result: Any, message: str) -> None:
    with pytest.raises(GameFailed, match=rf"Wrong\.step.*{message}"):
        checked(result=result).step(ACTIONS)


def test_last_states_are_only_needed_of_matches_that_were_cut() -> None:
    whole = step(finals=None, final_sides=None)
    assert checked(result=whole).step(ACTIONS) is whole


def test_a_match_without_a_legal_action_is_named() -> None:
    with pytest.raises(GameFailed, match=r"Wrong\.legal allows no action in match 1\. "):
        checked(allowed=np.array([[True, False], [False, False], [True, True]])).legal(np.ones((3, 2), np.bool_))


def test_states_that_are_not_finite_count_as_0_and_are_reported_now_and_then(caplog: pytest.LogCaptureFixture) -> None:
    states = np.array([[1, 2], [np.nan, 4], [np.inf, 6]], np.float32)
    game, out = checked(state=states), np.empty((3, 2), np.float32)
    with caplog.at_level(logging.WARNING):
        for _ in range(99):
            game.observe(out)
    assert out.tolist() == [[1, 2], [0, 4], [0, 6]]
    warning = "Wrong.observe wrote NaN or infinity into 'speed' of the states; it counts as 0."
    assert [r.message for r in caplog.records] == [warning, f"{warning} (10 times so far.)"]


def test_rewards_and_last_states_that_are_not_finite_count_as_0(caplog: pytest.LogCaptureFixture) -> None:
    finals = np.array([[np.nan, 1], [2, np.inf], [np.nan, 3]], np.float32)
    cut, rewards = np.array([True, True, False]), np.array([np.nan, 1, -np.inf], np.float32)
    given = step(finals=finals, cut=cut, rewards=rewards)
    with caplog.at_level(logging.WARNING):
        found = checked(result=given).step(ACTIONS)
    assert found.rewards.tolist() == [0, 1, 0]
    assert found.finals[cut].tolist() == [[0, 1], [2, 0]]
    assert np.isnan(given.rewards[0])
    assert np.isnan(given.finals[0, 0]), "the arrays belong to the game"
    assert "reward of nan" in caplog.text
    assert "'height'" in caplog.text


def test_a_step_without_any_finite_reward_is_an_error() -> None:
    with pytest.raises(
        GameFailed, match=r"Wrong\.step gave a reward of inf, which cannot be learned from, and no other"
    ):
        checked(result=step(rewards=np.full(3, np.inf))).step(ACTIONS)
