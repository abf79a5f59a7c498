from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from understudy.games.shogi.actions import WHITE, PolicyOutputMapper
from understudy.games.shogi.checkpoint import load_checkpoint
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.players import GreedyPlayer, play
from understudy.games.shogi.record import GameRecord
from understudy.games.shogi.record_files import write_record
from understudy.games.shogi.rules import Ending, Result
from understudy.games.shogi.supervised import Lesson, Position, _lay_out, learn_games
from understudy.settings import NetworkSettings

TINY = NetworkSettings(policy="resnet", blocks=1, channels=16, attention_width=8, value_width=8)


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four games of two greedy players, in both formats."""
    folder = tmp_path_factory.mktemp("games")
    for number in range(4):
        black, white = (GreedyPlayer(np.random.default_rng([number, side])) for side in (0, 1))
        write_record(folder / f"{number}.{('csa', 'kif')[number % 2]}", play(black, white, max_moves=50))
    return folder


def learn(games: Path, checkpoint: Path, epochs: int, say: list[str] | None = None) -> list[Lesson]:
    shown = [] if say is None else say
    rate = 5e-3
    return learn_games([games], checkpoint, TINY, epochs=epochs, minibatch=64, learning_rate=rate, say=shown.append)


@pytest.mark.slow
def test_the_network_finds_more_of_the_moves_with_every_few_passes(games: Path, tmp_path: Path) -> None:
    lessons = learn(games, tmp_path / "net.npz", 12)
    assert lessons[-1].policy_loss < lessons[0].policy_loss - 0.5
    assert lessons[-1].accuracy > max(0.1, 2 * lessons[0].accuracy)
    assert load_checkpoint(tmp_path / "net.npz").counters["passes"] == 12


@pytest.mark.slow
def test_interrupted_and_continued_is_as_if_it_had_not_been(games: Path, tmp_path: Path) -> None:
    learn(games, tmp_path / "whole.npz", 2)
    learn(games, tmp_path / "parts.npz", 1)
    learn(games, tmp_path / "parts.npz", 1)
    assert (tmp_path / "whole.npz").read_bytes() == (tmp_path / "parts.npz").read_bytes()


def test_a_file_that_is_no_game_is_named_and_left_out(games: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csa"
    bad.write_text("nothing", encoding="utf-8")
    shown: list[str] = []
    good = sorted(games.iterdir())[0]
    learn_games([bad, good], tmp_path / "net.npz", TINY, epochs=1, say=shown.append)
    assert shown[0].startswith("Left out:")
    assert "bad.csa" in shown[0]
    assert shown[1].startswith("1 games")


def test_the_player_to_move_learns_its_own_outcome_and_a_cut_game_teaches_none() -> None:
    won = GameRecord(("7g7f", "3c3d", "8h2b+"), result=Result(WHITE, Ending.TIME))
    drawn = GameRecord(("7g7f",), result=Result(None, Ending.REPETITION))
    cut = GameRecord(("7g7f",), result=Result(None, Ending.MAX_MOVES))
    chosen = [Position(0, 0), Position(0, 1), Position(0, 2), Position(1, 0), Position(2, 0)]
    planes, legal, actions, outcomes = _lay_out([won, drawn, cut], chosen)
    assert outcomes.tolist() == [2, 0, 2, 1, -100]
    mapper = PolicyOutputMapper()
    assert [mapper.policy_index_to_usi(a, turn) for a, turn in zip(actions[:3].tolist(), (0, 1, 0), strict=True)] == [
        "7g7f",
        "3c3d",
        "8h2b+",
    ]
    assert legal[np.arange(5), actions].all()
    assert planes[:, 42, 0, 0].tolist() == [1, 0, 1, 1, 1]


def test_no_games_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(GameError, match="no game"):
        learn(tmp_path, tmp_path / "net.npz", 1)
    assert not (tmp_path / "net.npz").exists()
