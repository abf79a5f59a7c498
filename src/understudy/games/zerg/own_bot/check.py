"""`understudy package --check`: unpacks the zip and plays two games with it, as the ladder does."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass, field
from pathlib import Path

from understudy.games.zerg.own_bot.ladder_python import ABSENT, LadderPython
from understudy.games.zerg.own_bot.relay import Relay
from understudy.games.zerg.proving_ground.doors import free_port, wait_for_port

MOST_START_SECONDS = 30.0  # the ladder's limit for a bot that sends nothing
MOST_END_SECONDS = 60.0  # and for a bot whose game is over
GAME_SECONDS = 180  # game time, after which a game of the check is a tie
_PATIENCE = 600.0
_DRIVER = """
import runpy, sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"{{name}} is not on the ladder", name=name)
sys.meta_path.insert(0, Absent())
sys.argv[0] = "run.py"
sys.path[0] = "."
runpy.run_path("run.py", run_name="__main__")
"""


@dataclass
class LadderGame:
    """Measurements of one game."""

    number: int
    code: int | None
    start_seconds: float | None
    end_seconds: float | None
    changed: list[str]
    output: str
    problems: list[str] = field(default_factory=list)


def check_zip(package: Path, python: LadderPython) -> list[str]:
    """Play two games, print the measurements, and return the problems."""
    print(f"Checking {package.name} ({package.stat().st_size:,} bytes) with {python.about}.", flush=True)
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="understudy-ladder-", ignore_cleanup_errors=True) as folder:
        bot = Path(folder) / "bot"
        with zipfile.ZipFile(package) as archive:
            archive.extractall(bot)
        for number in (1, 2):
            game = _play(bot, python, number)
            problems += game.problems
            print(_line(game), flush=True)
            if game.problems:
                print(game.output.rstrip()[-3000:], file=sys.stderr)
                break
            _keep_data(bot, Path(folder))
    for problem in problems:
        print(f"PROBLEM: {problem}")
    print("The zip is ready for the ladder." if not problems else "The zip is not ready for the ladder.")
    return problems


def _play(bot: Path, python: LadderPython, number: int) -> LadderGame:
    before = _hashes(bot)
    port = free_port()
    serve = [sys.executable, "-m", "understudy.games.zerg.proving_ground", "serve", "--port", str(port)]
    serve += ["--opponent", "Terran", "--difficulty", "VeryEasy", "--build", "Macro", "--seed", str(number)]
    server = subprocess.Popen(serve, stdout=subprocess.DEVNULL)
    relay = None
    try:
        wait_for_port(port, 600)
        relay = Relay(port)
        flags = ["--GamePort", str(relay.port), "--LadderServer", "127.0.0.1", "--OpponentId", f"opponent-{number}"]
        flags += ["--game-time-limit", str(GAME_SECONDS)]  # a bot may ignore it
        command = [python.program, "-c", _DRIVER.format(absent=set(ABSENT)), *flags]
        environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
        began = time.monotonic()
        try:
            done = subprocess.run(
                command,
                cwd=bot,
                env=environment | {"PYTHONUNBUFFERED": "1"},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=_PATIENCE,
                check=False,
            )
            code, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            code, output = None, str(late.stdout or "")
        ended = time.monotonic()
    finally:
        if relay is not None:
            relay.close()
        server.kill()
        server.wait()
    after = _hashes(bot)
    changed = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    start = None if relay.connected_at is None else relay.connected_at - began
    end = None if relay.left_at is None else ended - relay.left_at
    game = LadderGame(number, code, start, end, changed, output)
    game.problems = list(_problems(game))
    return game


def _problems(game: LadderGame) -> list[str]:
    found = []
    place = f"game {game.number}"
    if game.code is None:
        found.append(f"{place}: the bot did not exit within {_PATIENCE:.0f} s")
    elif game.code != 0:
        last = game.output.strip().splitlines()[-1:] or ["no output"]
        found.append(f"{place}: run.py ended with code {game.code}: {last[0]}")
    if game.start_seconds is None:
        found.append(f"{place}: the bot never connected to the game")
    elif game.start_seconds > MOST_START_SECONDS:
        found.append(
            f"{place}: it took {game.start_seconds:.0f} s to connect; the ladder waits {MOST_START_SECONDS:.0f} s"
        )
    if game.end_seconds is not None and game.end_seconds > MOST_END_SECONDS:
        found.append(
            f"{place}: it ran {game.end_seconds:.0f} s after the game; the ladder allows {MOST_END_SECONDS:.0f} s"
        )
    if "Traceback (most recent call last)" in game.output and game.code == 0:
        found.append(f"{place}: there was an error in the output")
    outside = [name for name in game.changed if not name.startswith("data/")]
    if outside:
        found.append(f"{place}: written outside of data/, which the ladder does not keep: {', '.join(outside[:5])}")
    return found


def _line(game: LadderGame) -> str:
    start = "never connected" if game.start_seconds is None else f"connected after {game.start_seconds:.1f} s"
    end = "" if game.end_seconds is None else f", exited {game.end_seconds:.1f} s after the game"
    kept = [name for name in game.changed if name.startswith("data/")]
    return f"Game {game.number}: {start}{end}; wrote {len(kept)} files in data/: {', '.join(kept[:6])}"


def _keep_data(bot: Path, folder: Path) -> None:
    """Do what the ladder does between two games: zip the data folder, and unpack it for the next game."""
    with contextlib.suppress(FileNotFoundError):
        shutil.make_archive(str(folder / "data"), "zip", bot / "data")
        shutil.rmtree(bot / "data")
        shutil.unpack_archive(folder / "data.zip", bot / "data")


def _hashes(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
