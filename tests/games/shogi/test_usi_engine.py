from __future__ import annotations

import io
import os
import queue
import random
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from games.shogi.material import material
from games.shogi.mates import positions
from understudy.errors import SettingsError
from understudy.games.shogi.book import make_book, write_book
from understudy.games.shogi.evaluation_cache import EvaluationCache, Judgement
from understudy.games.shogi.inference import Outputs
from understudy.games.shogi.mate import mate_of
from understudy.games.shogi.record import GameRecord
from understudy.games.shogi.rules import ShogiGame
from understudy.games.shogi.search import Limits, Search, SearchSettings
from understudy.games.shogi.usi_engine import UsiEngine, thinking_seconds
from understudy.games.shogi.usi_options import UsiOption

SHUFFLE = "k8/9/9/9/9/9/9/9/8K b - 1"  # only kings
REPETITION = " ".join(["2h3h", "8b7b", "3h2h", "7b8b"] * 3)


class Pipe:
    """Lines that come one by one, as from a program that waits for answers."""

    def __init__(self) -> None:
        self.lines: queue.Queue[str] = queue.Queue()

    def __iter__(self) -> Iterator[str]:
        while (line := self.lines.get()) != "end":
            yield line


def said(*lines: str) -> list[str]:
    """What the engine says to somebody who waits for its move before saying more."""
    output, pipe = io.StringIO(), Pipe()
    thread = threading.Thread(target=UsiEngine(lambda _: (material, "by counting"), output).run, args=(pipe,))
    thread.start()
    awaited = 0
    for line in lines:
        pipe.lines.put(line)
        awaited += line.startswith("go ")
        while len(re.findall(r"^(?:bestmove|checkmate) .*\n", output.getvalue(), re.MULTILINE)) < awaited:
            thread.join(0.005)
            assert thread.is_alive()
    pipe.lines.put("end")
    thread.join()
    return output.getvalue().splitlines()


def best(lines: list[str]) -> list[str]:
    return [line.split()[1] for line in lines if line.startswith("bestmove")]


def test_the_engine_introduces_itself_and_gets_ready() -> None:
    lines = said("usi", "isready", "quit", "usi")
    assert lines[0].startswith("id name Understudy")
    assert lines.index("usiok") < lines.index("readyok")
    assert lines.count("usiok") == 1
    assert "info string by counting" in lines


def test_it_plays_a_legal_move_and_says_what_it_thinks() -> None:
    lines = said("isready", "position startpos moves 7g7f", "go nodes 50", "quit")
    (move,) = best(lines)
    game = ShogiGame()
    game.push_usi("7g7f")
    game.push_usi(move)
    info = lines[-2].split()
    assert info[0] == "info"
    assert info[info.index("nodes") + 1] == "50"
    assert info[info.index("pv") + 1] == move


@pytest.mark.parametrize(
    ("position", "answer"),
    [
        ("sfen 4k4/9/4P4/9/9/9/9/9/4K4 b G 1", "G*5b"),
        ("sfen 4k4/9/4P4/9/9/9/9/9/4K4 b G 1 moves G*5b", "resign"),
        ("sfen +P+P+P+P+P+P+P+P1/4K4/+R+B7/9/9/9/9/9/4k4 b RB8P 1", "win"),
    ],
)
def test_it_mates_resigns_and_declares(position: str, answer: str) -> None:
    assert best(said(f"position {position}", "go nodes 20")) == [answer]


def test_a_repetition_does_not_stop_it() -> None:
    assert len(best(said(f"position startpos moves {REPETITION} 2h3h", "go nodes 20"))) == 1
    assert len(best(said(f"position startpos moves {REPETITION}", "go nodes 20"))) == 1


def test_wrong_input_is_answered_with_a_message_and_the_engine_goes_on() -> None:
    lines = said("position startpos moves 7g7e", "nonsense", "", "setoption name Nodes value many", "go nodes 5")
    assert sum(line.startswith("info string") and "not" in line for line in lines) == 2
    assert len(best(lines)) == 1


def test_options_are_obeyed() -> None:
    lines = said("setoption name Nodes value 7", "setoption name Unknown value 1", "go byoyomi 10000")
    assert " nodes 7 " in lines[-2]


IN_THREE = "sfen 1n6b/lsgp1+Bsgl/p4pnp1/1p2p1p1p/9/P1k1PPPPP/3P3G1/L1G2SKR1/1N2S2NL b RP2p 1"


def test_go_mate_finds_a_mate_proves_that_there_is_none_and_says_when_it_does_not_know() -> None:
    lines = said(
        "position sfen 4k4/9/4P4/9/9/9/9/9/4K4 b G 1", "go mate 10000", "position startpos", "go mate infinite"
    )
    assert [line for line in lines if line.startswith("checkmate")] == ["checkmate G*5b", "checkmate nomate"]
    found = said(f"position {IN_THREE}", "go mate")[-1].split()
    assert (found[0], len(found)) == ("checkmate", 4)
    hard = next(game for game in positions(5) if not (known := mate_of(game, 3000)).line and not known.none)
    assert said(f"position sfen {hard.board.sfen()}", "go mate 1")[-1] == "checkmate timeout"


def test_the_options_are_listed_and_other_values_are_refused_with_what_is_allowed() -> None:
    listed = {found.name: found for line in said("usi") if (found := UsiOption.parse(line))}
    assert {"USI_Hash", "USI_Ponder", "MultiPV", "ResignValue", "Contempt", "BookFile", "Level"} <= listed.keys()
    assert all(option.kind == "button" or option.check(option.default) == option.default for option in listed.values())
    lines = said("setoption name MultiPV value 0", "setoption name Contempt value x", "setoption name multi pv value 2")
    assert lines[0] == "info string The option MultiPV takes 1 to 100, not '0'."
    assert lines[1] == "info string The option Contempt takes -100 to 100, not 'x'."
    assert "did you mean 'MultiPV'?" in lines[2]


def test_several_lines_are_shown_the_best_first() -> None:
    lines = said("setoption name MultiPV value 3", "position startpos", "go nodes 60")
    shown = [line.split() for line in lines if " multipv " in line]
    assert [words[words.index("multipv") + 1] for words in shown] == ["1", "2", "3"]
    firsts = [words[words.index("pv") + 1] for words in shown]
    assert len(set(firsts)) == 3
    assert firsts[0] == best(lines)[0]


def test_the_score_of_a_mate_is_its_length() -> None:
    assert any(" score mate 3 " in line for line in said(f"position {IN_THREE}", "go nodes 20"))


def test_depth_is_the_length_of_the_expected_line() -> None:
    lines = said("position startpos", "go depth 3")
    info = next(line for line in reversed(lines) if " pv " in line)
    assert len(info.partition(" pv ")[2].split()) >= 3


def test_it_thinks_in_the_opponents_time_until_the_expected_move_is_played() -> None:
    output, pipe = io.StringIO(), Pipe()
    thread = threading.Thread(target=UsiEngine(lambda _: (material, ""), output).run, args=(pipe,))
    thread.start()
    for line in ("setoption name USI_Ponder value true", "position startpos moves 7g7f", "go ponder nodes 70", "usi"):
        pipe.lines.put(line)
    while "usiok" not in output.getvalue():
        thread.join(0.01)
    assert "bestmove" not in output.getvalue()
    pipe.lines.put("ponderhit")
    while "bestmove" not in output.getvalue():
        thread.join(0.01)
    last = output.getvalue().splitlines()[-1].split()
    assert (last[0], last[2]) == ("bestmove", "ponder")
    for line in ("position startpos moves 2g2f", "go ponder btime 1000 wtime 1000", "stop", "quit"):  # another move
        pipe.lines.put(line)
    thread.join(20)
    assert not thread.is_alive()
    assert len(best(output.getvalue().splitlines())) == 2


def test_it_resigns_where_it_was_told_to_and_not_before() -> None:
    lost = "position sfen 4k4/9/9/9/9/9/9/9/4K4 b 2r2b4g4s 1"
    assert best(said("setoption name ResignValue value 300", lost, "go byoyomi 400")) == ["resign"]
    assert best(said(lost, "setoption name Nodes value 20", "go byoyomi 10000")) != ["resign"]


def test_a_weak_level_looks_at_few_positions_and_does_not_always_play_the_same() -> None:
    lines = said("setoption name Level value 2", "position startpos", *["go byoyomi 10000"] * 12)
    assert {int(re.search(r" nodes (\d+) ", line)[1]) for line in lines if " nodes " in line} <= set(range(1, 9))  # type: ignore[index]
    assert len(set(best(lines))) > 1


def test_it_plays_from_a_book_and_says_what_is_wrong_with_one(tmp_path: Path) -> None:
    path = tmp_path / "my book.db"
    write_book(path, make_book([GameRecord(("7g7f", "3c3d", "2g2f"))], 2))
    chosen = f"setoption name BookFile value {path}"
    follow = ("position startpos moves 7g7f 3c3d", "go nodes 5")
    lines = said(chosen, "position startpos", "go byoyomi 10000", *follow, f"{chosen}x")
    assert best(lines)[0] == "7g7f"
    assert "info string The book has 2 positions." in lines
    assert lines[-1].startswith("info string The book")
    assert "cannot be read" in lines[-1]


def test_positions_are_kept_for_transpositions() -> None:
    cache = EvaluationCache(1)
    asked = 0

    def counting(planes: NDArray[np.float32]) -> Outputs:
        nonlocal asked
        asked += len(planes)
        return material(planes)

    search = Search(counting, SearchSettings(cache=cache))
    thought = search.think(ShogiGame(SHUFFLE), Limits(nodes=600))
    assert cache.hits > 50
    assert asked + cache.hits <= thought.nodes
    assert sum(visits for _, visits in thought.visits) == 599
    plain = Search(material).think(ShogiGame(SHUFFLE), Limits(nodes=600))
    assert abs(plain.value - thought.value) < 0.2
    for number in range(30_000):
        cache.put((number, 0, 1), Judgement(np.zeros(80, np.int32), np.zeros(80, np.float32), (0, 0, 0)))
    assert 0.9 < cache.full <= 1


def test_a_backend_that_is_missing_is_said() -> None:
    def load(backend: str) -> object:
        raise SettingsError(f"no {backend}")

    output = io.StringIO()
    UsiEngine(load, output).run(io.StringIO("setoption name Backend value openvino\nisready\n"))  # type: ignore[arg-type]
    assert output.getvalue() == "info string no openvino\n"


def test_an_infinite_search_answers_only_when_it_is_told_to_stop() -> None:
    output, pipe = io.StringIO(), Pipe()
    engine = UsiEngine(lambda _: (material, ""), output)
    thread = threading.Thread(target=engine.run, args=(pipe,))
    thread.start()
    for line in ("position sfen 4k4/9/4P4/9/9/9/9/9/4K4 b G 1", "go infinite", "usi"):
        pipe.lines.put(line)
    while "usiok" not in output.getvalue():
        thread.join(0.01)
    assert "bestmove" not in output.getvalue()  # although the mate is found at once
    pipe.lines.put("stop")
    pipe.lines.put("quit")
    thread.join(10)
    assert not thread.is_alive()
    assert output.getvalue().splitlines()[-1] == "bestmove G*5b"


@pytest.mark.parametrize(
    ("given", "turn", "seconds"),
    [
        ({}, 0, None),
        ({"nodes": 5}, 0, None),
        ({"byoyomi": 1000}, 0, 0.88),
        ({"btime": 0, "wtime": 0, "byoyomi": 5000}, 1, 4.88),
        ({"btime": 40_480, "wtime": 1}, 0, 1.0),
        ({"btime": 40_000, "wtime": 1, "byoyomi": 1000}, 0, 2.0),
        ({"btime": 1, "wtime": 40_480, "binc": 0, "winc": 2000}, 1, 3.0),
        ({"btime": 400, "wtime": 1, "binc": 200, "winc": 200}, 0, 0.1),
        ({"btime": 0, "wtime": 1, "binc": 200, "winc": 200}, 0, 0.08),
        ({"btime": 100, "wtime": 100}, 0, 0.001),
        ({"movetime": 500}, 1, 0.38),
    ],
)
def test_the_time_to_think_leaves_a_margin(given: dict[str, int], turn: int, seconds: float | None) -> None:
    assert thinking_seconds(given, turn, delay=120) == (None if seconds is None else pytest.approx(seconds))


HOSTILE = [
    "go btime --5 wtime 3",
    "go byoyomi " + "9" * 4300,
    "go nodes -" + "9" * 5000,
    "go movetime ²",
    "setoption name Nodes value " + "9" * 4300,
    "setoption name Nodes value -1",
    "setoption name NetworkDelay value --1",
    "setoption name Backend value",
    "position",
    "position sfen",
    "position sfen 9/9/9/9/9/9/9/9/9 b - 1",
    "position sfen " + "k" * 100_000 + " b - 1",
    "position startpos moves " + "7g7f " * 300,
    "position startpos moves \ufffd\x00 ٣٣٣",
    "\ufffd\ufffd\x1b[2J",
    "go",
    "stop",
    "ponderhit",
    "usinewgame",
    "gameover lose now",
]


@pytest.mark.parametrize("line", HOSTILE, ids=lambda line: line[:40])
def test_no_line_ends_the_engine(line: str) -> None:
    output = io.StringIO()
    script = f"setoption name Nodes value 3\n{line}\nstop\nposition startpos\ngo nodes 5\nusi\n"
    UsiEngine(lambda _: (material, ""), output).run(io.StringIO(script))
    lines = output.getvalue().splitlines()
    assert lines[-1] == "usiok" or lines[-1].startswith("bestmove")
    assert "usiok" in lines
    assert any(line.startswith("bestmove") for line in lines)
    assert all("\x1b" not in line and len(line) < 1000 for line in lines)


@pytest.mark.slow
def test_five_thousand_malformed_lines_end_nothing_and_every_answer_is_of_the_protocol() -> None:
    dice = random.Random(7)
    words = "usi isready setoption name value Nodes position startpos sfen moves go nodes btime wtime byoyomi infinite"
    words += (
        " ponder mate stop ponderhit usinewgame gameover depth movetime 7g7f 3c3d P*5e - -1 --5 1e9 9/9 b k 0 99 \ufffd"
    )
    words += " MultiPV Level BookFile USI_Hash ResignValue Backend Contempt /nowhere \x1b[2J <empty> " + "9" * 400
    sound = ["position startpos moves 7g7f", "go nodes 3", "go infinite", "go ponder", "go mate 5", "go depth 2",
             "setoption name MultiPV value 3", "setoption name Level value 1", "isready"]  # fmt: skip
    script = []
    for _ in range(5000):
        line = (
            " ".join(dice.choices(words.split(), k=dice.randint(0, 8))) if dice.random() < 0.8 else dice.choice(sound)
        )
        script.append(line.replace(dice.choice(line), "", 1) if line and dice.random() < 0.2 else line)
        if dice.random() < 0.3:
            script.append("stop")
    output = io.StringIO()
    script = [line for line in script if line.split()[:1] != ["quit"]]
    UsiEngine(lambda _: (material, ""), output).run(io.StringIO("\n".join([*script, "stop", "usi"])))
    lines = output.getvalue().splitlines()
    assert lines[-1] == "usiok"
    first = re.compile(r"(id|option|usiok|readyok|info|bestmove|checkmate)( [^\x00-\x1f\x7f]+)?")
    assert [line for line in lines if not first.fullmatch(line)] == []
    assert len(best(lines)) > 100
    assert max(map(len, lines)) < 1000


def test_the_memory_of_a_search_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("understudy.games.shogi.usi_engine.MOST_NODES", 40)
    lines = said("setoption name Nodes value 1000000", "position startpos", "go nodes 1000000", "go byoyomi 60000")
    seen = [int(re.search(r" nodes (\d+) ", line)[1]) for line in lines if " nodes " in line]  # type: ignore[index]
    assert len(best(lines)) == 2
    assert max(seen) <= 40


def test_a_search_that_fails_still_answers_with_a_move() -> None:
    def broken(planes: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():  # not while it gets ready
            raise ZeroDivisionError
        return material(planes)

    output = io.StringIO()
    UsiEngine(lambda _: (broken, ""), output).run(io.StringIO("position startpos\ngo nodes 50\n"))
    lines = output.getvalue().splitlines()
    assert "info string The search failed: ZeroDivisionError" in lines
    assert ShogiGame().move_of_usi(*best(lines))


@pytest.mark.slow
def test_bytes_that_are_no_text_do_not_end_the_process() -> None:
    code = (
        "import sys; from understudy.games.shogi import usi_engine, commands; from argparse import Namespace;"
        "from games.shogi.material import material;"
        "usi_engine.engine_of = lambda _: usi_engine.UsiEngine(lambda _: (material, ''));"
        "commands._usi(Namespace(checkpoint=None))"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    command = [sys.executable, "-c", code]
    ran = subprocess.run(command, input=b"\xff\xfe\xc3\x28\nusi\n", env=environment, capture_output=True, check=True)
    assert b"usiok" in ran.stdout
