"""Self-play, search and solved positions of animal shogi and minishogi."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.errors import SettingsError
from understudy.games.shogi.small import check, yardsticks
from understudy.games.shogi.small.matches import AnimalShogi, Minishogi, SmallMatches, state_dim, write_states
from understudy.games.shogi.small.players import NetworkPlayer, SmallGreedyPlayer, SmallRandomPlayer, play_match
from understudy.games.shogi.small.rules import SmallGame, SmallPosition, legal_actions, parse
from understudy.games.shogi.small.search import Evaluate, best_action, evaluator_of, search
from understudy.games.shogi.small.variant import ANIMAL, MINI
from understudy.games.shogi.usi_process import find_engines
from understudy.models.live import Interface, new_model
from understudy.models.state import to_bytes
from understudy.settings import NetworkSettings, TrainingSettings

KINDS = pytest.mark.parametrize("kind", [AnimalShogi, Minishogi], ids=lambda kind: kind.name)


def played(matches: SmallMatches, steps: int, seed: int) -> list[tuple[list[float], list[int]]]:
    """Random steps: of each the rewards, and the players to move afterwards."""
    rng, found = np.random.default_rng(seed), []
    legal = np.zeros((matches.matches, len(matches.actions)), np.bool_)
    for _ in range(steps):
        matches.legal(legal)
        step = matches.step(np.array([rng.choice(row.nonzero()[0]) for row in legal]))
        assert not (step.over & step.cut).any()
        found.append((step.rewards.tolist(), matches.to_move().tolist()))
    return found


@KINDS
def test_matches_go_on_from_a_snapshot_as_if_nothing_had_happened(kind: type[SmallMatches]) -> None:
    matches = kind(3)
    matches.reset(np.random.SeedSequence(3))
    played(matches, 40, 1)
    saved = matches.snapshot()
    expected = played(matches, 40, 2)
    other = kind(3)
    assert other.restore(saved).all()
    assert played(other, 40, 2) == expected
    assert any(reward for rewards, _ in expected for reward in rewards)


@KINDS
def test_a_state_has_every_piece_and_hand_of_the_player_to_move(kind: type[SmallMatches]) -> None:
    matches = kind(2)
    matches.reset(np.random.SeedSequence(0))
    states = np.empty((2, matches.state_dim), np.float32)
    for _ in range(30):
        played(matches, 1, 0)
        matches.observe(states)
        pieces = 2 * len(matches.variant.kinds) * matches.variant.squares
        for state, game in zip(states, matches.games, strict=True):
            seen = state[:pieces].reshape(matches.variant.squares, -1)
            assert seen.sum() == sum(piece != 0 for piece in game.position.board)
            for square, piece in enumerate(game.position.board):
                if piece:
                    assert seen[square, piece - 1 if piece > 0 else len(matches.variant.kinds) - piece - 1] == 1
            assert state[pieces:-3].tolist() == [count / 2 for count in game.position.hands]


def no_idea(width: int) -> Evaluate:
    def evaluate(states: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return np.zeros((len(states), width), np.float32), np.zeros(len(states), np.float32)

    return evaluate


def won_in_three(count: int) -> list[SmallPosition]:
    """Positions of animal shogi that are won in three plies, but not at once, by trying everything."""

    def wins(game: SmallGame, plies: int) -> bool:
        if game.over:
            return game.result is not None and game.for_player(game.turn) > 0
        return plies > 0 and any(tried(game, number, lambda: loses(game, plies - 1)) for number in game.actions)

    def loses(game: SmallGame, plies: int) -> bool:
        if game.over:
            return game.result is not None and game.for_player(game.turn) < 0
        return plies > 0 and all(tried(game, number, lambda: wins(game, plies - 1)) for number in game.actions)

    def tried(game: SmallGame, number: int, judge: Callable[[], bool]) -> bool:
        game.push(number)
        found = judge()
        game.pop()
        return found

    rng = np.random.default_rng(3)
    found: list[SmallPosition] = []
    while len(found) < count:
        game = SmallGame(ANIMAL)
        while not game.over and len(found) < count:
            again = SmallGame(ANIMAL, game.position)
            if not wins(again, 1) and wins(again, 3):
                found.append(game.position)
            game.push(int(rng.choice(game.actions)))
    return found


def test_a_search_without_knowledge_finds_wins_in_three_plies_of_animal_shogi() -> None:
    evaluate = no_idea(len(ANIMAL.actions))
    for position in won_in_three(8):
        assert search(evaluate, SmallGame(ANIMAL, position), 4000).proof == -1  # for who moved before


def test_the_share_of_solved_positions_is_counted_and_other_files_are_refused(tmp_path: Path) -> None:
    position = parse(ANIMAL, "1l1/3/1L1/3", "C")
    keep = legal_actions(ANIMAL, position)[:1]
    rows = [{"board": position.board, "hands": position.hands, "value": 1, "plies": 3, "keep": keep}]
    (tmp_path / "solved.json").write_text(json.dumps(rows), "utf-8")
    solved = check.solved_positions(tmp_path / "solved.json")
    assert solved == [check.SolvedPosition(position, 1, 3, frozenset(keep))]
    first = no_idea(len(ANIMAL.actions))  # of moves that are alike, the policy takes the first
    assert check.share_kept(first, 0, solved) == 1
    (tmp_path / "other.json").write_text('{"a": 1}', "utf-8")
    for name in ("other.json", "missing.json"):
        with pytest.raises(SettingsError):
            check.solved_positions(tmp_path / name)


def test_a_search_finds_a_mate_in_minishogi_and_leaves_the_game_as_it_was() -> None:
    game = SmallGame(MINI, parse(MINI, "k4/5/K4/5/5", "RG"))
    before = game.position, list(game.moves)
    root = search(no_idea(len(MINI.actions)), game, 500)
    assert (game.position, game.moves) == before
    assert root.proof == -1
    game.push(best_action(root))
    assert game.result == 1


def test_a_search_knows_that_a_repetition_is_lost_for_black() -> None:
    game = SmallGame(MINI)
    for usi in ["4e4d", "2a2b", "4d4e", "2b2a"] * 2 + ["4e4d", "2a2b", "4d4e"]:
        game.push(next(n for n in game.actions if MINI.usi(n, game.turn == 1) == usi))
    root = search(no_idea(len(MINI.actions)), game, 300)
    assert MINI.usi(best_action(root), white=True) == "2b2a"


@pytest.mark.slow
def test_a_greedy_player_beats_a_random_one() -> None:
    for variant in (ANIMAL, MINI):
        greedy, random = SmallGreedyPlayer(np.random.default_rng(1)), SmallRandomPlayer(np.random.default_rng(2))
        score = play_match(variant, greedy, random, 20, np.random.default_rng(0))
        assert score.games == 20
        assert score.share > 0.5


@pytest.fixture
def model(tmp_path: Path) -> Path:
    interface = Interface(Minishogi.state_dim, Minishogi.actions)
    path = tmp_path / "model.npz"
    state = new_model(interface, NetworkSettings(), TrainingSettings(), 0)
    path.write_bytes(to_bytes(state))
    return path


def test_the_evaluator_plays_the_same_games_again(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yardsticks, "find_engines", dict)
    whole = yardsticks.evaluate_mini(str(model), 0, 4)
    parts = [yardsticks.evaluate_mini(str(model), first, 2) for first in (0, 2)]
    assert whole["results"] == "".join(part["results"] for part in parts)
    assert [axes["opponent"] for axes in whole["axes"]] == ["random", "greedy"] * 2


@pytest.mark.slow
@pytest.mark.skipif("fairy-stockfish" not in find_engines(), reason="fairy-stockfish is not installed")
def test_fairy_stockfish_plays_minishogi(model: Path) -> None:
    network = NetworkPlayer(evaluator_of(model))
    with yardsticks.opponent(MINI, yardsticks.engine_name(0), np.random.default_rng(0)) as engine:
        assert play_match(MINI, engine, network, 2, np.random.default_rng(0)).share == 1.0


def test_the_states_of_a_game_fit_its_matches() -> None:
    for kind in (AnimalShogi, Minishogi):
        state = np.empty((1, state_dim(kind.variant)), np.float32)
        write_states(kind.variant, [SmallGame(kind.variant)], state)
        assert kind.state_dim == state.shape[1]
        assert len(kind.actions) == len(set(kind.actions)) == len(kind.variant.actions)
