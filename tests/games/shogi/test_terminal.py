from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from games.shogi.material import material
from understudy.games.shogi.actions import BLACK, WHITE
from understudy.games.shogi.players import PolicyPlayer, RandomPlayer
from understudy.games.shogi.record_files import read_records
from understudy.games.shogi.rules import Ending, Result, ShogiGame
from understudy.games.shogi.terminal import drawn, play_in_terminal


def typing(*words: str) -> Callable[[str], str]:
    """A person who types these words, and then closes the terminal."""
    rest = list(words)

    def ask(_: str) -> str:
        if not rest:
            raise EOFError
        return rest.pop(0)

    return ask


def test_the_board_is_drawn() -> None:
    game = ShogiGame("4k4/9/4+P4/9/9/9/9/9/4K4 w G2p 1")
    lines = drawn(game).splitlines()
    assert lines[0].split() == list("987654321")
    assert lines[1].split() == [*"....k....", "a"]
    assert lines[3].split() == [*"....", "+P", *"....", "c"]
    assert lines[-1] == "In hand: Black G, White 2p. White to move."


def test_a_game_is_played_and_saved_with_the_opponents_view(tmp_path: Path) -> None:
    shown: list[str] = []
    path = tmp_path / "game.kif"
    words = typing("help", "7g7e", "7g7f", "moves", "undo", "2g2f", "resign")
    game = play_in_terminal(PolicyPlayer(material), BLACK, path, words, shown.append)
    assert game.result == Result(WHITE, Ending.RESIGNATION)
    (record,) = read_records(path)
    assert record.moves[0] == "2g2f"
    assert (len(record.moves), len(record.evaluations)) == (2, 2)
    assert record.evaluations[0] is None
    assert record.evaluations[1] is not None
    assert record.names == ("You", "policy")
    assert any("not legal" in text for text in shown)
    assert "White wins (resignation)" in shown[-2]


def test_white_waits_for_the_first_move_and_leaving_saves_too(tmp_path: Path) -> None:
    path = tmp_path / "game.csa"
    game = play_in_terminal(RandomPlayer(np.random.default_rng(0)), WHITE, path, typing(), lambda _: None)
    assert len(game.moves) == 1
    assert read_records(path)[0].result is None


def test_quit_leaves() -> None:
    game = play_in_terminal(RandomPlayer(np.random.default_rng(0)), BLACK, None, typing("quit"), lambda _: None)
    assert (game.moves, game.result) == ([], None)
