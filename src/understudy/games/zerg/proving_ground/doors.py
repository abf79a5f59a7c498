"""The three ways to connect a bot ("doors"), for the command that plays a bot file."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sc2 import maps, paths
from sc2.data import AIBuild, Difficulty, Race, Result
from sc2.main import play_from_websocket, run_game
from sc2.player import Bot, Computer

from understudy.games.zerg.proving_ground.in_process import play
from understudy.games.zerg.proving_ground.install import PROGRAM, install
from understudy.games.zerg.proving_ground.map_parts import name_of
from understudy.games.zerg.proving_ground.match import Recorder

IN_PROCESS, EXECUTABLE, LADDER = "in-process", "executable", "ladder"
OWN_PROGRAM = "program"  # the bot's own entry file, in a process of its own
DOORS = (IN_PROCESS, EXECUTABLE, LADDER)


@dataclass(frozen=True)
class Pairing:
    """One game: the computer's race, difficulty and build, the map and the seed."""

    race: str = "Random"
    difficulty: str = "Medium"
    build: str = "RandomBuild"
    map_seed: int = 0
    seed: int = 0

    @property
    def computer(self) -> Computer:
        """burnysc2's description of the opponent."""
        return Computer(Race[self.race], Difficulty[self.difficulty], AIBuild[self.build])


def play_through(
    door: str, bot: Bot, pairing: Pairing, time_limit: float | None = None, recorder: Recorder | None = None
) -> Result | None:
    """Play one game through one door and return the bot's result."""
    if door == IN_PROCESS:
        report = play(
            bot,
            pairing.computer,
            map_seed=pairing.map_seed,
            seed=pairing.seed,
            game_time_limit=time_limit,
            recorder=recorder,
        )
        return report.result
    if door == EXECUTABLE:
        return _through_executable(bot, pairing, time_limit)
    return _through_ladder(bot, pairing)


def _through_executable(bot: Bot, pairing: Pairing, time_limit: float | None) -> Result | None:
    """As `run_game` plays it with the real game: SC2PATH, a second process, a websocket."""
    with (
        tempfile.TemporaryDirectory(prefix="proving-ground-") as folder,
        _environment("SC2PATH", str(install(Path(folder), (name_of(pairing.map_seed),)))),
    ):
        read_again: Any = type(paths.Paths)
        read_again._MetaPaths__setup(paths.Paths)  # burnysc2 caches the first SC2PATH
        game_map = maps.get(name_of(pairing.map_seed))
        limit = None if time_limit is None else int(time_limit)
        result = run_game(
            game_map, [bot, pairing.computer], realtime=False, random_seed=pairing.seed, game_time_limit=limit
        )
    return result if isinstance(result, Result) else result[0] if result else None


def _through_ladder(bot: Bot, pairing: Pairing) -> Result | None:
    """As on a ladder: a server in another process, and a bot that connects to its port."""
    port = free_port()
    opponent = ["--opponent", pairing.race, "--difficulty", pairing.difficulty, "--build", pairing.build]
    where = ["--map-seed", name_of(pairing.map_seed).removeprefix("ProvingGround-"), "--seed", str(pairing.seed)]
    server = subprocess.Popen([sys.executable, "-m", PROGRAM, "serve", "--port", str(port), *opponent, *where])
    try:
        wait_for_port(port)
        return asyncio.run(_ladder_game(f"ws://127.0.0.1:{port}/sc2api", bot))
    finally:
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()


async def _ladder_game(url: str, bot: Bot) -> Result | None:
    result: Result | None = await play_from_websocket(url, bot, False, None)  # type: ignore[arg-type]
    return result


def free_port() -> int:
    """A free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_for_port(port: int, seconds: float = 180.0) -> None:
    """Wait until a server listens; its first start compiles the simulation."""
    until = time.monotonic() + seconds
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before
