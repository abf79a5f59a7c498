from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from understudy.games.shogi.__main__ import main
from understudy.games.shogi.checkpoint import Checkpoint, new_network, save_checkpoint
from understudy.games.shogi.record_files import read_records
from understudy.settings import NetworkSettings


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    path = tmp_path / "net.npz"
    save_checkpoint(path, Checkpoint(new_network(NetworkSettings(policy="resnet", blocks=1, channels=4))))
    return str(path)


@pytest.mark.slow
def test_a_match_is_played_and_its_games_can_be_learned_from(
    checkpoint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    games = tmp_path / "games"
    command = ["match", "greedy", checkpoint, "--nodes", "2", "--games", "2", "--max-moves", "20", "--save", str(games)]
    assert main(command) == 0
    assert "greedy against net, 2 nodes: +" in capsys.readouterr().out
    assert len([record for path in games.iterdir() for record in read_records(path)]) == 2
    assert main(["learn-games", str(games), "--checkpoint", checkpoint, "--epochs", "1"]) == 0
    assert "pass 1:" in capsys.readouterr().out


@pytest.mark.slow
def test_a_player_may_have_nodes_of_its_own(checkpoint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["match", f"{checkpoint}@2", f"{checkpoint}@0", "--games", "1", "--max-moves", "6"]) == 0
    assert "net, 2 nodes against net, policy: +0 =1 -0" in capsys.readouterr().out


@pytest.mark.slow
def test_a_late_move_loses_and_the_match_says_who_was_late(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    script = tmp_path / "engine.py"
    script.write_text(
        "import sys\n"
        "answers = {'usi': 'usiok', 'isready': 'readyok', 'go': 'bestmove resign'}\n"
        "for line in sys.stdin:\n"
        "    print(answers.get(line.split()[0], ''), flush=True)\n"
    )
    engine = f"usi:{Path(sys.executable).as_posix()} {script.as_posix()}"
    assert main(["match", "random", engine, "--games", "3", "--clock", "0/0.0000001", "--tolerance", "0"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("(time)") == 3  # the player who moves first is late
    assert "1 moves, 1 games lost on time" in shown
    assert "+1 =0 -2 of 3" in shown
    assert main(["match", "random", engine, "--games", "1", "--clock", "0/0.0000001", "--tolerance", "60"]) == 0
    assert "0 games lost on time (and 60 s of tolerance)" in capsys.readouterr().out
    assert main(["match", "random", engine, "--games", "2", "--clock", "60"]) == 0
    assert "0 games lost on time" in capsys.readouterr().out


def test_a_game_is_played_in_the_terminal(
    checkpoint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("7g7f\nresign\n"))
    assert main(["play", "shogi", checkpoint, "--nodes", "2"]) == 0
    assert "White wins (resignation)" in capsys.readouterr().out


def test_the_engine_speaks_usi(
    checkpoint: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "sys.stdin", io.StringIO("usi\nsetoption name Backend value torch\nisready\ngo nodes 3\nquit\n")
    )
    assert main(["usi", checkpoint]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("bestmove")


@pytest.mark.parametrize(
    "command",
    [
        ["usi", "none.npz"],
        ["play", "shogi", "none.npz"],
        ["play", "shogi", "nobody"],
        ["play", "shogi", "usi:no-such-engine"],
        ["play", "shogi", "usi:engine", "--option", "Level"],
        ["match", "random", "greedy", "--option", "Level=3"],
    ],
)
def test_what_is_missing_is_said_without_a_trace(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 1
    assert capsys.readouterr().err.startswith("understudy: ")
