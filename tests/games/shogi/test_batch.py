from __future__ import annotations

import cshogi
import numpy as np
import pytest
from numpy.typing import NDArray

from games.shogi import slow_shogi
from games.shogi.random_games import random_positions
from understudy.games.shogi.actions import ACTIONS, PolicyOutputMapper
from understudy.games.shogi.batch import PLANES, SHAPE, ShogiBatch, observe
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.rules import Ending, ShogiGame


def arrays(n: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Filled with rubbish, which must not shine through."""
    return np.full((n, *SHAPE), 7, np.float32), np.ones((n, ACTIONS), np.bool_)


def draw(legal: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
    return np.array([rng.choice(np.flatnonzero(row)) for row in legal])


@pytest.mark.slow
def test_planes_and_masks_of_10000_random_positions_are_those_of_the_slow_builder() -> None:
    batch, rng, mapper = ShogiBatch(40, max_moves=300), np.random.default_rng(0), PolicyOutputMapper()
    planes, legal = arrays(40)
    for _ in range(260):
        batch.observe(planes, legal)
        for i, game in enumerate(batch.games):
            assert legal[i].sum() == len(game.legal_moves)
            expected = slow_shogi.planes(game.board.sfen(), len(game.moves) / 300, (game.occurrences - 1) / 3)
            np.testing.assert_allclose(planes[i], expected, atol=1e-7)
        assert all((legal[i] == mapper.get_legal_mask(batch.games[i].board)).all() for i in range(0, 40, 10))
        batch.reset(np.flatnonzero(batch.step(draw(legal, rng), legal).over))


def test_the_repetition_plane_counts_earlier_occurrences() -> None:
    game = ShogiGame()
    planes, _ = arrays(1)
    for expected in (0, 1 / 3, 2 / 3):
        observe([game], planes)
        np.testing.assert_allclose(planes[0, 44], expected, atol=1e-7)
        for usi in ["2h3h", "8b7b", "3h2h", "7b8b"]:
            game.push_usi(usi)


def test_exchanging_the_colours_changes_the_colour_plane_alone() -> None:
    planes, legal = arrays(2)
    for number, game in enumerate(random_positions(seed=5, count=600)):
        if number % 6:
            continue
        sfen = game.board.sfen()
        mirrored = ShogiGame(cshogi.rotate_sfen(sfen))
        observe([ShogiGame(sfen), mirrored], planes, legal)
        np.testing.assert_array_equal(np.delete(planes[0], 42, 0), np.delete(planes[1], 42, 0))
        np.testing.assert_array_equal(legal[0], legal[1])
        assert planes[0, 42, 0, 0] + planes[1, 42, 0, 0] == 1


def test_the_same_actions_with_exchanged_colours_exchange_the_results() -> None:
    rng = np.random.default_rng(6)
    turned = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"
    black_first, white_first = ShogiBatch(16, 200), ShogiBatch(16, 200, turned)
    planes, legal = arrays(16)
    endings = set()
    for _ in range(250):
        black_first.observe(planes, legal)
        actions = draw(legal, rng)
        one = black_first.step(actions, legal)
        white_first.observe(planes, legal)
        other = white_first.step(actions, legal)
        np.testing.assert_array_equal(one.rewards, other.rewards)
        for mine, theirs in zip(one.results, other.results, strict=True):
            assert (mine is None) == (theirs is None)
            if mine is not None and theirs is not None:
                endings.add(mine.ending)
                assert mine.ending == theirs.ending
                assert mine.winner == (None if theirs.winner is None else 1 - theirs.winner)
        for batch in (black_first, white_first):
            batch.reset(np.flatnonzero(one.over))
    assert endings >= {Ending.MATE, Ending.MAX_MOVES}


def test_rewards_are_those_of_the_player_who_moved() -> None:
    mate = PolicyOutputMapper().shogi_move_to_policy_index("G*5b", 0)
    batch = ShogiBatch(2, sfen="4k4/9/4P4/9/9/9/9/9/4K4 b G 1")
    planes, legal = arrays(2)
    batch.observe(planes, legal)
    other = PolicyOutputMapper().shogi_move_to_policy_index("5i5h", 0)
    stepped = batch.step(np.array([mate, other]), legal)
    assert stepped.rewards.tolist() == [1, 0]
    assert stepped.over.tolist() == [True, False]
    assert not stepped.cut.any()
    batch.reset(np.flatnonzero(stepped.over))
    assert batch.turns.tolist() == [0, 1]


def test_a_cut_game_is_no_loss() -> None:
    batch = ShogiBatch(1, max_moves=1)
    planes, legal = arrays(1)
    batch.observe(planes, legal)
    stepped = batch.step(draw(legal, np.random.default_rng(0)), legal)
    assert (stepped.rewards[0], stepped.over[0], stepped.cut[0]) == (0, True, True)


def test_an_illegal_action_is_refused_and_no_game_moves() -> None:
    batch = ShogiBatch(2)
    planes, legal = arrays(2)
    batch.observe(planes, legal)
    with pytest.raises(GameError, match="game 1"):
        batch.step(np.array([np.flatnonzero(legal[0])[0], 0]), legal)
    assert [game.moves for game in batch.games] == [[], []]


def test_there_are_46_planes() -> None:
    assert (PLANES, SHAPE) == (46, (46, 9, 9))
