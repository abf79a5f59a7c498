"""Mistakes that people make, and the message that each gets: no traceback, and it says what to do."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from understudy.cli import command_line, main
from understudy.extras import how_to_install
from understudy.games.zerg.training_run import main as run_with_training
from understudy.ledger.connection import Ledger
from understudy.rundir import RunDir

U, RUN = "understudy", "run_with_training"


class Mistake(NamedTuple):
    """A command line, what its message must contain, and its exit code."""

    line: str
    said: tuple[str, ...]
    code: int = 2
    variable: tuple[str, str] = ("", "")


# In the folder of the test: a run `my_run`, texts in `notes.txt` and `texts`, links that lead nowhere, wrong settings.
MISTAKES = [
    Mistake("understudy", ("COMMAND", "understudy --help")),
    Mistake("understudy lern", ("no command 'lern'", "did you mean learn?")),
    Mistake("understudy lean my_run", ("did you mean learn?",)),
    Mistake("understudy dashbord", ("did you mean dashboard?",)),
    Mistake("understudy learn --onec", ("no flag --onec", "did you mean --once?")),
    Mistake("understudy learn my_run --drian", ("no flag --drian", "understudy learn --help")),
    Mistake("understudy learn my_run again", ("'again' is one argument too many",)),
    Mistake("understudy learn my_rum", ("no run at", "did you mean my_run?", "--new"), 1),
    Mistake("understudy learn notes.txt", ("notes.txt is a file", "Name the folder of a run"), 1),
    Mistake("understudy monitor my_rnu", ("no run at", "did you mean my_run?"), 1),
    Mistake("understudy doctor my_rnu", ("no run at", "did you mean my_run?"), 1),
    Mistake("understudy dashboard my_rnu", ("no run at", "did you mean my_run?"), 1),
    Mistake("understudy pause nowhere/my_run", ("no run at", "no folder"), 1),
    Mistake("understudy models my_rnu", ("no run at", "did you mean my_run?"), 1),
    Mistake("understudy models my_run --rollback 99", ("Version 99 is not kept", "kept: none"), 1),
    Mistake("understudy models my_run --rollback zero", ("'zero' is not a whole number of at least 1",)),
    Mistake("understudy models my_run --average -4", ("'-4' is not a whole number of at least 1",)),
    Mistake("understudy export my_run", ("--tensorboard --csv --onnx is required",)),
    Mistake("understudy selfplay", ("Name a game to play", "--env ID"), 1),
    Mistake("understudy selfplay tictactow", ("no game 'tictactow'", "did you mean tictactoe?"), 1),
    Mistake("understudy selfplay --env CartPoll-v1", ("CartPole",), 1),
    Mistake("understudy selfplay tictactoe --env CartPole-v1", ("Name a game to play, or",), 1),
    Mistake("understudy selfplay tictactoe --import ale_py", ("--import goes with --env",), 1),
    Mistake("understudy selfplay my_game:SPEC", ("my_game:SPEC cannot be imported",), 1),
    Mistake("understudy selfplay tictactoe --updates -3", ("--updates", "'-3' is not a whole number")),
    Mistake("understudy selfplay tictactoe --seconds -1", ("--seconds", "'-1' is not a number above 0")),
    Mistake("understudy selfplay tictactoe --seconds nan", ("'nan' is not a number above 0",)),
    Mistake("understudy selfplay tictactoe --workers two", ("'two' is not a whole number",)),
    Mistake("understudy selfplay tictactoe --workers 0", ("'0' is not a whole number of at least 1",)),
    Mistake("understudy selfplay tictactoe --training.lerning-rate 1", ("did you mean --training.learning-rate?",)),
    Mistake(
        "understudy selfplay tictactoe --training.learning-rate 1e30",
        ("more than 10", "Default: 0.0006"),
        1,
    ),
    Mistake("understudy selfplay tictactoe --training.learning-rate fast", ("must be a number", "0.0006"), 1),
    Mistake("understudy selfplay tictactoe --network.hidden 9999999999", ("at least 1 and at most 65536",), 1),
    Mistake(
        "understudy selfplay tictactoe --network.policy mpl",
        ("'mpl' is not a choice", "possible: mlp, conv, transformer"),
        1,
    ),
    Mistake("understudy selfplay tictactoe --settings no.toml", ("There is no settings file no.toml",), 1),
    Mistake("understudy selfplay tictactoe --settings bad.toml", ("bad.toml cannot be read",), 1),
    Mistake("understudy selfplay tictactoe --settings typo.toml", ("nearest known one is 'gamma'",), 1),
    Mistake(
        "understudy learn my_run",
        ("nearest known one is 'learning_rate'",),
        1,
        ("UNDERSTUDY_TRAINING_LERNING_RATE", "1"),
    ),
    Mistake("understudy match random gredy", ("no player 'gredy'", "greedy"), 1),
    Mistake("understudy match random greedy --games -2", ("'-2' is not a whole number",)),
    Mistake("understudy usi nothing.npz", ("no checkpoint at nothing.npz",), 1),
    Mistake("understudy play chess", ("cannot be 'chess'", "possible: shogi")),
    Mistake("understudy replays nowhere", ("no replay folder", "REPLAY_ARCHIVE_DIR"), 1),
    Mistake("understudy package my_rnu", ("no run at", "did you mean my_run?"), 1),
    Mistake("understudy package my_run --bot nothing.py:Bot", ("nothing.py is not a file", "Python file"), 1),
    Mistake("understudy init my_run", ("my_run exists and is not empty", "Name a new folder"), 1),
    Mistake("understudy init my_bot", ("--race", "--from-bot"), 1),
    Mistake("understudy init my_bot --race Teran", ("did you mean Terran?",)),
    Mistake("understudy ladder pul", ("no command 'pul'", "did you mean pull?")),
    Mistake("understudy ladder pull my_run", ("AIARENA_TOKEN", "understudy ladder login"), 1),
    Mistake("understudy serve my_run --port 70000", ("'70000' is not a port", "65535")),
    Mistake("understudy serve my_run --idle-seconds -1", ("--idle-seconds", "'-1' is not a number above 0")),
    Mistake("understudy serve my_run --no-learner --host 0.0.0.0", ("set UNDERSTUDY_SERVE_TOKEN",), 1),
    Mistake("understudy dashboard my_run --dashboard.host 0.0.0.0", ("UNDERSTUDY_DASHBOARD_TOKEN", "127.0.0.1"), 1),
    Mistake("understudy stop my_run", ("No learner runs on",), 1),
    Mistake("understudy validate my_run", ("no game (.npz) in my_run",), 1),
    Mistake("understudy evaluate my_rnu", ("no run at", "did you mean my_run?"), 1),
    Mistake("understudy evaluate my_run", ("no model at", "understudy selfplay"), 1),
    Mistake("understudy evaluate my_run --games 0", ("'0' is not a whole number of at least 1",)),
    Mistake("understudy export my_run --onnx --version 9", ("Version 9 is not kept", "kept: none"), 1),
    Mistake("understudy gate my_run promot 2", ("did you mean promote?",)),
    Mistake("understudy arena my_run@stge random --game tictactoe", ("no version of a model yet",), 1),
    Mistake("understudy arena my_rnu random --game tictactoe", ("At least one contestant must be a run",), 1),
    Mistake("understudy arena my_run random --game tictactow", ("did you mean tictactoe?",), 1),
    Mistake("understudy arena my_run random --pairing al", ("did you mean all?",)),
    Mistake("understudy arena my_run random --sprt 5", ("--sprt", "expected 2 arguments")),
    Mistake("understudy match random greedy --sprt 10 0", ("--sprt",), 1),
    Mistake("understudy match random greedy --clock fast", ("not 'fast'", "10+0.1"), 1),
    Mistake("understudy match random usi:nothing --games 1", ("engine nothing does not start",), 1),
    Mistake("understudy csa host:99999 random --name me", ("has no valid port", "HOST:4081"), 1),
    Mistake("understudy csa host random --name me", ("UNDERSTUDY_CSA_PASSWORD",), 1),
    Mistake("understudy play shogi --nodes -1", ("'-1' is not a whole number of at least 0",)),
    Mistake("understudy tune my_run --trials 0", ("'0' is not a whole number of at least 1",)),
    Mistake("understudy sync my_run s3:/games", ("is not an object store", "s3://BUCKET/PREFIX"), 1),
    Mistake("understudy sync my_run ftp://games", ("is not an object store", "s3://"), 1),
    Mistake("understudy sync my_run nowhere/games", ("There is no folder", "mounted"), 1),
    Mistake("understudy sync my_run notes.txt", ("notes.txt is a file", "Name a folder"), 1),
    Mistake("understudy work nowhere/games --game tictactoe", ("There is no folder",), 1),
    Mistake("understudy machines nowhere", ("No machine has used nowhere yet",), 1),
    Mistake("understudy completion basch", ("did you mean bash?",)),
    Mistake("understudy learn-check --suite genral", ("did you mean general?",)),
    Mistake("understudy proving-ground ply bot.py", ("no command 'ply'", "did you mean play?")),
    Mistake("understudy proving-ground play nothing.py", ("nothing.py is not a file", "BotAI"), 1),
    Mistake("understudy proving-ground serve --port 70000", ("'70000' is not a port", "65535")),
    Mistake("understudy proving-ground play b.py --difficulty Esay", ("did you mean Easy?",)),
    Mistake("understudy help lern", ("no command 'lern'", "did you mean learn?")),
    Mistake("understudy learn my_run/models", ("my_run/models is a folder of the run", "Name that run"), 1),
    Mistake("understudy learn my_run/data/buffer --once --new", ("is a folder of the run",), 1),
    Mistake("understudy monitor my_run/models", ("is a folder of the run",), 1),
    Mistake("understudy selfplay tictactoe --run-dir my_run/models --updates 1", ("is a folder of the run",), 1),
    Mistake("understudy learn texts --once", ("texts is not a run", "--new"), 1),
    Mistake("understudy pause texts", ("texts is not a run",), 1),
    Mistake("understudy dashboard texts", ("texts is not a run",), 1),
    Mistake("understudy learn nowhere_link --once", ("is a link to nowhere", "Correct or remove the link"), 1),
    Mistake("understudy doctor ring", ("is a link to ring",), 1),
    Mistake("understudy learn notes.txt/run --new --once", ("notes.txt/run cannot be", "Choose another"), 1),
    Mistake("understudy learn my_run --settings my_run", ("my_run is a folder. Name a file.",), 1),
    Mistake("understudy learn my_run --settings windows.toml", ("windows.toml", "line 2", "'single quotes'"), 1),
    Mistake("understudy learn my_run --settings utf16.toml", ("not UTF-8 text", "Save it as UTF-8"), 1),
    Mistake("understudy learn my_run --settings twice.toml", ("twice.toml cannot be read", "line 3"), 1),
    Mistake("understudy learn my_run", ("names a section", "UNDERSTUDY_LEARNER_"), 1, ("UNDERSTUDY_LEARNER", "5")),
    Mistake("understudy learn my_run", ("'5 games'; it must be a whole number",), 1, ("NUM_INSTANCES", "5 games")),
    Mistake("understudy gate my_run promote", ("needs a version",), 1),
    Mistake("understudy gate my_run promote one", ("A version is a whole number, not 'one'",), 1),
    Mistake("understudy gate my_run mode strickt", ("possible: off, guard, strict",), 1),
    Mistake("understudy export my_run --csv out.csv", ("'out.csv' is one argument too many",)),
    Mistake("understudy note my_run hello world", ("'world' is one argument too many",)),
    Mistake("understudy selfplay tictactoe:3x3 --updates 1", ("tictactoe takes nothing after a colon",), 1),
    Mistake("understudy selfplay os:path --updates 1", ("os:path is not a game", "GameSpec"), 1),
    Mistake("understudy selfplay :: --updates 1", ("'::' does not name a module", "package.module:NAME"), 1),
    Mistake("understudy selfplay .game:SPEC --updates 1", ("does not name a module",), 1),
    Mistake("understudy selfplay gym --updates 1", ("Name the environment", "--env ID"), 1),
    Mistake("understudy selfplay tictactoe --backend rya", ("did you mean ray?",)),
    Mistake("understudy selfplay tictactoe --parallel.league-share 2", ("at least 0 and at most 0.9",), 1),
    Mistake("understudy sync my_run s3://", ("does not name a bucket", "s3://BUCKET/PREFIX"), 1),
    Mistake("understudy sync my_run s3://key:word@games", ("must not hold", "environment"), 1),
    Mistake("understudy sync my_run my_run --once", ("is a run directory", "Name another folder"), 1),
    Mistake("understudy machines my_run", ("is a run directory",), 1),
    Mistake("understudy replays . --run-dir new_run", ("no replay (.SC2Replay) in",), 1),
    Mistake("understudy init notes.txt/bot --race Zerg", ("part of this path is a file", "Choose another"), 1),
    Mistake("understudy init 1bot --race Zerg", ("begin it with a letter",), 1),
    Mistake("understudy validate notes.txt", ("notes.txt is 9 bytes long, too short for an .npz",), 1),
    Mistake("understudy usi my_run", ("my_run is not a regular file",), 1),
    Mistake("understudy analyse nothing.kif", ("nothing.kif cannot be read",), 1),
    Mistake("understudy tune my_run --over training.gama=0.9:1", ("did you mean gamma?",), 1),
    Mistake("understudy tune my_run --over training.gamma", ("an example:",), 1),
    Mistake("understudy proving-ground watch nothing", ("is not a recording", "--record"), 1),
    Mistake("run_with_training --games -1", ("'-1' is not a whole number of at least 0",)),
    Mistake("run_with_training --gmaes 3", ("no flag --gmaes", "did you mean --games?")),
    Mistake("run_with_training --map Automaton", ("no map 'Automaton'", "takes a number"), 1),
    Mistake("run_with_training", ("ZERG_GAMES", "'ten' is not a whole number"), 1, ("ZERG_GAMES", "ten")),
    Mistake("run_with_training", ("ZERG_RACE", "one of"), 1, ("ZERG_RACE", "Orc")),
    Mistake("run_with_training", ("NUM_INSTANCES is 'zero'", "whole number"), 1, ("NUM_INSTANCES", "zero")),
    Mistake("run_with_training", ("SC2PATH is '/nowhere'", "unset it"), 1, ("SC2PATH", "/nowhere")),
    Mistake("run_with_training --game starcraft", ("not found", "--game proving-ground"), 1),
]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda m: "=".join(m.variable).strip("=") + " " + m.line)
def test_a_mistake_gets_a_message_that_says_what_to_do(
    mistake: Mistake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    RunDir.at(tmp_path / "my_run").create()
    Ledger(tmp_path / "my_run" / "understudy.sqlite").close()
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "letter.txt").write_text("not a run")
    if os.name == "posix":
        (tmp_path / "nowhere_link").symlink_to("nowhere")
        (tmp_path / "ring").symlink_to("ring")
    elif "is a link" in mistake.said[0]:
        pytest.skip("links need a permission here")
    (tmp_path / "notes.txt").write_text("not a run")
    (tmp_path / "bad.toml").write_text("[training\n")
    (tmp_path / "typo.toml").write_text("[training]\ngama = 0.9\n")
    (tmp_path / "windows.toml").write_text('[replays]\ndirectory = "C:\\Users\\me"\n')
    (tmp_path / "utf16.toml").write_text("[training]\n", encoding="utf-16")
    (tmp_path / "twice.toml").write_text("[training]\ngamma = 0.9\ngamma = 0.8\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SC2PATH", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    if mistake.variable[0]:
        monkeypatch.setenv(*mistake.variable)
    program, *arguments = mistake.line.split()
    before = _names(tmp_path)
    try:
        code = {"understudy": main, "run_with_training": run_with_training}[program](arguments)
    except SystemExit as end:
        code = end.code  # type: ignore[assignment]
    shown = capsys.readouterr()
    message = shown.err + shown.out
    assert code == mistake.code, message
    for part in mistake.said:
        assert part in message
    assert "Traceback" not in message
    assert "usage:" not in message
    assert len(message) < 600, message
    assert (
        sorted(path.name for path in tmp_path.iterdir() if not path.name.startswith(".")) == before
    )  # a mistake leaves nothing behind


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))  # caches are hidden


@pytest.mark.parametrize(
    ("library", "extra"),
    [("uvicorn", "dashboard"), ("loguru", "zerg"), ("sc2.bot_ai", "zerg"), ("obstore", "remote"), ("ray", "ray")],
)
def test_a_library_that_comes_with_another_one_is_installed_by_the_extra(library: str, extra: str) -> None:
    assert f"[{extra}]'" in how_to_install(library)


def test_a_missing_library_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['rich'] = None; from understudy.cli import main; sys.exit(main(['monitor', '.']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "'rich" in done.stderr
    assert f"{sys.executable} -m pip install" in done.stderr
    assert "monitor]'" in done.stderr
    assert "Traceback" not in done.stderr


def _parsers(parser: argparse.ArgumentParser, name: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Each command, and the commands below it, with its parser."""
    yield name, parser
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below, found in action.choices.items():
                yield from _parsers(found, f"{name} {below}".strip())


COMMANDS = [name for name, _ in _parsers(command_line())]


def _help_of(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    with contextlib.suppress(SystemExit):
        main(line.split())
    return capsys.readouterr().out


def test_every_command_of_the_list_is_checked_below(capsys: pytest.CaptureFixture[str]) -> None:
    listed = re.findall(r"^    ([a-z][a-z-]+)\b", _help_of("--help", capsys), re.MULTILINE)
    assert set(listed) == {name for name in COMMANDS if name and " " not in name}
    assert len(listed) > 30


@pytest.mark.parametrize("command", COMMANDS)
def test_help_fits_a_screen_and_an_ascii_console(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = _help_of(f"{command} --help", capsys)
    assert text.startswith(f"usage: understudy {command}".strip())
    assert text.isascii()
    commands = sum(" " not in name for name in COMMANDS if name)
    assert len(text.splitlines()) <= (40 if command else commands + 13)  # one line for each in the list
    assert max(map(len, text.splitlines())) <= 80


def test_the_programs_of_games_have_help_that_fits_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for program in ("proving-ground", *(f"proving-ground {name}" for name in PROVING_GROUND.split())):
        text = _help_of(f"{program} --help", capsys)
        assert text.startswith(f"usage: understudy {program}")
        assert text.isascii()
        assert len(text.splitlines()) <= 40, program
        assert max(map(len, text.splitlines())) <= 80, program


PROVING_GROUND = "install serve play games ladder compare conformance watch listen"


def test_help_works_on_an_ascii_console() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "understudy", "--help"],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "COLUMNS": "80"},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()


WITH_SETTINGS = [name for name, parser in _parsers(command_line()) if "--help-all" in parser._option_string_actions]


def test_the_commands_with_settings_are_these() -> None:
    assert set(WITH_SETTINGS) >= {"learn", "selfplay", "dashboard", "replays", "package", "sync", "work", "tune"}


@pytest.mark.parametrize("command", WITH_SETTINGS)
def test_help_all_has_the_settings(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    short, full = _help_of(f"{command} --help", capsys), _help_of(f"{command} --help-all", capsys)
    assert "--help-all" in short
    assert len(full) > len(short)
    shown = [line.split()[0] for line in full.splitlines() if re.match(r"  --[a-z-]+\.[a-z-]+", line)]
    assert shown
    assert full.isascii()
    assert not [flag for flag in shown if f"  {flag} " in short]
