from __future__ import annotations

import numpy as np
import pytest

from games.shogi import slow_shogi
from understudy.games.game import open_game
from understudy.games.shogi.actions import PolicyOutputMapper
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.league import OneByOne
from understudy.games.shogi.matches import BOARD, MOST_LEGAL, MOST_RANDOM, LeagueEntry, ShogiMatches
from understudy.games.shogi.players import GreedyPlayer, MoveChoice, RandomPlayer
from understudy.games.shogi.rules import START, ShogiGame, mating_move

MAPPER = PolicyOutputMapper()
SEED = np.random.SeedSequence(0)


def shown(matches: ShogiMatches) -> tuple[np.ndarray, np.ndarray]:
    states = np.empty((matches.matches, matches.state_dim), np.float32)
    legal = np.empty((matches.matches, MOST_LEGAL), np.bool_)
    matches.observe(states)
    matches.legal(legal)
    return states, legal


@pytest.mark.slow
def test_matches_begin_anew_and_cut_ones_leave_their_last_position() -> None:
    matches, player = ShogiMatches(6, max_moves=61), GreedyPlayer(np.random.default_rng(1))
    matches.reset(SEED)
    decided = cut = 0
    for _ in range(400):
        states, legal = shown(matches)
        sides = matches.to_move()
        for i, game in enumerate(matches.games):
            expected = slow_shogi.planes(game.board.sfen(), len(game.moves) / 61, (game.occurrences - 1) / 3)
            np.testing.assert_allclose(states[i, :BOARD], expected.ravel(), atol=1e-7)
            listed = [MAPPER.shogi_move_to_policy_index(move, game.turn) for move in game.legal_moves]
            assert states[i, BOARD:].tolist() == listed + [-1] * (MOST_LEGAL - len(listed))
            assert legal[i].tolist() == [True] * len(listed) + [False] * (MOST_LEGAL - len(listed))
        mates = [mating_move(game) for game in matches.games]
        moves = [player.choose(game).move or 0 for game in matches.games]
        places = [game.legal_moves.index(move) for game, move in zip(matches.games, moves, strict=True)]
        step = matches.step(np.array(places))
        assert step.over.tolist() == [bool(mate) for mate in mates]
        assert step.rewards.tolist() == [float(bool(mate)) for mate in mates]
        assert not (step.over & step.cut).any()
        for i, game in enumerate(matches.games):
            ended = step.over[i] or step.cut[i]
            assert (game.moves == []) == ended
            assert matches.to_move()[i] == (0 if ended else 1 - sides[i])
            if step.cut[i]:
                cut += 1
                assert step.rewards[i] == 0
                assert step.final_sides[i] == 1  # 61 moves were made
                final = step.finals[i, :BOARD].reshape(46, 9, 9)
                assert final[42].max() == 0
                np.testing.assert_allclose(final[43], 1)
        decided += int(step.over.sum())
    assert cut > 10
    assert decided > 0


def test_a_rival_answers_within_the_step_and_its_wins_are_losses() -> None:
    matches, rng = (
        ShogiMatches(4, max_moves=400, rivals=[LeagueEntry(OneByOne(GreedyPlayer), 3)]),
        np.random.default_rng(2),
    )
    matches.reset(SEED)
    sides, lost = [0, 1, 0], 0
    for _ in range(400):
        assert matches.to_move()[:3].tolist() == sides
        assert [len(game.moves) % 2 for game in matches.games[:3]] == sides
        step = matches.step(np.array([rng.integers(len(game.legal_moves)) for game in matches.games]))
        assert matches.games[3].moves == [] or len(matches.games[3].moves) % 2 == matches.to_move()[3]
        for i in np.flatnonzero(step.over[:3] | step.cut[:3]).tolist():
            sides[i] = 1 - sides[i]  # it plays the other side next
            assert step.rewards[i] == (0 if step.cut[i] else -1)
            lost += 1
    assert lost > 5


def test_a_rival_that_resigns_has_lost() -> None:
    class Coward:
        name = "coward"

        def choose(self, game: ShogiGame) -> MoveChoice:
            return MoveChoice(None) if game.moves else MoveChoice(game.legal_moves[0])

    matches = ShogiMatches(2, rivals=[LeagueEntry(OneByOne(lambda _: Coward()), 1)])
    matches.reset(SEED)
    step = matches.step(np.array([0, 0]))
    assert (step.rewards[0], step.over[0], step.cut[0]) == (1, True, False)


def test_the_same_seed_and_decisions_give_the_same_matches() -> None:
    played = []
    for seed in (5, 5, 6):
        matches, rng = ShogiMatches(2, rivals=[LeagueEntry(OneByOne(RandomPlayer), 1)]), np.random.default_rng(0)
        matches.reset(np.random.SeedSequence(seed))
        for _ in range(20):
            matches.step(np.array([rng.integers(len(game.legal_moves)) for game in matches.games]))
        played.append(matches.games[0].usi_moves())
    assert played[0] == played[1] != played[2]


def test_shogi_is_opened_by_its_name() -> None:
    game = open_game("shogi", 3)
    assert isinstance(game, ShogiMatches)
    assert (game.matches, game.players, len(game.actions)) == (3, 2, MOST_LEGAL)


def test_a_place_beyond_the_legal_moves_is_refused() -> None:
    matches = ShogiMatches(1)
    matches.reset(SEED)
    with pytest.raises(GameError, match="no legal move 30"):
        matches.step(np.array([30]))


def test_a_share_of_the_games_begin_with_random_moves_and_are_still_whole_games() -> None:
    matches = ShogiMatches(40, opened=0.5)
    matches.reset(np.random.SeedSequence(3))
    lengths = set()
    for _ in range(5):
        matches.begin_anew(np.ones(40, np.bool_))
        lengths |= {len(game.moves) for game in matches.games}
        assert 8 <= sum(not game.moves for game in matches.games) <= 32
        assert all(game.result is None and game.start == START for game in matches.games)
    assert min(lengths) == 0
    assert MOST_RANDOM / 2 < max(lengths) <= MOST_RANDOM
    assert len({matches.games[i].board.sfen() for i in range(40)}) > 10
