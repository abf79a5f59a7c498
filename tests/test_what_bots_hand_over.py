"""Bots hand over what they have, call from threads, and fork: what is clear is accepted, the rest refused."""

from __future__ import annotations

import enum
import gc
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from understudy import RLAgent, read_episode
from understudy.errors import RunDirError, SettingsError
from understudy.experience.episode import Episode
from understudy.experience.journal import orphans
from understudy.rundir import RunDir


def agent_at(run_dir: Path) -> RLAgent:
    return RLAgent(4, ("LEFT", "RIGHT", "STAY"), run_dir=run_dir, hidden=(8,), online_training=False, seed=1)


def play(agent: RLAgent) -> dict[str, Any]:
    for _ in range(5):
        agent.select_action([1, 2, 3, 4])
        agent.observe_reward(1.0)
    return agent.end_episode("Victory")


def saved_game(stats: dict[str, Any]) -> Episode:
    return read_episode(stats["saved"])


# ---- what bots hand over ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", [np.inf, 1e300, None], ids=["infinite", "too large for float32", "None"])
def test_a_feature_that_is_no_number_costs_no_game(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, state: float | None
) -> None:
    agent = agent_at(tmp_path)
    with np.errstate(over="ignore"):
        agent.select_action([state, 1, 2, 3])  # type: ignore[arg-type]
    agent.select_action([1e30, -1e30, 3e38, 3e38])  # large, and their sum infinite: but numbers
    game = saved_game(agent.end_episode("Victory"))
    np.testing.assert_array_equal(game.states[0], [0, 1, 2, 3])
    assert game.states[1, 2] == np.float32(3e38)
    assert caplog.text.count("counted as 0: feature 0.") == 1


@pytest.mark.parametrize(
    "state",
    [
        [1, 2, 3, 4],
        (1.0, 2, np.int64(3), True + 3),
        np.arange(1, 5),
        np.arange(1, 5, dtype=object),
        ["1", "2", "3", "4"],
    ],
    ids=["ints", "mixed", "int64", "objects", "text"],
)
def test_a_state_may_be_of_any_type_that_is_numbers(tmp_path: Path, state: Any) -> None:
    agent = agent_at(tmp_path)
    agent.select_action(state)
    np.testing.assert_array_equal(saved_game(agent.end_episode("Victory")).states, [[1, 2, 3, 4]])


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ([1, 2, 3], "not 3 values"),
        (np.ones((1, 4)), r"not an array of shape \(1, 4\)"),
        (np.ones((4, 1)), r"not an array of shape \(4, 1\)"),
        (3, "not int 3"),
        (None, "not NoneType None"),
        ("1234", "not str '1234'"),
        ({1, 2, 3, 4}, "not set"),
        ([1, 2, 3, "x"], "'x'"),
        ([10**400, 2, 3, 4], "not 4 values"),
        ([[1, 2], 3, 4, 5], r"\[1, 2\], 3"),
    ],
    ids=str,
)
def test_what_is_no_state_is_refused_and_the_game_goes_on(tmp_path: Path, state: Any, said: str) -> None:
    agent = agent_at(tmp_path)
    agent.select_action([1, 0, 0, 0])
    with pytest.raises(ValueError, match=f"A state has 4 features here, .*{said}"):
        agent.select_action(state)
    agent.observe_reward(2.0)
    assert saved_game(agent.end_episode("Victory")).rewards.tolist() == [2.0]


@pytest.mark.parametrize(
    "legal", [[0, 1, 1], [0.0, 1.0, 1.0], (False, True, True), np.array([0, 1, 1], np.uint8)], ids=str
)
def test_a_mask_may_be_zeros_and_ones(tmp_path: Path, legal: Any) -> None:
    agent = agent_at(tmp_path)
    assert {agent.select_action([0, 0, 0, 0], legal).action for _ in range(20)} <= {1, 2}
    assert saved_game(agent.end_episode("Victory")).legal.tolist() == [[False, True, True]] * 20  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "legal",
    [
        [0, 2, 1],
        {0, 1},
        "yes",
        1,
        [None, True, True],
        [[True, True, True]],
        [np.nan, 1, 1],
        iter([1, 1, 1]),
        [[1], 2, 3],
    ],
    ids=str,
)
def test_indices_of_actions_are_no_mask(tmp_path: Path, legal: Any) -> None:
    with pytest.raises(ValueError, match="A mask has True or False for each of the 3 actions, not"):
        agent_at(tmp_path).select_action([0, 0, 0, 0], legal)


@pytest.mark.parametrize(
    "reward", [np.array(1.5), np.array([1.5]), "1.5", np.float16(1.5), Fraction(3, 2), Decimal("1.5")], ids=repr
)
def test_a_reward_may_be_anything_that_is_a_number(tmp_path: Path, reward: Any) -> None:
    agent = agent_at(tmp_path)
    agent.select_action([0, 0, 0, 0])
    agent.observe_reward(reward)
    assert agent.end_episode("Victory")["total_reward"] == 1.5


@pytest.mark.parametrize("reward", [None, "won", [1.0], np.ones(2), 1j, {}], ids=repr)
def test_what_is_no_reward_is_refused_with_what_it_is(tmp_path: Path, reward: Any) -> None:
    agent = agent_at(tmp_path)
    agent.select_action([0, 0, 0, 0])
    with pytest.raises(TypeError, match="A reward is a number, not"):
        agent.observe_reward(reward)


def test_rewards_beyond_all_numbers_are_not_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    agent = agent_at(tmp_path)
    agent.select_action([0, 0, 0, 0])
    agent.observe_reward(10**400)
    agent.observe_reward(float("nan"))
    assert agent.end_episode("Victory")["total_reward"] == 0.0
    assert caplog.text.count("cannot be learned from; it is not counted") == 2


@pytest.mark.parametrize("result", [b"Victory", "won", True, np.True_, "Result.Victory"], ids=repr)
def test_a_victory_may_be_said_in_many_ways(tmp_path: Path, result: object) -> None:
    agent = agent_at(tmp_path)
    agent.select_action([0, 0, 0, 0])
    assert saved_game(agent.end_episode(result)).meta.result == "Victory"


@pytest.mark.parametrize("result", [1, 0, np.int64(-1), 0.5])
def test_a_number_as_result_is_warned_of(tmp_path: Path, caplog: pytest.LogCaptureFixture, result: object) -> None:
    agent = agent_at(tmp_path)
    agent.select_action([0, 0, 0, 0])
    assert agent.end_episode(result)["saved"] is not None
    assert "neither won nor lost. Say Victory, Defeat or Tie" in caplog.text


class _Order(enum.Enum):
    ATTACK = 7
    DEFEND = 8


@pytest.mark.parametrize(
    ("actions", "labels"),
    [
        (np.int64(2), ("action 0", "action 1")),
        (_Order, ("ATTACK", "DEFEND")),
        ([_Order.DEFEND, _Order.ATTACK], ("DEFEND", "ATTACK")),
        ([1, 2], ("1", "2")),
        (np.array(["A", "B"]), ("A", "B")),
        ({"A": 1, "B": 2}, ("A", "B")),
    ],
    ids=str,
)
def test_actions_may_be_named_by_anything_with_a_name(tmp_path: Path, actions: Any, labels: tuple[str, ...]) -> None:
    size: Any = np.int64(4)
    agent = RLAgent(size, actions, run_dir=tmp_path, features=list(_Features), online_training=False)
    play(agent)
    assert (agent.actions, agent.state_dim, agent.features) == (labels, 4, ("HP", "ORE", "ARMY", "TIME"))


_Features = enum.Enum("_Features", "HP ORE ARMY TIME")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"state_dim": "4"}, "state_dim is '4'"),
        ({"state_dim": 4.0}, "state_dim is 4.0"),
        ({"state_dim": 0}, "state_dim is 0"),
        ({"actions": "ABC"}, "actions is 'ABC'"),
        ({"actions": {"A", "B"}}, "in an order that stays the same"),
        ({"actions": 3.0}, "actions is 3.0"),
        ({"actions": ["A", None]}, "Action 1 has no label"),
        ({"actions": ["A"]}, "at least 2 actions, not 1"),
        ({"features": "abcd"}, "features is 'abcd'"),
        ({"seed": "x"}, "seed is 'x'"),
        ({"seed": -1}, "seed is -1"),
        ({"hidden": 8}, "hidden is 8"),
        ({"online_seconds": "20"}, "online_seconds is '20'"),
        ({"settings": {}}, "load_settings"),
        ({"run_dir": ""}, "The name of the run directory is empty"),
    ],
    ids=str,
)
def test_arguments_that_mean_nothing_are_refused(tmp_path: Path, wrong: dict[str, Any], said: str) -> None:
    with pytest.raises((SettingsError, RunDirError), match=said):
        RLAgent(**{"state_dim": 4, "actions": ("A", "B"), "run_dir": tmp_path, **wrong})


def test_a_run_directory_that_is_a_file_is_said_and_the_bot_plays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    assert play(agent_at(tmp_path / "file"))["saved"] is None
    assert "nothing is recorded" in caplog.text


def test_a_model_is_never_saved_in_place_of_something_else(tmp_path: Path) -> None:
    agent = agent_at(tmp_path / "run")
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="Something other than a file"):
        agent.save_model(tmp_path / "folder")
    with pytest.raises(FileNotFoundError, match=r"nowhere.m\.npz'"):
        agent.save_model(tmp_path / "nowhere" / "m.npz")


# ---- threads and forks ----------------------------------------------------------------------------------------------


def test_threads_that_share_an_agent_lose_no_decision(tmp_path: Path) -> None:
    agent = agent_at(tmp_path)
    saved: list[int] = []

    def game(_: int) -> None:
        for number in range(20):
            agent.select_action(np.full(4, number))
            agent.observe_reward(1.0)
        saved.append(agent.end_episode("Victory")["steps"])

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(game, range(6)))
    finally:
        sys.setswitchinterval(before)
    assert sum(saved) == 120
    assert sum(len(read_episode(path)) for path in (tmp_path / "data" / "buffer").glob("*.npz")) == 120


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_cannot_play_the_game_of_its_parent(tmp_path: Path) -> None:
    run = RunDir.at(tmp_path)
    agent = agent_at(tmp_path)
    agent.select_action([1, 0, 0, 0])
    child = os.fork()
    if child == 0:
        refused = 0
        for call in (
            lambda: agent.select_action([0] * 4),
            lambda: agent.observe_reward(1),
            agent.end_episode,
        ):
            try:
                call()
            except RuntimeError as error:
                refused += "Make another one in this process" in str(error)
        agent.close()
        del agent
        gc.collect()
        os._exit(refused)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    assert list(orphans(run.live)) == [], "the parent still holds the journal of its game"
    agent.select_action([1, 0, 0, 0])
    assert agent.end_episode("Victory")["steps"] == 2
