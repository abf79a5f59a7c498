from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import cshogi
import numpy as np
import pytest

from understudy.games.shogi.checkpoint import Checkpoint, new_network, save_checkpoint
from understudy.games.shogi.clock import Clocks
from understudy.games.shogi.errors import EngineError
from understudy.games.shogi.gnushogi_bridge import allowed
from understudy.games.shogi.players import GreedyPlayer, RandomPlayer, play, play_match
from understudy.games.shogi.rules import ShogiGame
from understudy.games.shogi.usi_client import UsiPlayer
from understudy.games.shogi.usi_process import find_engines
from understudy.settings import NetworkSettings

SCRIPT = """
import sys
for line in sys.stdin:
    word = line.split()[0]
    if word == "usi": print("id name Script\\noption name Skill Level type spin default 20 min -20 max 20\\nusiok")
    elif word == "isready": print("readyok")
    elif word == "setoption": print("info string", line.strip())
    elif word == "go": print("info score cp 77 pv x\\n{answer}")
    elif word == "quit": break
    sys.stdout.flush()
"""


def scripted(answer: str) -> list[str]:
    return [sys.executable, "-c", SCRIPT.replace("{answer}", answer)]


def test_a_move_and_its_value_are_read() -> None:
    with UsiPlayer(scripted("bestmove 7g7f ponder 3c3d")) as engine:
        choice = engine.choose(ShogiGame())
        assert engine.name == "Script"
    assert choice.move is not None
    assert (cshogi.move_to_usi(choice.move), choice.value) == ("7g7f", 77)


def test_resignation_is_understood() -> None:
    with UsiPlayer(scripted("bestmove resign")) as engine:
        assert engine.choose(ShogiGame()).move is None


@pytest.mark.parametrize("answer", ["bestmove 7g7e", "bestmove", "bestmove nonsense"])
def test_an_illegal_answer_is_an_engine_error_and_loses_a_game(answer: str) -> None:
    with UsiPlayer(scripted(answer)) as engine:
        with pytest.raises(EngineError, match="answered"):
            engine.choose(ShogiGame())
        errors: list[EngineError] = []
        score = play_match(
            engine, GreedyPlayer(np.random.default_rng(0)), 2, np.random.default_rng(0), on_error=errors.append
        )
    assert (score.losses, len(errors)) == (2, 2)


def test_an_option_that_the_engine_does_not_list_is_refused_with_those_it_has() -> None:
    with pytest.raises(
        EngineError, match=r"no option 'Skill_Level'; did you mean 'Skill Level'\? It lists .*\(-20 to 20\)"
    ):
        UsiPlayer(scripted("bestmove 7g7f"), options={"Skill_Level": 0})
    with pytest.raises(EngineError, match="The option Skill Level takes -20 to 20, not '21'"):
        UsiPlayer(scripted("bestmove 7g7f"), options={"Skill Level": 21})
    with UsiPlayer(scripted("bestmove 7g7f"), options={"Skill Level": -3, "USI_Hash": 64}) as engine:
        assert engine.options["Skill Level"].default == "20"


def test_silence_is_an_engine_error() -> None:
    with UsiPlayer(scripted("info string still thinking"), patience=2) as engine:
        engine._patience = 0.1
        with pytest.raises(EngineError, match="within"):
            engine.choose(ShogiGame())


def test_an_engine_that_dies_or_does_not_start_is_an_engine_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="ended"):
        UsiPlayer([sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(EngineError, match="does not start"):
        UsiPlayer(str(tmp_path / "nothing"))


@pytest.mark.slow
def test_our_own_engine_plays_a_game_over_usi(tmp_path: Path) -> None:
    checkpoint = tmp_path / "net.npz"
    save_checkpoint(checkpoint, Checkpoint(new_network(NetworkSettings(policy="resnet", blocks=1, channels=4), seed=1)))
    command = [sys.executable, "-m", "understudy.games.shogi", "usi", str(checkpoint)]
    with UsiPlayer(command, "nodes 4", {"Backend": "torch"}, patience=60) as engine:
        assert engine.name.startswith("Understudy")
        record = play(engine, RandomPlayer(np.random.default_rng(0)), max_moves=40)
        assert len(record.moves) == 40 or record.result is not None
        assert any(value is not None for value in record.evaluations)


@pytest.mark.skipif("fairy-stockfish" not in find_engines(), reason="fairy-stockfish is not installed")
def test_fairy_stockfish_plays() -> None:
    with UsiPlayer(find_engines()["fairy-stockfish"], "nodes 200", {"Skill Level": -20}) as engine:
        record = play(RandomPlayer(np.random.default_rng(0)), engine, max_moves=30)
    assert record.result is not None


@pytest.mark.skipif("gnushogi" not in find_engines(), reason="gnushogi is not installed")
def test_gnu_shogi_plays_through_its_bridge() -> None:
    with UsiPlayer(find_engines()["gnushogi"]) as engine:
        record = play(RandomPlayer(np.random.default_rng(0)), engine, max_moves=4)
    assert engine.name == "GNU Shogi"
    assert len(record.moves) == 4


STAND_IN = """#!{python}
import sys
print("White mates!", flush=True)  # about the game before
for line in sys.stdin:
    print(line, end="", file=sys.stderr, flush=True)
    if line.startswith("level"): print("Clocks: 0 0", flush=True)
    if line == "go\\n": print({answer!r}, flush=True)
    if line == "quit\\n": break
"""


def bridged(answer: str, commands: str, folder: Path) -> tuple[list[str], list[str]]:
    """The bridge's output, and the commands that a stand-in for GNU Shogi received."""
    program, told = folder / "gnushogi", folder / "told"
    program.write_text(
        STAND_IN.format(python=sys.executable, answer=answer).replace("sys.stderr", f"open({str(told)!r}, 'a')")
    )
    program.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "understudy.games.shogi.gnushogi_bridge", str(program)],
        input=commands + "quit\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout.splitlines(), told.read_text().splitlines()


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("1. 7g7f 300000\n1. ... 3c3d 298580", "bestmove 3c3d"),
        ("depth = 1. ... B*5e 2985", "bestmove B*5e"),
        ("2. ... 8h2b+ 2985", "bestmove 8h2b+"),
        ("Black wins!", "bestmove resign"),
        ("Illegal move (no match) 7g7f", "info string GNU Shogi does not take a move: Illegal move (no match) 7g7f"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="a script cannot stand in for the program there")
def test_the_bridge_reads_what_gnu_shogi_says(line: str, answer: str, tmp_path: Path) -> None:
    said, told = bridged(line, "usi\nisready\nposition startpos moves 7g7f\ngo byoyomi 10\n", tmp_path)
    assert said[-1] == answer
    assert told[:6] == ["level 0 0:01", "depth", "29", "new", "force", "7g7f"]


@pytest.mark.skipif(sys.platform == "win32", reason="a script cannot stand in for the program there")
def test_the_bridge_shows_a_position_where_gnu_shogi_would_end_the_game(tmp_path: Path) -> None:
    moves = "2h3h 8b7b 3h2h 7b8b"
    said, told = bridged(
        "1. ... 7g7f 1",
        f"setoption name Depth value 3\nposition startpos moves {moves}\ngo depth 4\n"
        "position sfen 4k4/9/4+p4/9/9/9/9/9/4K4 w G2p 1\ngo infinite\n",
        tmp_path,
    )
    assert said == ["bestmove 7g7f", "bestmove 7g7f"]
    assert told[:7] == ["level 0 60:00", "depth", "4", "new", "force", "edit", "#"]
    second = told[told.index("go") + 1 :]
    assert second[:7] == ["level 0 60:00", "depth", "3", "new", "force", "edit", "#"]
    assert second[7:] == ["k5i", "g*", "c", "k5a", "p5c+", "p*", "p*", ".", "force", "white", "go", "quit"]


@pytest.mark.parametrize(
    ("go", "seconds", "depth"),
    [
        ("byoyomi 3700", 3, 0),
        ("byoyomi 300", 1, 0),
        ("btime 80000 wtime 400000 byoyomi 1000", 11, 0),
        ("btime 80000 wtime 400000 binc 2000 winc 9000", 19, 0),
        ("depth 5", 1, 5),
        ("infinite", 1, 0),
    ],
)
def test_the_bridge_gives_whole_seconds(go: str, seconds: int, depth: int) -> None:
    assert allowed(go.split(), 1, {"Seconds": 1, "Depth": 0}) == (seconds, depth)


@pytest.mark.parametrize(("go", "limit"), [("byoyomi 1000", 1.0), ("movetime 250", 0.25), ("nodes 5", None)])
def test_answers_later_than_the_time_that_was_given_are_counted(go: str, limit: float | None) -> None:
    with UsiPlayer(scripted("bestmove 7g7f"), go) as engine:
        assert engine.limit == limit
        engine.choose(ShogiGame())
        assert engine.late == 0
        engine.limit, engine.tolerance = 1e-9, 0.0
        engine.choose(ShogiGame())
        assert (engine.answers, engine.late) == (2, 1)


def test_every_game_is_announced_and_the_clocks_are_told_at_every_move() -> None:
    clocks, told = Clocks.parse("10+1"), []
    with UsiPlayer(scripted("bestmove 7g7f"), clocks) as engine:
        send = engine.send

        def note(line: str) -> None:
            told.append(line)
            send(line)

        engine.send = note  # type: ignore[method-assign]
        game = ShogiGame()
        engine.choose(game)
        clocks.charge(0, 3.0)
        engine.choose(game)
        engine.choose(ShogiGame())
    assert [line for line in told if line.startswith(("usinewgame", "go"))] == [
        "usinewgame",
        "go btime 9000 wtime 9000 binc 1000 winc 1000",
        "go btime 7000 wtime 9000 binc 1000 winc 1000",
        "usinewgame",
        "go btime 7000 wtime 9000 binc 1000 winc 1000",
    ]
