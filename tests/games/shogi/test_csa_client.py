from __future__ import annotations

from pathlib import Path
from typing import Any

import cshogi
import numpy as np
import pytest

from games.shogi.csa_server import CsaServer, Plan, first_legal
from understudy.games.shogi.__main__ import main
from understudy.games.shogi.clock import Clocks
from understudy.games.shogi.csa_client import Account, CsaClient, CsaRefused
from understudy.games.shogi.csa_connection import ConnectionLost
from understudy.games.shogi.errors import EngineError
from understudy.games.shogi.players import GreedyPlayer, MoveChoice, RandomPlayer
from understudy.games.shogi.record import GameRecord
from understudy.games.shogi.record_files import read_records
from understudy.games.shogi.rules import Ending, Result, ShogiGame

MATE_IN_ONE = "P1 *  *  *  * -OU *  *  *  * \nP3 *  *  *  * +FU *  *  *  * \nP9 *  *  *  * +OU *  *  *  * \nP+00KI\n+"


class Thinker:
    """Plays the first legal move by its text, with a value and a line."""

    name = "thinker"

    def choose(self, game: ShogiGame) -> MoveChoice:
        texts = sorted(map(cshogi.move_to_usi, game.legal_moves))
        return MoveChoice(game.move_of_usi(texts[0]), 35, (texts[0], "3c3d", "9z9z"))


class Resigner:
    name = "resigner"

    def choose(self, game: ShogiGame) -> MoveChoice:
        return MoveChoice(None)


def client(server: CsaServer, player: object, folder: Path | None = None, **more: Any) -> CsaClient:
    account = Account("127.0.0.1", "ann", "secret", server.port)
    return CsaClient(account, player, Clocks(1.0), folder, say=lambda _: None, pause=0.01, **({"attempts": 5} | more))  # type: ignore[arg-type]


def played(plan: Plan, player: object = None, **more: Any) -> tuple[GameRecord, CsaServer]:
    player = player or RandomPlayer(np.random.default_rng(1))
    with CsaServer([plan]) as server:
        (record,) = client(server, player, **more).play(1)
    return record, server


def test_a_game_is_played_to_its_end_and_its_record_is_a_csa_file(tmp_path: Path) -> None:
    with CsaServer([Plan(), Plan(side="-")]) as server:
        records = client(server, Thinker(), tmp_path).play(2)
    assert [record.names for record in records] == [("ann", "bob")] * 2
    for number, record in enumerate(records):
        (saved,) = read_records(tmp_path / f"test-{number}.csa")
        assert saved.moves == record.moves == tuple(server.game(number).usi_moves())
        assert (len(saved.moves), saved.result) == (12, Result(None, Ending.MAX_MOVES))
        assert saved.seconds == ((1, 2) * 6, (2, 1) * 6)[number]
        assert saved.evaluations == ((35, None) * 6, (None, -35) * 6)[number]
    assert server.heard[0] == "LOGIN ann secret"
    assert server.heard[-1] == "LOGOUT"


def test_evaluations_go_with_the_moves_when_they_are_asked_for() -> None:
    _, server = played(Plan(side="-", moves=4, replies=first_legal), Thinker(), comments=True)
    moves = [line for line in server.heard if line.startswith("-")]
    assert all(line.partition(",")[2].startswith("'* -35") for line in moves)
    _, server = played(Plan(moves=1), Thinker(), comments=True)
    assert [line for line in server.heard if line[0] == "+"] == ["+1716FU,'* 35 -3334FU"]


@pytest.mark.parametrize(
    ("ending", "result"),
    [
        (("#RESIGN", "#WIN"), Result(0, Ending.RESIGNATION)),
        (("#RESIGN", "#LOSE"), Result(1, Ending.RESIGNATION)),
        (("#TIME_UP", "#WIN"), Result(0, Ending.TIME)),
        (("#TIME_UP", "#LOSE"), Result(1, Ending.TIME)),
        (("#ILLEGAL_MOVE", "#LOSE"), Result(1, Ending.ILLEGAL_MOVE)),
        (("#ILLEGAL_ACTION", "#WIN"), Result(0, Ending.ILLEGAL_MOVE)),
        (("#SENNICHITE", "#DRAW"), Result(None, Ending.REPETITION)),
        (("#OUTE_SENNICHITE", "#LOSE"), Result(1, Ending.PERPETUAL_CHECK)),
        (("#OUTE_SENNICHITE", "#WIN"), Result(0, Ending.PERPETUAL_CHECK)),
        (("#JISHOGI", "#WIN"), Result(0, Ending.DECLARATION)),
        (("#JISHOGI", "#DRAW"), Result(None, Ending.IMPASSE)),
        (("#MAX_MOVES", "#CENSORED"), Result(None, Ending.MAX_MOVES)),
        (("#CHUDAN",), None),
    ],
)
def test_every_ending_is_understood(ending: tuple[str, ...], result: Result | None, tmp_path: Path) -> None:
    with CsaServer([Plan(moves=3 if ending[-1] == "#WIN" and ending[0] != "#JISHOGI" else 2, ending=ending)]) as server:
        (record,) = client(server, RandomPlayer(np.random.default_rng(0)), tmp_path).play(1)
    assert record.result == result
    (saved,) = read_records(tmp_path / "test-0.csa")
    assert saved.result == result or (result and result.ending in (Ending.PERPETUAL_CHECK, Ending.DECLARATION))
    assert (saved.result and saved.result.winner) == (result and result.winner)


def test_a_mate_a_resignation_and_a_declaration() -> None:
    record, _ = played(Plan(start=MATE_IN_ONE), GreedyPlayer(np.random.default_rng(0)))
    assert record.result == Result(0, Ending.MATE)
    record, server = played(Plan(), Resigner())
    assert record.result == Result(1, Ending.RESIGNATION)
    assert "%TORYO" in server.heard
    entered = "P1+FU+FU+FU+FU+FU+FU+FU+FU * \nP2 *  *  *  * +OU *  *  *  * \nP3+RY+UM *  *  *  *  *  *  * \n"
    entered += "P9 *  *  *  * -OU *  *  *  * \nP+00HI00KA00FU00FU00FU00FU00FU00FU00FU00FU\n+"
    record, server = played(Plan(start=entered), Thinker())
    assert record.result == Result(0, Ending.DECLARATION)
    assert "%KACHI" in server.heard


def test_a_lost_connection_is_made_again_and_the_game_goes_on(tmp_path: Path) -> None:
    with CsaServer([Plan(cut_after=5), Plan()], refused=2) as server:
        records = client(server, RandomPlayer(np.random.default_rng(2)), tmp_path).play(2)
    assert [len(record.moves) for record in records] == [12, 12]
    assert records[0].moves == tuple(server.game(0).usi_moves())
    assert len([line for line in server.heard if line.startswith("LOGIN")]) == 2
    assert len(list(tmp_path.iterdir())) == 2


def test_garbage_long_lines_and_halves_of_lines_are_no_harm() -> None:
    garbage = [
        b"\n\n",
        b"\xff\xfe\x00 nonsense\n",
        b"x" * 20_000 + b"\n",
        b"##[GOSSIP] hello\n",
        b"BEGIN Time\n",
        b"+\n-99\n",
    ]
    record, _ = played(Plan(side="-", garbage=garbage))
    assert len(record.moves) == 12


def test_a_move_that_cannot_be_played_is_left_to_the_server() -> None:
    record, _ = played(Plan(side="+", illegal=True))
    assert (len(record.moves), record.result) == (1, Result(0, Ending.ILLEGAL_MOVE))


def test_a_slow_opponent_is_waited_for_with_empty_lines() -> None:
    record, server = played(Plan(side="-", moves=3, delay=0.1), keep_alive=0.02)
    assert len(record.moves) == 3
    assert server.empty_lines >= 2


def test_the_times_of_the_server_are_the_clock() -> None:
    clocks, told = Clocks(1.0), []

    class Watcher(RandomPlayer):
        def choose(self, game: ShogiGame) -> MoveChoice:
            told.append(clocks.go())
            return super().choose(game)

    fischer = "BEGIN Time\nTime_Unit:1sec\nTotal_Time:300\nIncrement:10\nEND Time"
    each = "BEGIN Time+\nTime_Unit:100msec\nTotal_Time:30\nByoyomi:5\nEND Time+\nBEGIN Time-\nTotal_Time:60\nEND Time-"
    with CsaServer([Plan(moves=4, time=fischer), Plan(moves=2, time=each)]) as server:
        account = Account("127.0.0.1", "ann", "secret", server.port)
        CsaClient(account, Watcher(np.random.default_rng(0)), clocks, say=lambda _: None, attempts=5).play(2)
    assert [*told[:2], told[3]] == [
        "btime 300000 wtime 300000 binc 10000 winc 10000",
        "btime 309000 wtime 308000 binc 10000 winc 10000",
        "btime 3000 wtime 60000 byoyomi 500",
    ]


def test_an_engine_that_fails_is_started_again() -> None:
    class Fragile(RandomPlayer):
        restarts, broken = 0, True

        def restart(self) -> None:
            self.restarts, self.broken = self.restarts + 1, False

        def choose(self, game: ShogiGame) -> MoveChoice:
            if self.broken:
                raise EngineError("It died.")
            return super().choose(game)

    player = Fragile(np.random.default_rng(0))
    record, _ = played(Plan(), player)
    assert (len(record.moves), player.restarts) == (12, 1)


def test_a_wrong_password_is_not_tried_again_and_never_shown() -> None:
    with (
        CsaServer([Plan()], password="other") as server,
        pytest.raises(CsaRefused, match="refuses the login of ann") as caught,
    ):
        client(server, Resigner()).play(1)
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(Account("host", "ann", "secret"))


def test_a_server_that_is_out_of_reach_is_given_up_after_the_attempts() -> None:
    with CsaServer([]) as server:
        pass
    with pytest.raises(ConnectionLost, match="cannot be reached"):
        client(server, Resigner(), attempts=2).play(1)


@pytest.mark.parametrize(
    ("name", "password"), [("a b", "x"), ("", "x"), ("ann", ""), ("ann", "a b"), ("ann", "a\nLOGOUT")]
)
def test_names_and_passwords_that_would_break_the_line_are_refused(name: str, password: str) -> None:
    with pytest.raises(CsaRefused):
        Account("host", name, password)


def test_the_command_plays_saves_and_its_games_are_learned_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNDERSTUDY_CSA_PASSWORD", "secret")
    with CsaServer([Plan()], password="floodgate-300-10F,secret") as server:
        command = ["csa", f"127.0.0.1:{server.port}", "greedy", "--name", "ann", "--save", str(tmp_path / "games")]
        assert main([*command, "--game", "floodgate-300-10F"]) == 0
    shown = capsys.readouterr().out
    assert "Game test-0 as Black against bob." in shown
    assert "draw (max moves), 12 moves." in shown
    assert "secret" not in shown
    assert len(read_records(tmp_path / "games" / "test-0.csa")) == 1


@pytest.mark.parametrize("missing", ["password", "port"])
def test_what_is_missing_is_said(
    missing: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("UNDERSTUDY_CSA_PASSWORD", raising=False)
    assert main(["csa", "host:x" if missing == "port" else "host", "greedy", "--name", "ann"]) == 1
    assert ("UNDERSTUDY_CSA_PASSWORD" if missing == "password" else "HOST:4081") in capsys.readouterr().err
