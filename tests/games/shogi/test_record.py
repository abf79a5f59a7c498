from __future__ import annotations

import dataclasses
from pathlib import Path
from types import ModuleType

import cshogi
import cshogi.CSA
import cshogi.KIF
import numpy as np
import pytest

from games.shogi.random_games import random_positions
from understudy.games.shogi import csa, kif
from understudy.games.shogi.actions import ACTIONS, BLACK, WHITE
from understudy.games.shogi.errors import GameError
from understudy.games.shogi.record import GameRecord, record_of
from understudy.games.shogi.record_files import read_records, write_record
from understudy.games.shogi.rules import START, Ending, Result, ShogiGame
from understudy.games.shogi.thoughts import Thought, thought_of


def random_thoughts(record: GameRecord, rng: np.random.Generator) -> tuple[Thought | None, ...]:
    """Of two thirds of the moves, as a network with random weights would have had them."""
    game = ShogiGame(record.start, max_moves=len(record.moves) + 1)
    thoughts = []
    for usi in record.moves:
        move = game.move_of_usi(usi)
        logits, wdl = rng.normal(size=ACTIONS).astype(np.float32), rng.dirichlet([1, 1, 1]).astype(np.float32)
        thoughts.append(thought_of(game, logits, wdl, move) if rng.random() < 0.7 else None)
        game.push(move)
    return tuple(thoughts)


def random_records(seed: int, count: int) -> list[GameRecord]:
    """Games from the start and from the middle of others, with evaluations of half of the moves, and thoughts."""
    rng = np.random.default_rng(seed)
    starts = [game.board.sfen() for number, game in enumerate(random_positions(seed, 60 * count)) if number % 60 == 40]
    records = []
    for number, sfen in enumerate(starts):
        game = ShogiGame(max_moves=150) if number % 2 else ShogiGame(sfen.rsplit(" ", 1)[0] + " 1", max_moves=150)
        while game.result is None:
            game.push(game.legal_moves[rng.integers(len(game.legal_moves))])
        values = tuple(None if rng.random() < 0.5 else int(rng.integers(-3000, 3000)) for _ in game.moves)
        record = record_of(game, ("先手 one", "White two"), values)
        records.append(dataclasses.replace(record, thoughts=random_thoughts(record, rng)))
    return records


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csa", ".kif", ".kifu"])
def test_games_come_back_from_a_file_as_they_were(suffix: str, tmp_path: Path) -> None:
    records = random_records(7, 12)
    assert any("+" in usi for record in records for usi in record.moves)
    assert any("*" in usi for record in records for usi in record.moves)
    for record in records:
        path = tmp_path / f"game{suffix}"
        write_record(path, record)
        assert read_records(path) == [record]


def test_a_csa_file_may_hold_many_games(tmp_path: Path) -> None:
    records = random_records(8, 3)
    path = tmp_path / "games.csa"
    path.write_text("/\n".join(csa.to_text(record) for record in records), encoding="utf-8")
    assert read_records(path) == records


def test_another_reader_understands_our_files() -> None:
    for record in random_records(9, 6):
        game = record.replay()
        by_csa = cshogi.CSA.Parser.parse_str(csa.to_text(record))[0]
        assert list(by_csa.moves) == game.moves
        assert by_csa.sfen.split()[:3] == record.start.split()[:3]
        if record.start == ShogiGame().start:
            assert cshogi.KIF.Parser.parse_str(kif.to_text(record)).moves == game.moves


CSA = """V2.2
N+Ari
N-Bea
$EVENT:test
PI
+
+7776FU,T12
-3334FU
'** 35 +8822UM
+8822UM
-3122GI
+0045KA
%TORYO
"""

KIF = """# made by hand
開始日時：2026/01/01 10:00
手合割：平手
先手：Ari
後手：Bea
手数----指手---------消費時間--
   1 ７六歩(77)   ( 0:12/00:00:12)
   2 ３四歩(33)   ( 0:00/00:00:00)
*評価値=35
   3 ２二角成(88) ( 0:00/00:00:12)
   4 同　銀(31)   ( 0:00/00:00:00)
   5 ４五角打     ( 0:00/00:00:00)
   6 投了         ( 0:00/00:00:00)

変化：2手
   2 ８四歩(83)   ( 0:00/00:00:00)
"""


@pytest.mark.parametrize("read", [lambda: csa.from_text(CSA)[0], lambda: kif.from_text(KIF)], ids=["csa", "kif"])
def test_a_game_written_by_others_is_read(read: object) -> None:
    assert callable(read)
    record = read()
    assert record.moves == ("7g7f", "3c3d", "8h2b+", "3a2b", "B*4e")
    assert record.names == ("Ari", "Bea")
    assert record.result == Result(BLACK, Ending.RESIGNATION)
    assert record.evaluations == (None, 35, None, None, None)


@pytest.mark.parametrize(
    ("position", "sfen"),
    [
        ("PI82HI22KA\n-", "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"),
        ("P+59OU00FU00FU00KI\nP-51OU\nP-00AL\n+", "4k4/9/9/9/9/9/9/9/4K4 b G2P2r2b3g4s4n4l16p 1"),
    ],
)
def test_positions_in_csa(position: str, sfen: str) -> None:
    assert csa.from_text(f"V2.2\n{position}\n%CHUDAN\n")[0].start == sfen


RESULTS = [
    Result(BLACK, Ending.RESIGNATION),
    Result(WHITE, Ending.ILLEGAL_MOVE),
    Result(None, Ending.IMPASSE),
    Result(None, Ending.REPETITION),
    Result(None, Ending.MAX_MOVES),
    Result(BLACK, Ending.TIME),
    Result(WHITE, Ending.DECLARATION),
    Result(BLACK, Ending.ILLEGAL_MOVE),
    None,
]


@pytest.mark.parametrize("result", RESULTS)
def test_every_end_of_a_game_comes_back(result: Result | None) -> None:
    moves = ("7g7f",) if result in (RESULTS[0], RESULTS[5], RESULTS[6]) else ("7g7f", "3c3d")
    record = GameRecord(moves, result=result)
    assert csa.from_text(csa.to_text(record)) == [record]
    assert kif.from_text(kif.to_text(record)) == record


def test_a_perpetual_check_is_recognised_again() -> None:
    game = ShogiGame("5k3/9/9/9/9/9/9/4R4/K8 b - 1")
    for usi in ["5h4h", "4a5a", "4h5h", "5a4a"] * 3:
        game.push_usi(usi)
    record = record_of(game)
    assert record.result == Result(WHITE, Ending.PERPETUAL_CHECK)
    assert csa.from_text(csa.to_text(record)) == [record]
    assert kif.from_text(kif.to_text(record)) == record


def test_people_may_play_on_where_the_rules_would_let_them_stop() -> None:
    undeclared = GameRecord(
        ("5b4b", "5i4i"),
        "+P+P+P+P+P+P+P+P1/4K4/+R+B7/9/9/9/9/9/4k4 b 10P 1",
        result=Result(WHITE, Ending.RESIGNATION),
    )
    assert undeclared.replay().result == Result(BLACK, Ending.DECLARATION)
    repeated = GameRecord((*["2h3h", "8b7b", "3h2h", "7b8b"] * 3, "7g7f"), result=None)
    for record in (undeclared, repeated):
        assert csa.from_text(csa.to_text(record)) == [record]
        assert kif.from_text(kif.to_text(record)) == record


@pytest.mark.parametrize(
    "text",
    [
        "",
        "V2.2\n",
        CSA.replace("+7776FU", "+7775FU"),
        CSA.replace("+7776FU", "-7776FU"),
        CSA.replace("+7776FU", "+7776XX"),
        CSA.replace("+7776FU", "+0776FU"),
    ],
)
def test_what_is_no_csa_game_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csa"
    path.write_text(text or "nothing", encoding="utf-8")
    with pytest.raises(GameError, match=r"bad\.csa"):
        read_records(path)


@pytest.mark.parametrize(
    "text",
    [
        "nothing",
        KIF.replace("７六歩(77)", "７五歩(77)"),
        KIF.replace("７六歩(77)", "ななろく"),
        KIF.replace("平手", "百枚落ち"),
    ],
)
def test_what_is_no_kif_game_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.kif"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(GameError, match=r"bad\.kif"):
        read_records(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "game.pgn").write_text("1. e4")
    with pytest.raises(GameError, match=r"\.csa, \.kif, \.kifu and \.sfen"):
        read_records(tmp_path / "game.pgn")
    with pytest.raises(GameError, match=r"\.csa, \.kif or \.kifu"):
        write_record(tmp_path / "game.pgn", GameRecord(()))
    (tmp_path / "noise.kif").write_bytes(bytes(range(128, 256)))
    with pytest.raises(GameError, match="neither"):
        read_records(tmp_path / "noise.kif")


@pytest.mark.parametrize("module", [kif, csa], ids=["kif", "csa"])
def test_a_damaged_record_is_read_or_refused_with_a_message(module: ModuleType) -> None:
    """Also board diagrams, which only records from other positions have."""
    rng = np.random.default_rng(4)
    board = ShogiGame("4k4/9/9/9/9/9/9/9/4K4 b RB2g 1")
    board.push(board.legal_moves[3])
    short = dataclasses.replace(random_records(6, 1)[0], start=START, moves=("7g7f", "3c3d", "8h2b+", "3a2b", "B*4e"))
    texts = [module.to_text(record) for record in (record_of(board), short)]
    signs = "0129一十歩成王打同v|・\n ：+-%xABC"
    for number in range(400):
        letters = list(texts[number % len(texts)])
        for _ in range(rng.integers(1, 8)):
            at = int(rng.integers(len(letters) - 12))
            if rng.random() < 0.5:
                letters[at] = signs[rng.integers(len(signs))]
            else:
                del letters[at : at + int(rng.integers(1, 12))]
        try:
            module.from_text("".join(letters))
        except GameError:
            continue


def test_an_illegal_move_in_kif_is_named_with_its_number() -> None:
    text = "手数----指手---------消費時間--\n   1 ７六歩(77)\n   2 ７六歩(77)\n"
    with pytest.raises(GameError, match=r"Move 2, ７六歩\(77\): 7g7f is not legal"):
        kif.from_text(text)
