from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import cshogi
import numpy as np
import pytest

from games.shogi.material import material
from understudy.games.shogi import handicaps
from understudy.games.shogi.actions import BLACK, WHITE
from understudy.games.shogi.clock import Clocks
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.handicaps import HANDICAP_NAMES
from understudy.games.shogi.players import MoveChoice, PolicyPlayer, RandomPlayer
from understudy.games.shogi.record_files import read_records
from understudy.games.shogi.rules import START, Ending, Result, ShogiGame
from understudy.games.shogi.terminal import drawn, play_in_terminal, start_of


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


class First:
    """Plays the first legal move, by its text."""

    name = "first"

    def choose(self, game: ShogiGame) -> MoveChoice:
        return MoveChoice(min(game.legal_moves, key=cshogi.move_to_usi))


def test_moves_are_understood_and_shown_in_japanese() -> None:
    shown: list[str] = []
    words = typing("７六歩", "moves", "hint", "quit")
    game = play_in_terminal(First(), BLACK, None, words, shown.append, notation="japanese")
    assert game.usi_moves()[0] == "7g7f"
    assert any(text.startswith("first plays １二香(11)") for text in shown)
    assert any("２六歩(27)" in text and "５八金(49)" in text for text in shown)
    assert any(re.match(r"Hint: ▲\S+$", text) for text in shown)


def test_a_hint_knows_mates_and_changes_nothing() -> None:
    shown: list[str] = []
    start = start_of("4k4/9/4P4/9/9/9/9/9/4K4 b G", None)
    game = play_in_terminal(First(), BLACK, None, typing("hint", "sfen", "G*5b"), shown.append, start=start)
    assert "Hint: G*5b, mate in 1" in shown
    assert "4k4/9/4P4/9/9/9/9/9/4K4 b G 1" in shown
    assert game.result == Result(BLACK, Ending.MATE)


def test_handicaps_begin_with_white_and_bad_positions_are_refused() -> None:
    for name in HANDICAP_NAMES:
        start = start_of(None, name)
        game = play_in_terminal(First(), BLACK, None, typing("quit"), lambda _: None, start=start)
        assert len(game.moves) == 1  # White moved first
    assert start_of("startpos", None) == START == handicaps.START
    assert start_of(f"sfen {START}", None) == START
    for bad in ("nonsense", "9/9/9/9/9/9/9/9/9 b - 1", "4k4/4G4/4P4/9/9/9/9/9/4K4 w - 1"):
        with pytest.raises(GameError):
            start_of(bad, None)


def test_undo_takes_back_the_last_move_of_the_person_and_the_answer() -> None:
    shown: list[str] = []
    words = typing("undo", "1c1d", "undo", "2c2d", "3c3d", "undo", "quit")
    game = play_in_terminal(First(), WHITE, None, words, shown.append)
    assert len(game.moves) % 2 == 1
    words = typing("undo", "7g7f", "2g2f", "undo", "undo", "undo", "6g6f", "quit")
    game = play_in_terminal(First(), BLACK, None, words, shown.append)
    assert game.usi_moves() == ["6g6f", "1a1b"]
    assert shown.count("There is no move of yours to take back.") == 3


def test_a_clock_runs_for_both(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def slowly(seconds: float, word: str) -> str:
        now[0] += seconds
        return word

    monkeypatch.setattr("understudy.games.shogi.terminal.time.monotonic", lambda: now[0])
    prompts: list[str] = []
    thinking = iter([(5.0, "7g7f"), (4.0, "hint"), (3.0, "2g2f")])

    def ask(prompt: str) -> str:
        prompts.append(prompt)
        return slowly(*next(thinking))

    shown: list[str] = []
    game = play_in_terminal(First(), BLACK, None, ask, shown.append, clocks=Clocks(10.0))
    assert prompts == ["Your move (0:10): ", "Your move (0:05): ", "Your move (0:01): "]
    assert game.result == Result(WHITE, Ending.TIME)
    assert "Your time is up." in shown
