"""The proving ground on the command line: `understudy proving-ground ...` and `python -m
understudy.games.zerg.proving_ground ...`.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from loguru import logger

from understudy.flags import count, count_or_zero, duration, port
from understudy.games.zerg.proving_ground.bot_files import brings_its_own_client, find_bot
from understudy.games.zerg.proving_ground.bot_games import BotGames, play_bot
from understudy.games.zerg.proving_ground.conformance.suite import GROUPS, conform
from understudy.games.zerg.proving_ground.difficulty_ladder import climb
from understudy.games.zerg.proving_ground.doors import DOORS, IN_PROCESS, OWN_PROGRAM, Pairing
from understudy.games.zerg.proving_ground.install import install
from understudy.games.zerg.proving_ground.lobby import Lobby
from understudy.games.zerg.proving_ground.many_games import play_many
from understudy.games.zerg.proving_ground.map_parts import SORTS
from understudy.games.zerg.proving_ground.maps import make_map, seed_of
from understudy.games.zerg.proving_ground.match import Seat
from understudy.games.zerg.proving_ground.recorded_data import compare
from understudy.games.zerg.proving_ground.recording import load_recording
from understudy.games.zerg.proving_ground.server import SILENCE, Server
from understudy.games.zerg.proving_ground.viewer import watch
from understudy.games.zerg.starcraft import BUILD_NAMES, DIFFICULTIES, RACE_NAMES

RACE_CHOICES = (*RACE_NAMES, "Random")
BUILD_CHOICES = ("RandomBuild", *BUILD_NAMES)
NEEDED_SHARE = 0.65


def add_commands(subparsers: Any) -> None:
    """Add the proving ground's commands; each sets `run`: parsed arguments in, exit code out."""
    add = subparsers.add_parser
    parser = add("install", help="create a folder that works as SC2PATH")
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--map", action="append", default=[], help="an additional map name; its terrain is generated from the name"
    )
    parser.set_defaults(run=_install)

    parser = add("serve", help="serve a game to one or two ladder bots on a port")
    parser.add_argument("--port", type=port, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--bots", type=int, choices=(1, 2), default=1, help="2: two bots play each other")
    parser.add_argument(
        "--silence", type=duration, default=SILENCE, help="disconnect a client that sends nothing for this many seconds"
    )
    _add_pairing(parser)
    parser.set_defaults(run=_serve)

    _add_play(add)

    parser = add("games", help="play many games with several bot files and report every error")
    parser.add_argument("bots", type=Path, nargs="+")
    parser.add_argument("--count", type=count, default=50)
    parser.set_defaults(run=_games)

    parser = add("ladder", help="show that stronger difficulties beat weaker ones")
    parser.add_argument("--games", type=count, default=18, help="games for each pair of difficulties")
    parser.add_argument("--first-seed", type=count_or_zero, default=0, help="seed of the first game and map")
    parser.set_defaults(run=_ladder)

    parser = add("compare", help="compare the unit data with recorded data responses of the game")
    parser.add_argument("recorded", type=Path, nargs="+")
    parser.set_defaults(run=_compare)

    parser = add("conformance", help="check the rules against burnysc2's own calculations")
    parser.add_argument("groups", nargs="*", type=_group, metavar="GROUP", help=f"of {', '.join(GROUPS)}; default: all")
    parser.add_argument("--python-sc2", type=Path, help="a python-sc2 checkout, whose own live tests are run too")
    parser.add_argument("--replays", type=Path, help="a folder of replays: are buildings paid for when ordered?")
    parser.set_defaults(run=_conformance)

    parser = add("watch", help="draw a recorded game in the terminal or as PNG frames")
    parser.add_argument("recording", type=Path)
    parser.add_argument("--png", type=Path, help="a folder for PNG frames")
    parser.add_argument("--speed", type=duration, default=8.0, help="playback speed relative to the game")
    parser.add_argument("--follow", action="store_true", help="follow a running game")
    parser.set_defaults(run=_watch)

    parser = add("listen", help="act as the game's executable (used by an installed SC2PATH)")
    parser.add_argument("-listen", dest="host", default="127.0.0.1")
    parser.add_argument("-port", type=int, required=True)
    parser.ignore_unknown = True  # as the game does
    parser.set_defaults(run=_listen)


def _add_play(add: Any) -> None:
    parser = add("play", usage="%(prog)s BOT [options]", help="play a bot against a built-in opponent or another bot")
    parser.add_argument("bot", help="a Python file, a ladder bot's folder, or package.module; FILE:Class if several")
    parser.add_argument("--race", choices=RACE_CHOICES, metavar="RACE", help="default: what the bot's code says")
    doors = f"{', '.join((*DOORS, OWN_PROGRAM))}, all"
    default = f"default: {IN_PROCESS}; {OWN_PROGRAM} for a folder that brings its own python-sc2"
    parser.add_argument("--door", choices=(*DOORS, OWN_PROGRAM, "all"), metavar="DOOR", help=f"{doors}; {default}")
    parser.add_argument("--python", help="the Python that runs a bot's own program (--door program)")
    parser.add_argument("--against", metavar="BOT", help="another bot instead of a built-in opponent (in-process)")
    parser.add_argument("--time-limit", type=duration, metavar="S", help="game seconds after which the game is a tie")
    parser.add_argument("--record", type=Path, metavar="FILE", help="record the game for `watch` (in-process)")
    parser.add_argument(
        "--games", type=count, default=1, metavar="N", help="games to play, each on the next map and seed"
    )
    parser.add_argument(
        "--parallel", type=count, default=1, metavar="N", help="games at the same time, each in a process"
    )
    _add_pairing(parser)
    parser.set_defaults(run=_play)


def _add_pairing(parser: argparse.ArgumentParser) -> None:
    _add_choice(parser, "--opponent", RACE_CHOICES, "Random")
    _add_choice(parser, "--difficulty", DIFFICULTIES, "Medium")
    _add_choice(parser, "--build", BUILD_CHOICES, "RandomBuild")
    parser.add_argument(
        "--map-seed",
        type=_map_seed,
        default=0,
        metavar="MAP",
        help="seed of the map, or a name such as Small-3 or Four-3",
    )
    parser.add_argument("--seed", type=count_or_zero, default=0, metavar="N", help="seed of the game")


def _add_choice(parser: argparse.ArgumentParser, flag: str, choices: Sequence[str], default: str) -> None:
    """Put the choices into the help and not into the usage, where they would not fit on a line."""
    parser.add_argument(flag, choices=choices, default=default, metavar=flag[2:].upper(), help=", ".join(choices))


def _group(text: str) -> str:
    if text not in GROUPS:
        raise argparse.ArgumentTypeError(f"there is no group {text}; choose from {', '.join(GROUPS)}")
    return text


def _map_seed(text: str) -> int:
    if not re.fullmatch(rf"({'|'.join(SORTS)})[0-9]{{1,9}}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a map; maps are 0, 1, 2 ..., Small-0 ..., Four-0 ...")
    return seed_of(f"ProvingGround-{text}")


def _pairing(arguments: argparse.Namespace) -> Pairing:
    return Pairing(arguments.opponent, arguments.difficulty, arguments.build, arguments.map_seed, arguments.seed)


def _install(arguments: argparse.Namespace) -> int:
    folder = install(arguments.folder, tuple(arguments.map)).resolve()
    print(f"Ready. Set SC2PATH={folder} and run any burnysc2 bot; its maps are in {folder / 'Maps'}.")
    return 0


def _listen(arguments: argparse.Namespace) -> int:
    async def run() -> None:
        server = Server(Lobby(), silence=None, alone=SILENCE)
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
                BUILD_CHOICES.index(pairing.build) + 1,
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
    asked = BotGames(
        arguments.bot,
        arguments.race,
        _pairing(arguments),
        arguments.time_limit,
        arguments.against,
        arguments.record,
        arguments.python,
    )
    own = arguments.python or brings_its_own_client(find_bot(arguments.bot))
    doors = DOORS if arguments.door == "all" else (arguments.door or (OWN_PROGRAM if own else IN_PROCESS),)
    return play_bot(asked, doors, arguments.games, arguments.parallel)


def _games(arguments: argparse.Namespace) -> int:
    return play_many(arguments.bots, arguments.count)


def _ladder(arguments: argparse.Namespace) -> int:
    worst = 1.0
    for rung in climb(arguments.games, arguments.first_seed):
        worst = min(worst, rung.share)
        name = f"{DIFFICULTIES[rung.stronger - 1]} against {DIFFICULTIES[rung.weaker - 1]}"
        print(f"{name:32} {rung.points:5.1f} of {rung.games} ({rung.share:.0%})", flush=True)
    print(f"The smallest share of a stronger difficulty is {worst:.0%}; goal: {NEEDED_SHARE:.0%}.")
    return int(worst < NEEDED_SHARE)


def _compare(arguments: argparse.Namespace) -> int:
    for path in arguments.recorded:
        print(compare(path).report())
    return 0


def _conformance(arguments: argparse.Namespace) -> int:
    logger.remove()
    logger.add(sys.stderr, level="ERROR")
    return conform(arguments.groups, arguments.python_sc2, arguments.replays)


def _watch(arguments: argparse.Namespace) -> int:
    return watch(load_recording(arguments.recording, arguments.follow), arguments.png, arguments.speed)
