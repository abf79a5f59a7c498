from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from games.shogi.material import material
from understudy.games.shogi.__main__ import main
from understudy.games.shogi.analysis import WON, Analysis, analyse, chance, value_words
from understudy.games.shogi.players import MoveChoice, SearchPlayer
from understudy.games.shogi.record import GameRecord, record_of
from understudy.games.shogi.record_files import read_records, write_record
from understudy.games.shogi.report import html_report
from understudy.games.shogi.rules import START, ShogiGame

ROOK_LOST = ("2g2f", "8c8d", "2f2e", "8d8e", "2e2d", "2c2d", "2h2d", "P*2c", "2d3d", "3c3d")
"""Black gives its rook away."""


def analysed(moves: tuple[str, ...], start: str = START) -> Analysis:
    record = GameRecord(moves, start, names=("Ann <b>", "Bob"))
    record = record_of(record.replay(), record.names)
    return analyse(record, SearchPlayer(material, 150))


def test_a_rook_that_is_given_away_is_marked_with_what_was_better() -> None:
    found = analysed(ROOK_LOST)
    bad = max(found.moves, key=lambda move: move.loss)
    assert (bad.usi, bad.turn, bad.mark, bad.name) == ("2d3d", 0, "??", "blunder")
    assert bad.value < -300
    assert bad.best_usi != bad.usi
    assert bad.best[0].startswith("▲")
    for player in (0, 1):
        marked = [move.name for move in found.moves if move.turn == player and move.mark]
        assert sum(found.counted(player).values()) == len(marked)
    assert found.counted(0)["blunder"] >= 1
    assert len(found.positions) == len(ROOK_LOST) + 1


def test_a_missed_mate_and_a_mate_are_seen() -> None:
    start = "4k4/9/4P4/9/9/9/9/9/4K4 b G 1"
    missed = analysed(("G*4b", "5a4b"), start).moves
    assert missed[0].mark == "??"
    assert missed[0].best == ("▲５二金打",)
    mated = analysed(("G*5b",), start)
    assert (mated.first.value, mated.moves[0].value, mated.moves[0].mark) == (WON - 1, WON, "")
    assert value_words(WON - 1) == "Black mates in 1"
    assert value_words(-WON) == "White has won"


def test_values_are_blacks_whoever_moves() -> None:
    assert chance(0) == 0.5
    assert chance(600) == pytest.approx(0.731, abs=1e-3)
    fixed = type("Fixed", (), {"name": "fixed", "choose": lambda _, game: MoveChoice(game.legal_moves[0], 100)})()
    found = analyse(GameRecord(("7g7f", "3c3d")), fixed)
    assert [found.first.value, *(move.value for move in found.moves)] == [100, -100, 100]


def test_the_record_gets_values_and_comments(tmp_path: Path) -> None:
    found = analysed(ROOK_LOST)
    path = tmp_path / "game.kifu"
    write_record(path, found.commented())
    text = path.read_text(encoding="utf-8")
    assert "?? blunder" in text
    assert "*Best: ▲" in text
    (again,) = read_records(path)
    assert again.evaluations == tuple(move.value for move in found.moves)


def test_the_report_is_one_file_with_a_curve_and_diagrams_and_no_name_becomes_html() -> None:
    found = analysed(ROOK_LOST)
    page = html_report(found)
    assert not re.search(r"(?:src|href)=\"(?!#)", page)
    assert "Ann <b>" not in page
    assert page.count("<figure>") == sum(bool(move.mark) for move in found.moves) + 1
    for drawing in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ET.fromstring(drawing)
    assert page.count('id="move') == len(ROOK_LOST)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("game.kif", None, "cannot be read"),
        ("game.kif", "nothing", "not a game in KIF"),
        ("game.csa", "V2.2\n+7776FU\n", "not a game in CSA"),
        ("game.sfen", "startpos moves 7g7e", "7g7e is not legal"),
        ("game.sfen", "", "holds no game"),
        ("game.txt", "startpos moves 7g7f", ".csa, .kif, .kifu and .sfen"),
    ],
)
def test_a_file_that_is_no_game_gets_a_clear_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str | None, message: str
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    assert main(["analyse", str(path), "greedy"]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert name in error
    assert error.count("\n") == 1


def test_the_command_writes_both_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    analyst = SearchPlayer(material, 20)
    monkeypatch.setattr("understudy.games.shogi.analyse_command.make_player", lambda *_: analyst)
    path = tmp_path / "games.sfen"
    path.write_text(f"startpos moves 7g7f 3c3d\nposition sfen {START} moves 2g2f\n{START} moves 6g6f 8c8d 6f6e\n")
    assert len(read_records(path)) == 3
    assert main(["analyse", str(path), "model.npz", "--game", "3", "--save", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "Game 3 of 3." in shown
    assert "▲６六歩(67)" in shown
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["games.3.analysed.html", "games.3.analysed.kifu"]
    assert main(["analyse", str(path), "model.npz", "--game", "4"]) == 1
    assert "there is no game 4" in capsys.readouterr().err


def test_the_positions_are_those_of_the_game() -> None:
    game = ShogiGame()
    for usi in ROOK_LOST:
        game.push_usi(usi)
    assert analysed(ROOK_LOST).positions[-1] == game.board.sfen()


def test_a_player_without_values_is_refused_as_analyst(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_record(tmp_path / "game.kif", GameRecord(("7g7f",), START))
    assert main(["analyse", str(tmp_path / "game.kif"), "greedy"]) != 0
    assert "greedy gives no values" in capsys.readouterr().err
