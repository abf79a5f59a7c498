from __future__ import annotations

import numpy as np
import pytest

from games.shogi import slow_shogi
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.matches import ShogiMatches
from understudy.games.shogi.policy import ACTIONS, PolicyOutputMapper
from understudy.games.shogi.search import mating_move

MAPPER = PolicyOutputMapper()
SEED = np.random.SeedSequence(0)


def test_matches_begin_anew_and_cut_ones_leave_their_last_position() -> None:
    matches, rng = ShogiMatches(6, max_moves=61), np.random.default_rng(1)
    matches.reset(SEED)
    states, legal = np.empty((6, matches.state_dim), np.float32), np.empty((6, ACTIONS), np.bool_)
    decided = cut = 0
    for _ in range(400):
        matches.observe(states)
        matches.legal(legal)
        sides = matches.to_move()
        before = [game.board.sfen() for game in matches.games]
        for i, game in enumerate(matches.games):
            expected = slow_shogi.planes(before[i], len(game.moves) / 61, (game.occurrences - 1) / 3)
            np.testing.assert_allclose(states[i], expected.ravel(), atol=1e-7)
            assert legal[i].sum() == len(game.legal_moves)
        mates = [mating_move(game) for game in matches.games]
        actions = [
            MAPPER.shogi_move_to_policy_index(mate, game.turn) if mate else rng.choice(np.flatnonzero(row))
            for mate, game, row in zip(mates, matches.games, legal, strict=True)
        ]
        step = matches.step(np.array(actions))
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
                final = step.finals[i].reshape(46, 9, 9)
                assert final[42].max() == 0
                np.testing.assert_allclose(final[43], 1)
        decided += int(step.over.sum())
    assert cut > 10
    assert decided > 0


def test_there_is_a_label_for_every_action() -> None:
    assert len(set(ShogiMatches.actions)) == ACTIONS
    assert ShogiMatches.actions[160 * 56 + 2 * 47] == "7g7f"


def test_an_illegal_decision_is_refused() -> None:
    matches = ShogiMatches(1)
    with pytest.raises(GameError, match="not legal"):
        matches.step(np.array([0]))
