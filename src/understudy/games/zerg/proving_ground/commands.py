"""The proving ground on the command line: `understudy proving-ground ...` and `python -m
understudy.games.zerg.proving_ground ...`.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path
from typing import Any

from loguru import logger

from understudy.games.zerg.challenges import DIFFICULTIES
from understudy.games.zerg.proving_ground.bot_files import load_bot
from understudy.games.zerg.proving_ground.difficulty_ladder import climb
from understudy.games.zerg.proving_ground.doors import DOORS, IN_PROCESS, Pairing, play_through
from understudy.games.zerg.proving_ground.install import install
from understudy.games.zerg.proving_ground.lobby import Lobby
from understudy.games.zerg.proving_ground.many_games import play_many
from understudy.games.zerg.proving_ground.maps import make_map, seed_of
from understudy.games.zerg.proving_ground.match import Seat
from understudy.games.zerg.proving_ground.recorded_data import compare
from understudy.games.zerg.proving_ground.recording import Recording, load_recording
from understudy.games.zerg.proving_ground.server import SILENCE, Server
from understudy.games.zerg.proving_ground.viewer import watch

RACES = ("Terran", "Zerg", "Protoss", "Random")
BUILDS = ["RandomBuild", "Rush", "Timing", "Power", "Macro", "Air"]
NEEDED_SHARE = 0.65


def add_commands(subparsers: Any) -> None:
    """Add the proving ground's commands; each sets `run`: parsed arguments in, exit code out."""
    add = subparsers.add_parser
    parser = add("install", help="lay out a folder that works as SC2PATH")
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--map", action="append", default=[], help="one more map name; its terrain is made from the name"
    )
    parser.set_defaults(run=_install)

    parser = add("serve", help="wait for a ladder bot (or two) on a port")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--bots", type=int, choices=(1, 2), default=1, help="2: two bots play each other")
    parser.add_argument(
        "--silence", type=float, default=SILENCE, help="seconds after which a silent client is disconnected"
    )
    _add_pairing(parser)
    parser.set_defaults(run=_serve)

    parser = add("play", help="play a bot file against a built-in opponent")
    parser.add_argument("bot", type=Path)
    parser.add_argument("--race", choices=RACES)
    parser.add_argument("--door", choices=(*DOORS, "all"), default=IN_PROCESS)
    parser.add_argument("--against", type=Path, help="another bot file instead of a built-in opponent (in-process)")
    parser.add_argument("--time-limit", type=float, help="game seconds after which it is a tie")
    parser.add_argument("--record", type=Path, help="write what `watch` can show (in-process)")
    _add_pairing(parser)
    parser.set_defaults(run=_play)

    parser = add("games", help="play many games with several bot files and report every error")
    parser.add_argument("bots", type=Path, nargs="+")
    parser.add_argument("--count", type=int, default=50)
    parser.set_defaults(run=_games)

    parser = add("ladder", help="show that stronger difficulties beat weaker ones")
    parser.add_argument("--games", type=int, default=18, help="games a pair of difficulties")
    parser.add_argument("--first-seed", type=int, default=0, help="maps and games are made from this number on")
    parser.set_defaults(run=_ladder)

    parser = add("compare", help="compare the unit data with recorded data responses of the game")
    parser.add_argument("recorded", type=Path, nargs="+")
    parser.set_defaults(run=_compare)

    parser = add("watch", help="draw a recorded game in the terminal or as PNG frames")
    parser.add_argument("recording", type=Path)
    parser.add_argument("--png", type=Path, help="a folder for PNG frames")
    parser.add_argument("--speed", type=float, default=8.0, help="times faster than the game")
    parser.add_argument("--follow", action="store_true", help="wait for more while the game is running")
    parser.set_defaults(run=_watch)

    parser = add("listen", help="be the game's executable (what an installed SC2PATH runs)")
    parser.add_argument("-listen", dest="host", default="127.0.0.1")
    parser.add_argument("-port", type=int, required=True)
    parser.set_defaults(run=_listen)


def _add_pairing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--opponent", choices=RACES, default="Random")
    parser.add_argument("--difficulty", choices=DIFFICULTIES, default="Medium")
    parser.add_argument("--build", choices=BUILDS, default="RandomBuild")
    parser.add_argument("--map-seed", type=_map_seed, default=0, help="a number, or as in Small-3, Four-3")
    parser.add_argument("--seed", type=int, default=0)


def _map_seed(text: str) -> int:
    return seed_of(f"ProvingGround-{text}")


def _pairing(arguments: argparse.Namespace) -> Pairing:
    return Pairing(arguments.opponent, arguments.difficulty, arguments.build, arguments.map_seed, arguments.seed)


def _install(arguments: argparse.Namespace) -> int:
    folder = install(arguments.folder, tuple(arguments.map)).resolve()
    print(f"Ready. Set SC2PATH={folder} and run any burnysc2 bot; its maps are ProvingGround-0 to ProvingGround-9.")
    return 0


def _listen(arguments: argparse.Namespace) -> int:
    async def run() -> None:
        server = Server(Lobby())
        await server.start(arguments.host, arguments.port)
        await server.wait()
        await server.stop()

    asyncio.run(run())
    return 0


def _serve(arguments: argparse.Namespace) -> int:
    async def run() -> None:
        pairing, lobby = _pairing(arguments), Lobby()
        computer = pairing.computer
        seats = [Seat(4, 4), Seat(4, 4)]
        if arguments.bots == 1:
            seats[1] = Seat(
                computer.race.value,
                computer.race.value,
                "",
                True,
                computer.difficulty.value,
                BUILDS.index(pairing.build) + 1,
            )
        lobby.create(make_map(pairing.map_seed), seats, pairing.seed)
        server = Server(lobby, arguments.silence)
        port = await server.start(arguments.host, arguments.port)
        print(f"Waiting for {arguments.bots} bot(s) on ws://{arguments.host}:{port}/sc2api", flush=True)
        await server.wait()
        await server.stop()
        if lobby.match is not None:
            game = lobby.match.simulation
            print(f"The game is over after {game.loop} loops; results: {game.state['result'].tolist()}")

    asyncio.run(run())
    return 0


def _play(arguments: argparse.Namespace) -> int:
    logger.remove()
    logger.add(sys.stderr, level="WARNING")
    pairing = _pairing(arguments)
    if arguments.against is not None:
        from understudy.games.zerg.proving_ground.in_process import play  # noqa: PLC0415 - only this branch plays two bots

        report = play(
            load_bot(arguments.bot, arguments.race),
            load_bot(arguments.against),
            map_seed=pairing.map_seed,
            seed=pairing.seed,
        )
        print(f"{arguments.bot.stem} against {arguments.against.stem}: {report.result} after {report.loops} loops")
        return 0 if report.result is not None else 1
    failed = False
    for door in DOORS if arguments.door == "all" else (arguments.door,):
        recording = (
            Recording(arguments.record, make_map(pairing.map_seed)) if arguments.record and door == IN_PROCESS else None
        )
        result = play_through(door, load_bot(arguments.bot, arguments.race), pairing, arguments.time_limit, recording)
        outcome = result.name if result else "no result"
        if recording is not None:
            recording.close()
        print(
            f"{door}: {arguments.bot.stem} against {pairing.race} ({pairing.difficulty}): {outcome}",
            flush=True,
        )
        failed = failed or result is None
    return int(failed)


def _games(arguments: argparse.Namespace) -> int:
    return play_many(arguments.bots, arguments.count)


def _ladder(arguments: argparse.Namespace) -> int:
    worst = 1.0
    for rung in climb(arguments.games, arguments.first_seed):
        worst = min(worst, rung.share)
        name = f"{DIFFICULTIES[rung.stronger - 1]} against {DIFFICULTIES[rung.weaker - 1]}"
        print(f"{name:32} {rung.points:5.1f} of {rung.games} ({rung.share:.0%})", flush=True)
    print(f"The least share of a stronger difficulty is {worst:.0%}; asked for: {NEEDED_SHARE:.0%}.")
    return int(worst < NEEDED_SHARE)


def _compare(arguments: argparse.Namespace) -> int:
    for path in arguments.recorded:
        print(compare(path).report())
    return 0


def _watch(arguments: argparse.Namespace) -> int:
    return watch(load_recording(arguments.recording, arguments.follow), arguments.png, arguments.speed)
