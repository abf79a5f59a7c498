from __future__ import annotations

import math

import cshogi
import numpy as np
import pytest

from understudy.games.shogi.batch import SHAPE, observe
from understudy.games.shogi.inference import STRETCH, with_potential
from understudy.games.shogi.league import OneByOne
from understudy.games.shogi.matches import LeagueEntry, ShogiMatches
from understudy.games.shogi.players import GreedyPlayer
from understudy.games.shogi.potential import SCALE, WEIGHT, material, material_of_planes, potential, shaping
from understudy.games.shogi.rules import ShogiGame
from understudy.games.shogi.search import centipawns

# Black: king, promoted rook 14, gold 6, in hand a bishop 8 and two pawns 2. White: king, promoted pawn 7, knight 3, in
# hand a lance 3.
POSITION = "4k4/9/9/3n5/9/9/4+p4/3+R5/4KG3 b B2Pl 1"
START = cshogi.STARTING_SFEN


def test_material_counts_board_and_hands_for_black() -> None:
    turned = "3gk4/5+r3/4+P4/9/9/5N3/9/9/4K4 w Lb2p 1"  # the same with exchanged colours
    boards = [cshogi.Board(sfen) for sfen in (START, POSITION, turned)]
    assert material(boards).tolist() == [0, 30 - 13, 13 - 30]


def test_the_potential_is_odd_and_bounded_by_its_weight() -> None:
    phi = potential(np.array([-1000.0, -5.0, 0.0, 5.0, 1000.0]))
    assert phi[2] == 0
    np.testing.assert_array_equal(phi, -phi[::-1])
    assert phi[3] == pytest.approx(WEIGHT * math.tanh(5 / SCALE))
    assert phi[4] == pytest.approx(WEIGHT)


def test_shaping_is_the_discounted_difference_and_nothing_follows_the_end() -> None:
    before, after = np.array([0.1, 0.1]), np.array([0.3, 0.3])
    np.testing.assert_allclose(shaping(before, after, np.array([False, True]), 0.9), [0.9 * 0.3 - 0.1, -0.1])


@pytest.mark.parametrize("rivals", [0, 4])
def test_over_a_game_shaped_rewards_sum_up_to_the_result_alone(rivals: int) -> None:
    """Discounted, seen by Black: Σ γ^t·(γΦ_{t+1} − Φ_t) = −Φ_0, and Φ_0 is 0 at the start."""
    gamma, rng = 0.97, np.random.default_rng(3)
    matches = ShogiMatches(4, 300, [LeagueEntry(OneByOne(GreedyPlayer), rivals)], discount=gamma)
    matches.reset(np.random.SeedSequence(1))
    player = GreedyPlayer(rng)
    sums, ages = np.zeros(4), np.zeros(4)
    ended = moved = 0
    for _ in range(300):
        sides = 1 - 2 * matches.to_move()
        moves = [player.choose(game).move for game in matches.games]
        step = matches.step(
            np.array([game.legal_moves.index(m) for game, m in zip(matches.games, moves, strict=True) if m])
        )
        moved += int(np.count_nonzero(step.rewards))
        sums += gamma**ages * sides * step.rewards
        ages += 1
        for i in np.flatnonzero(step.over).tolist():
            result = sums[i] / gamma ** (ages[i] - 1)
            assert result == pytest.approx(round(result), abs=1e-3)
            assert round(result) in (-1, 0, 1)
            ended += 1
        sums[step.over | step.cut], ages[step.over | step.cut] = 0, 0
    assert ended >= 4
    assert moved > 100


def test_a_capture_is_good_for_the_player_who_makes_it_whatever_its_colour() -> None:
    for side, moves in enumerate((["7g7f", "3c3d", "8h2b+"], ["7g7f", "3c3d", "6i7h", "2b8h+"])):
        matches = ShogiMatches(1, discount=1.0)
        matches.reset(np.random.SeedSequence(0))
        for usi in moves:
            game = matches.games[0]
            assert matches.to_move()[0] == (side if usi == moves[-1] else matches.to_move()[0])
            step = matches.step(np.array([game.legal_moves.index(game.move_of_usi(usi))]))
        # The bishop changes hands, 16, and the capturer's own one promotes, 4.
        assert step.rewards[0] == pytest.approx(WEIGHT * math.tanh(20 / SCALE))


def test_material_from_planes_is_the_same_seen_by_the_player_to_move() -> None:
    player, game = GreedyPlayer(np.random.default_rng(8)), ShogiGame()
    differences = set()
    while game.result is None:
        planes = np.empty((1, *SHAPE), np.float32)
        observe([game], planes)
        (difference,) = material([game.board]) * (1 - 2 * game.turn)
        assert material_of_planes(planes)[0] == pytest.approx(difference, abs=1e-4)
        differences.add(difference)
        game.push(player.choose(game).move or 0)
    assert len(differences) > 10


def test_in_play_values_have_material_in_them_again() -> None:
    games = [ShogiGame(), ShogiGame(POSITION)]
    planes = np.empty((2, *SHAPE), np.float32)
    observe(games, planes)
    logits, wdl = np.ones((2, 4), np.float32), np.array([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0]], np.float32)
    same, whole = with_potential(lambda _: (logits, wdl))(planes)
    assert same is logits
    assert whole[0, 0] - whole[0, 2] == pytest.approx(math.tanh(STRETCH * math.atanh(0.3)), abs=1e-6)
    np.testing.assert_allclose(whole[1], [1, 0, 0], atol=1e-6)  # 0.9 and Φ of 17 pawns are more than a win
    _, whole = with_potential(lambda _: (logits, wdl[:, ::-1]))(planes)
    behind = -0.9 + WEIGHT * math.tanh(17 / SCALE)
    assert whole[1, 0] - whole[1, 2] == pytest.approx(math.tanh(STRETCH * math.atanh(behind)), abs=1e-6)
    np.testing.assert_allclose(whole.sum(axis=1), 1, atol=1e-6)
    assert (whole >= 0).all()


def test_a_rook_is_worth_about_what_shogi_programs_say() -> None:
    planes = np.empty((1, *SHAPE), np.float32)
    observe([ShogiGame("lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1")], planes)
    even = np.array([[0.3, 0.4, 0.3]], np.float32)
    _, wdl = with_potential(lambda _: (even, even))(planes)
    assert 400 < centipawns(float(wdl[0, 0] - wdl[0, 2])) < 1200
