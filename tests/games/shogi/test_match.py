"""`understudy match`: the line of progress, the test that ends it, and what it says at the end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from understudy.games.shogi.__main__ import main
from understudy.games.shogi.match import MatchProgress
from understudy.games.shogi.players import MoveChoice, play_match
from understudy.games.shogi.rules import ShogiGame
from understudy.models.sprt import Sprt


class Scripted:
    """Loses, by resigning at its first move, the games whose number the script holds true for; else it plays on."""

    def __init__(self, name: str, loses: Callable[[int], bool]) -> None:
        self.name, self._loses, self._games = name, loses, 0

    def choose(self, game: ShogiGame) -> MoveChoice:
        self._games += len(game.moves) in (4, 5)  # its first move after the opening, as Black or as White
        return MoveChoice(None if self._loses(self._games) else game.legal_moves[0])


def match(
    monkeypatch: pytest.MonkeyPatch, loses: tuple[Callable[[int], bool], Callable[[int], bool]], *arguments: str
) -> int:
    """Run the command with two scripted players."""
    players = {name: Scripted(name, script) for name, script in zip(("ann", "bob"), loses, strict=True)}
    monkeypatch.setattr("understudy.games.shogi.match.make_player", lambda who, *_, **__: players[who])
    return main(["match", "ann", "bob", "--max-moves", "8", *arguments])


def never(_: int) -> bool:
    return False


def always(_: int) -> bool:
    return True


def test_the_test_ends_the_match_as_soon_as_the_first_is_stronger(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert match(monkeypatch, (never, always), "--sprt", "0", "50") == 0
    out = capsys.readouterr().out
    assert "\n+8 =0 -0 of 8: 100.0%, Elo +inf (+127 to +inf), LLR +0.00, bounds ±2.94\n" in out
    assert "game  10" in out  # no pair is enough before the fifth, and this one is
    assert "game  11" not in out
    assert "ann is stronger than bob by 50 rather than 0 Elo, after 10 games (LLR +" in out
    assert "its Elo tends to be too far from zero" in out


def test_it_ends_as_soon_as_the_first_is_shown_not_to_be_stronger(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert match(monkeypatch, (always, never), "--sprt", "0", "50") == 0
    assert "ann is not stronger than bob by 50 rather than 0 Elo, after 10 games (LLR -" in capsys.readouterr().out


def test_without_a_decision_the_end_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert match(monkeypatch, (never, never), "--sprt", "0", "5", "--games", "11") == 0  # all drawn
    out = capsys.readouterr().out
    assert "\n+0 =12 -0 of 12: 50.0%, Elo +0" in out  # pairs are played to their end
    assert "12 games (LLR -0.02, bounds ±2.94) do not decide whether ann is stronger than bob" in out
    assert out.endswith("More games would be needed: --games N.\n")


def test_ctrl_c_ends_it_with_what_was_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stops(game: int) -> bool:
        if game == 4:
            raise KeyboardInterrupt
        return True

    assert match(monkeypatch, (never, stops), "--sprt", "0", "50") == 130
    out = capsys.readouterr().out
    assert "ann against bob: +3 =0 -0 of 3" in out
    assert "2 games (LLR +0.00, bounds ±2.94) do not decide" in out
    assert out.endswith("The match was stopped by hand.\n")


def test_without_a_test_all_games_are_played(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert match(monkeypatch, (never, always), "--save", str(tmp_path)) == 0
    out = capsys.readouterr().out
    assert out.endswith("ann against bob: +20 =0 -0 of 20: 100.0%, Elo +inf (+287 to +inf)\n")
    assert "LLR" not in out
    assert len(list(tmp_path.iterdir())) == 20


def test_on_a_terminal_the_line_is_written_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    assert match(monkeypatch, (never, always), "--games", "2") == 0
    line = "1/2 games: +1 =0 -0 of 1: 100.0%, Elo +inf (-234 to +inf)"
    assert f"\n{line}\r{' ' * len(line)}\rgame   2" in capsys.readouterr().out


@pytest.mark.parametrize("bounds", [("50", "0"), ("0", "0"), ("nan", "1"), ("0", "1e9")])
def test_bounds_that_make_no_test_are_refused(bounds: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", "random", "greedy", "--sprt", *bounds]) == 1
    assert "ELO0 must be below ELO1" in capsys.readouterr().err


def test_the_pairs_are_games_with_sides_exchanged() -> None:
    progress = MatchProgress(7, Sprt(0, 50))
    ann, bob = Scripted("ann", lambda game: game in (2, 3, 4)), Scripted("bob", lambda game: game in (1, 7))
    play_match(ann, bob, 7, np.random.default_rng(0), max_moves=8, on_game=progress.take_in)
    assert progress.pairs == [0.5, 0.0, 0.5]  # the seventh game has no partner yet
    assert progress.score.games == 7
    assert not progress.decided()
