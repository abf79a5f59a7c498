from __future__ import annotations

import warnings

import numpy as np
import pytest
from pettingzoo.test import api_test

from games.shogi import slow_shogi
from understudy.games.shogi.actions import PolicyOutputMapper
from understudy.games.shogi.environment import ShogiEnvironment
from understudy.games.shogi.errors import GameError

MATE_IN_ONE = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"


def index(usi: str, turn: int = 0) -> int:
    return PolicyOutputMapper().shogi_move_to_policy_index(usi, turn)


@pytest.mark.parametrize("max_moves", [500, 30])
def test_pettingzoo_accepts_the_environment(max_moves: int, capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # It knows dictionaries with a mask from its own board games, by their names only.
        warnings.filterwarnings("ignore", message="Observation")
        api_test(ShogiEnvironment(max_moves), num_cycles=1_000)
    assert "Passed API test" in capsys.readouterr().out


def test_the_winner_gets_one_and_the_loser_minus_one() -> None:
    environment = ShogiEnvironment(sfen=MATE_IN_ONE)
    environment.reset()
    environment.step(index("G*5b"))
    assert environment.rewards == {"player_0": 1, "player_1": -1}
    assert all(environment.terminations.values())
    assert not any(environment.truncations.values())
    assert environment.infos["player_1"] == {"ending": "mate"}


def test_a_cut_game_is_truncated_without_reward() -> None:
    environment = ShogiEnvironment(max_moves=1)
    environment.reset()
    environment.step(index("7g7f"))
    assert environment.rewards == {"player_0": 0, "player_1": 0}
    assert all(environment.truncations.values())
    assert not any(environment.terminations.values())


def test_only_the_player_to_move_has_legal_actions() -> None:
    environment = ShogiEnvironment()
    environment.reset()
    environment.step(index("7g7f"))
    assert environment.agent_selection == "player_1"
    assert environment.observe("player_1")["action_mask"].sum() == 30
    assert environment.observe("player_0")["action_mask"].sum() == 0
    sfen = environment.game.board.sfen()
    np.testing.assert_allclose(environment.observe("player_1")["observation"], slow_shogi.planes(sfen, 1 / 500, 0))


def test_an_illegal_action_is_an_error_and_leaves_the_game_alone() -> None:
    environment = ShogiEnvironment()
    environment.reset()
    with pytest.raises(GameError, match="not legal"):
        environment.step(index("7g7e"))
    with pytest.raises(GameError, match="None"):
        environment.step(None)
    assert environment.agent_selection == "player_0"


def test_the_board_is_rendered_as_text() -> None:
    environment = ShogiEnvironment(render_mode="ansi")
    environment.reset()
    assert "P7+FU" in (environment.render() or "")
