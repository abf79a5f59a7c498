"""Plays a bot as a ladder does: its own entry file, in a separate process, with the ladder's arguments.

This also plays bots that come with another python-sc2 or are written for another Python.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections import Counter, deque
from dataclasses import dataclass
from pathlib import Path

from sc2.data import Result

from understudy.errors import UnderstudyError
from understudy.games.zerg.proving_ground.doors import Pairing, free_port
from understudy.games.zerg.proving_ground.in_process import GameReport, seat_of
from understudy.games.zerg.proving_ground.lobby import Lobby
from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.match import LADDER_LIMIT, Recorder, Seat
from understudy.games.zerg.proving_ground.server import SILENCE, Server
from understudy.games.zerg.starcraft import LOOPS_PER_SECOND, RANDOM
from understudy.machine.signals import apart

AFTER_THE_GAME = 60.0  # seconds that a bot may take to exit, as on AI Arena
OPPONENT_ID = "proving-ground"
TAIL = 8  # output lines shown of a program that failed


class ProgramFailed(UnderstudyError):
    """A bot's program exited before its game was over."""


@dataclass(frozen=True)
class Program:
    """A bot's entry file, and the Python that runs it."""

    entry: Path
    python: str = sys.executable


def play_program(
    program: Program, pairing: Pairing, *, time_limit: float | None = None, recorder: Recorder | None = None
) -> GameReport:
    """Play one game with a bot's own program, which connects to a server in this process."""
    return asyncio.run(_play(program, pairing, time_limit, recorder))


async def _play(program: Program, pairing: Pairing, time_limit: float | None, recorder: Recorder | None) -> GameReport:
    lobby = Lobby(LADDER_LIMIT if time_limit is None else round(time_limit * LOOPS_PER_SECOND), recorder)
    lobby.create(make_map(pairing.map_seed), [Seat(RANDOM, RANDOM), seat_of(pairing.computer)], pairing.seed)
    server = Server(lobby, SILENCE)
    port = await server.start("127.0.0.1", 0)
    bot = await _start(program, port)
    said = deque[str](maxlen=TAIL)
    listening, ending = asyncio.create_task(_pass_on(bot, said)), asyncio.create_task(bot.wait())
    game = asyncio.create_task(server.wait())
    try:
        await asyncio.wait({game, ending}, return_when=asyncio.FIRST_COMPLETED)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(ending), AFTER_THE_GAME)
    finally:
        if bot.returncode is None:
            bot.kill()
        await ending
        await listening
        game.cancel()
        await server.stop()
    match, how = lobby.match, f"{program.entry} ended with exit code {bot.returncode}"
    if match is None:
        raise ProgramFailed(f"{how} and joined no game. Its last lines:\n" + "\n".join(said))
    result = Result(int(match.simulation.state["result"][0]))
    if result == Result.Defeat and bot.returncode:
        raise ProgramFailed(f"{how}. Its last lines:\n" + "\n".join(said))
    refused = Counter({(what, why): count for (player, what, why), count in match.refused.items() if player == 0})
    return GameReport(result, match.simulation.loop, match.simulation.digest(), refused)


async def _start(program: Program, port: int) -> asyncio.subprocess.Process:
    ladder = ["--LadderServer", "127.0.0.1", "--GamePort", str(port), "--StartPort", str(free_port())]
    # The bot finds its own modules, not those on this process's path.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return await asyncio.create_subprocess_exec(
        program.python,
        program.entry.name,
        *ladder,
        "--OpponentId",
        OPPONENT_ID,
        cwd=program.entry.parent,
        env=environment | {"PYTHONIOENCODING": "utf-8"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        **apart(),
    )


async def _pass_on(bot: asyncio.subprocess.Process, said: deque[str]) -> None:
    """Keep the last lines of what a bot prints."""
    assert bot.stdout is not None, "it is a pipe"
    while chunk := await bot.stdout.read(65536):
        said.extend(chunk.decode("utf-8", "replace").splitlines())
