from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.errors import MatchesDamaged, SettingsError
from understudy.games import tictactoe
from understudy.games.drift import PUSH, Drift
from understudy.games.game import Game, open_game
from understudy.games.gym import GymnasiumGame
from understudy.games.images import image_of
from understudy.games.saved import pack
from understudy.games.spec import GameSpec
from understudy.games.tictactoe import TicTacToe
from understudy.networks.factory import model_factory
from understudy.settings import NetworkSettings


def states_of(game: Game) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    out = np.empty((game.matches, game.state_dim), np.float32)
    game.observe(out)
    return out


def masks_of(game: Game) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    out = np.empty((game.matches, len(game.actions)), np.bool_)
    game.legal(out)
    return out


def winner(board: list[int]) -> int | None:
    """Who has three in a row, the slow way; squares hold 0, 1 or −1 for empty."""
    cells = {(i // 3, i % 3): owner for i, owner in enumerate(board) if owner >= 0}
    for (row, column), (down, right) in itertools.product(
        itertools.product(range(3), repeat=2), ((0, 1), (1, 0), (1, 1), (1, -1))
    ):
        three = [cells.get((row + k * down, column + k * right)) for k in range(3)]
        if three[0] is not None and three.count(three[0]) == 3:
            return three[0]
    return None


def test_tic_tac_toe_follows_the_rules_in_every_match_of_a_batch() -> None:
    game = TicTacToe(16)
    game.reset(np.random.SeedSequence(0))
    rng = np.random.default_rng(0)
    boards = [[-1] * 9 for _ in range(16)]
    turns = [0] * 16
    won = drawn = 0
    for _ in range(200):
        np.testing.assert_array_equal(masks_of(game), [[square < 0 for square in board] for board in boards])
        np.testing.assert_array_equal(game.to_move(), turns)
        own = [[square == turn for square in board] for board, turn in zip(boards, turns, strict=True)]
        other = [[square == 1 - turn for square in board] for board, turn in zip(boards, turns, strict=True)]
        np.testing.assert_array_equal(states_of(game), np.hstack([own, other]))
        actions = np.array([rng.choice(np.flatnonzero(mask)) for mask in masks_of(game)])
        step = game.step(actions)
        for match, action in enumerate(actions):
            boards[match][action] = turns[match]
            wins = winner(boards[match]) == turns[match]
            over = wins or -1 not in boards[match]
            assert (step.rewards[match], step.over[match], step.cut[match]) == (float(wins), over, False)
            won, drawn = won + wins, drawn + (over and not wins)
            turns[match] = 0 if over else 1 - turns[match]
            if over:
                boards[match] = [-1] * 9
    assert won > 100
    assert drawn > 10


def test_drift_is_the_recurrence_that_it_says() -> None:
    game = Drift(3)
    game.reset(np.random.SeedSequence(7))
    rng = np.random.default_rng(np.random.SeedSequence(7))
    x = rng.standard_normal((3, 50), np.float32)
    for age in range(1, 303):
        np.testing.assert_allclose(states_of(game), x, rtol=1e-5, atol=1e-5)
        actions = np.array([age % 8, 1, 7])
        step = game.step(actions)
        np.testing.assert_allclose(step.rewards, x[np.arange(3), actions], atol=1e-5)
        x = 0.9 * x + 0.436 * rng.standard_normal((3, 50), np.float32) + PUSH[actions]
        assert step.cut.tolist() == [age == 300] * 3
        assert not step.over.any()
        if age == 300:
            np.testing.assert_allclose(step.finals, x, atol=1e-5)
            x = rng.standard_normal((3, 50), np.float32)


def test_a_pole_that_falls_is_over_and_a_time_limit_is_a_cut() -> None:
    game = open_game("gym:CartPole-v1", 2)
    game.reset(np.random.SeedSequence(2))
    over = cut = 0
    for t in range(1200):
        before = states_of(game)
        upright = (before[0, 2] + before[0, 3] > 0).astype(int)  # keeps the pole of the first match up
        step = game.step(np.array([upright, 1]))
        assert not (step.over & step.cut).any()
        over, cut = over + step.over[1], cut + step.cut[0]
        if step.cut[0]:
            assert t % 500 == 499
            assert np.abs(step.finals[0]).max() > 0
            assert np.abs(states_of(game)[0]).max() <= 0.05  # a new match begins near the middle
    assert over > 50
    assert cut == 2
    game.close()


def test_a_package_with_a_function_that_registers_its_environments_is_asked_to() -> None:
    pytest.importorskip("minatar", reason="MinAtar comes with the extra bench")
    assert open_game("gym:minatar:MinAtar/Breakout-v1", 1).state_dim == 10 * 10 * 4


def test_packages_that_register_environments_are_imported_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cartpole = "gymnasium.envs.classic_control:CartPoleEnv"
    text = f"import gymnasium\ngymnasium.register('Mine-v0', entry_point='{cartpole}')\n"
    (tmp_path / "my_environments.py").write_text(text)
    (tmp_path / "broken_environments.py").write_text("1 / 0")
    monkeypatch.setattr(sys, "path", sys.path[:])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"cannot make 'Mine-v0'.*--import"):
        open_game("gym:Mine-v0", 1)
    game = open_game("gym:json:my_environments:Mine-v0", 1)
    assert (game.name, game.state_dim) == ("Mine-v0", 4)
    with pytest.raises(SettingsError, match=r"--import broken_environments fails \(ZeroDivisionError"):
        open_game("gym:broken_environments:CartPole-v1", 1)
    with pytest.raises(SettingsError, match=r"--import no_such_module fails.*current folder"):
        open_game("gym:no_such_module:CartPole-v1", 1)


def test_the_same_seed_gives_the_same_matches() -> None:
    games = [GymnasiumGame("CartPole-v1", 3) for _ in range(2)]
    for game in games:
        game.reset(np.random.SeedSequence(5))
    for t in range(60):
        np.testing.assert_array_equal(states_of(games[0]), states_of(games[1]))
        for game in games:
            game.step(np.array([t % 2, 1, 0]))
    assert len({row.tobytes() for row in states_of(games[0])}) == 3


def play_at_random(game: Game, rng: np.random.Generator, steps: int) -> list[bytes]:
    """What a game shows and gives, step by step."""
    seen = []
    for _ in range(steps):
        legal = masks_of(game) if game.masked else np.ones((game.matches, len(game.actions)), np.bool_)
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in legal])
        step = game.step(actions)
        seen += [states_of(game).tobytes(), step.rewards.tobytes(), step.over.tobytes(), step.cut.tobytes()]
    return seen


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tictactoe", "drift", "gym:CartPole-v1", "gym:Taxi-v4", "gym:FrozenLake-v1"])
def test_restored_matches_go_on_as_those_that_were_saved(name: str) -> None:
    game, other = open_game(name, 5), open_game(name, 5)
    game.reset(np.random.SeedSequence(3))
    other.reset(np.random.SeedSequence(4))
    play_at_random(game, np.random.default_rng(0), 77)
    saved = game.snapshot()
    assert saved is not None
    assert other.restore(saved).tolist() == [True] * 5
    np.testing.assert_array_equal(states_of(game), states_of(other))
    np.testing.assert_array_equal(game.to_move(), other.to_move())
    assert play_at_random(game, np.random.default_rng(1), 400) == play_at_random(other, np.random.default_rng(1), 400)


@pytest.mark.parametrize("name", ["tictactoe", "drift", "gym:CartPole-v1"])
def test_a_snapshot_that_is_not_one_of_these_matches_is_refused(name: str) -> None:
    game = open_game(name, 2)
    game.reset(np.random.SeedSequence(0))
    more = open_game(name, 3)
    more.reset(np.random.SeedSequence(0))
    for wrong in (b"", b"junk", more.snapshot() or b"", pack({}, {})):
        with pytest.raises(MatchesDamaged):
            game.restore(wrong)


class Moody(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Shows what no seed decides."""

    observation_space = gymnasium.spaces.Box(-1, 1, (1,))
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, **_: object) -> None:
        super().__init__()

    def reset(self, *, seed: int | None = None, options: object = None) -> tuple[NDArray[np.float32], dict[str, Any]]:
        return np.zeros(1, np.float32), {}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        mood = np.float32(np.random.default_rng().random() if action else 0)
        return np.array([mood]), 0.0, False, False, {}


def test_an_environment_that_plays_another_game_the_second_time_begins_anew_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    gymnasium.register("Moody-v0", entry_point=Moody, disable_env_checker=True)
    try:
        game = GymnasiumGame("Moody-v0", 3)
        game.reset(np.random.SeedSequence(0))
        game.step(np.array([0, 1, 0]))
        going = game.restore(game.snapshot())
    finally:
        del gymnasium.registry["Moody-v0"]
    assert going.tolist() == [True, False, True]
    assert "Moody-v0 cannot be resumed exactly" in caplog.text
    assert "1 of 3 matches start again" in caplog.text
    assert states_of(game).tolist() == [[0], [0], [0]]


@pytest.mark.parametrize("name", ["tictactoe", "drift", "gym:CartPole-v1"])
def test_single_matches_begin_anew_when_asked(name: str) -> None:
    game = open_game(name, 3)
    game.reset(np.random.SeedSequence(3))
    game.step(np.array([1, 1, 1]))
    before = states_of(game)
    assert game.begin_anew(np.array([False, True, False])).tolist() == [False, True, False]
    changed = (states_of(game) != before).any(axis=1)
    assert changed.tolist() == [False, True, False]
    assert game.to_move()[1] == 0


def test_images_are_shown_row_by_row_with_the_channels_of_a_pixel_together() -> None:
    games = [open_game(f"gym:parallel.small_envs:{name}-v0", 3) for name in ("Dots", "DotsFirst")]
    for game in games:
        game.reset(np.random.SeedSequence(1))
        assert game.model_settings()["network"]["image"] == (6, 6, 2)
        assert game.model_settings()["training"] == {"normalize_states": False}
    for _ in range(12):
        np.testing.assert_array_equal(states_of(games[0]), states_of(games[1]))
        assert states_of(games[0]).sum(axis=1).tolist() == [1, 1, 1]
        for game in games:
            game.step(np.zeros(3, np.int64))


@pytest.mark.parametrize(
    ("shape", "high", "network", "training"),
    [
        ((7, 7, 3), 255, {"image": (7, 7, 3), "filters": (16,)}, {}),
        ((4, 84, 84), 255, {"image": (84, 84, 4), "filters": (16, 32), "strides": (4, 2), "hidden": (256,)}, {}),
        ((10, 10, 10), 1, {"image": (10, 10, 10), "kernels": (3,), "hidden": (128,)}, {"normalize_states": False}),
    ],
)
def test_images_have_a_network_that_fits(
    shape: tuple[int, ...], high: int, network: dict[str, Any], training: dict[str, Any]
) -> None:
    image = image_of(gymnasium.spaces.Box(0, high, shape, np.uint8), "x")
    assert image is not None
    assert network.items() <= image.settings["network"].items()
    assert image.settings["training"] == training
    own = NetworkSettings(**image.settings["network"])
    model_factory(int(np.prod(shape)), 3, own, np.random.default_rng(0))


def test_what_is_no_image_has_the_general_network() -> None:
    spaces = gymnasium.spaces
    for space in (spaces.Box(0, 1, (9,)), spaces.Box(0, 1, (9, 9)), spaces.Box(0, 1, (2, 5, 2)), spaces.Discrete(3)):
        assert image_of(space, "x") is None
    assert open_game("gym:CartPole-v1", 1).model_settings() == {}


def test_images_that_are_too_large_are_refused_with_advice() -> None:
    with pytest.raises(SettingsError, match=r"120 × 120 pixels.*ResizeObservation"):
        open_game("gym:parallel.small_envs:LargeDots-v0", 1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("chess", "There is no game 'chess'. Known games: animalshogi, drift, gym, minishogi, shogi, tictactoe, zerg"),
        ("gym:NoSuch-v0", "Gymnasium cannot make 'NoSuch-v0'"),
        ("gym:Pendulum-v1", "only Discrete ones"),
        ("nowhere.at_all:Game", "neither installed nor a file in the current folder"),
        ("understudy.games.drift:Nothing", "cannot be imported"),
    ],
)
def test_a_game_that_cannot_be_played_is_a_clear_error(name: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        open_game(name, 1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"players": 3}, r"Mine\.players is 3; it must be 1 or 2"),
        ({"state_dim": 2.0}, r"Mine\.state_dim is 2\.0; it must be a whole number above 0"),
        ({"actions": "ab"}, r"Mine\.actions is 'ab'; it must be a tuple of labels"),
        ({"actions": 2}, r"Mine\.actions is 2; it must be a tuple of labels"),
        ({"actions": ()}, r"Mine\.actions is \(\)"),
        ({"masked": None}, r"Mine\.masked is None; it must be True or False"),
        ({"name": 5}, r"Mine\.name is 5; it must be a text"),
        ({"__init__": lambda self, _: None}, r"Mine\.matches is missing; .*super\(\)\.__init__"),
    ],
)
def test_attributes_that_do_not_fit_the_interface_are_named(
    changes: dict[str, object], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tictactoe, "Mine", type("Mine", (tictactoe.TicTacToe,), changes), raising=False)
    with pytest.raises(SettingsError, match=message):
        open_game("understudy.games.tictactoe:Mine", 2)


def test_a_missing_attribute_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    methods = {name: lambda *_: None for name in ("reset", "observe", "step")}
    monkeypatch.setattr(tictactoe, "Bare", type("Bare", (Game,), {"name": "bare", **methods}), raising=False)
    with pytest.raises(SettingsError, match=r"Bare\.players is missing; it must be 1 or 2 \(docs/add-a-game\.md\)"):
        open_game("understudy.games.tictactoe:Bare", 2)


@pytest.mark.parametrize(
    ("fields", "message"),
    [({"axes": ("side",)}, "`axes` must hold ResultAxis objects"), ({"rivals": ["random"]}, "`rivals` must map names")],
)
def test_a_spec_with_fields_of_another_type_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        GameSpec(name="mine", **fields)
