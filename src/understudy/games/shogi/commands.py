"""The shogi commands of the command line: `play shogi`, `usi`, `match` and `learn-games`."""

from __future__ import annotations

import argparse
import io
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from understudy.errors import SettingsError
from understudy.flags import count, count_or_zero, duration, duration_or_zero, learning_rate
from understudy.games.shogi.clock import TOLERANCE
from understudy.games.shogi.handicaps import HANDICAP_NAMES
from understudy.games.shogi.levels import FULL
from understudy.games.shogi.opponents import WHO

_PASSWORD = "UNDERSTUDY_CSA_PASSWORD"


def add_commands(commands: Any) -> None:
    """Add the subcommands to an argparse parser; each imports what it needs when it runs."""
    play = commands.add_parser("play", help="play shogi in the terminal")
    play.add_argument("game", choices=["shogi"], help="the game")
    play.add_argument("opponent", nargs="?", default="greedy", metavar="OPPONENT", help=f"{WHO}")
    play.add_argument("--white", action="store_true", help="you play White, who moves second")
    play.add_argument("--save", type=Path, metavar="FILE", help="save the game as .kif, .kifu or .csa")
    start = play.add_mutually_exclusive_group()
    start.add_argument("--position", metavar="SFEN", help="the first position")
    start.add_argument("--handicap", choices=HANDICAP_NAMES, metavar="NAME", help=", ".join(HANDICAP_NAMES))
    play.add_argument(
        "--clock", metavar="TEXT", help="time for both players, in seconds: 600/30 with byoyomi, 300+5 with increments"
    )
    play.add_argument("--notation", choices=["usi", "japanese"], default="usi", help="of the moves that are shown")
    play.add_argument(
        "--level", type=int, choices=range(1, FULL), metavar="N", help=f"1 to {FULL - 1}: let a checkpoint play weaker"
    )
    _add_strength(play)
    play.set_defaults(run=_play)

    usi = commands.add_parser("usi", help="run a checkpoint as a USI engine for any shogi program")
    usi.add_argument("checkpoint", type=Path, metavar="CHECKPOINT", help="the model file (.npz)")
    usi.set_defaults(run=_usi)

    _add_match(commands)
    _add_csa(commands)
    _add_check(commands)
    _add_learn_games(commands)
    _add_make_book(commands)
    _add_analyse(commands)


def _add_analyse(commands: Any) -> None:
    analyse = commands.add_parser("analyse", help="find the mistakes in a shogi game (.kif, .csa, .sfen)")
    analyse.add_argument("file", type=Path, metavar="FILE", help="the record of the game")
    analyse.add_argument("player", nargs="?", metavar="PLAYER", help=f"the analyst: {WHO} (default: fairy-stockfish)")
    analyse.add_argument("--game", type=count, default=1, metavar="N", help="which game of the file")
    analyse.add_argument("--save", type=Path, metavar="FOLDER", help="for the results (default: beside the record)")
    analyse.add_argument(
        "--mate-nodes", type=count_or_zero, default=20_000, metavar="N", help="positions searched for a mate"
    )
    _add_strength(analyse)
    analyse.set_defaults(run=_analyse)


def _add_make_book(commands: Any) -> None:
    book = commands.add_parser("make-book", help="make an opening book from game records (.csa, .kif, .kifu)")
    book.add_argument("records", type=Path, nargs="+", metavar="FILE_OR_FOLDER", help="game records")
    book.add_argument("--save", type=Path, required=True, metavar="FILE", help="the book, in YaneuraOu's format (.db)")
    book.add_argument("--moves", type=count, default=24, metavar="N", help="moves from the start of each game")
    book.add_argument("--least", type=count, default=2, metavar="N", help="leave out moves played less often")
    book.set_defaults(run=_make_book)


def _add_match(commands: Any) -> None:
    match = commands.add_parser("match", help="play a match between two shogi players or two runs")
    match.add_argument("first", metavar="FIRST", help=WHO)
    match.add_argument("second", metavar="SECOND", help="the same")
    match.add_argument(
        "--games", type=count, metavar="N", help="number of games (default: 20; with --sprt, the maximum: 2000)"
    )
    match.add_argument(
        "--sprt",
        nargs=2,
        type=float,
        metavar=("ELO0", "ELO1"),
        help="play until a sequential test decides between ELO0 and ELO1 as the advantage of the first",
    )
    match.add_argument("--seed", type=count_or_zero, default=0, metavar="N", help="seed of openings and players")
    match.add_argument("--max-moves", type=count, default=500, metavar="N", help="a game of this many moves is a draw")
    match.add_argument(
        "--clock",
        metavar="TEXT",
        help="seconds for each player, instead of --go: 10+0.1 with increments, 60/1 with byoyomi; a late move loses",
    )
    match.add_argument(
        "--tolerance",
        type=duration_or_zero,
        default=TOLERANCE,
        metavar="S",
        help="a move may be late by this many seconds",
    )
    match.add_argument("--save", type=Path, metavar="FOLDER", help="save the games in this folder, as .kifu")
    _add_strength(match)
    match.set_defaults(run=_match)


def _add_check(commands: Any) -> None:
    check = commands.add_parser("shogi-check", help="train shogi from scratch, then play known opponents")
    check.add_argument(
        "--run-dir", type=Path, metavar="RUN_DIR", help="the run directory, a new folder (default: a temporary folder)"
    )
    check.add_argument(
        "--minutes",
        type=duration,
        default=15.0,
        metavar="M",
        help="minutes of training on two cores; twice as many minutes of CPU time",
    )
    check.add_argument("--workers", type=count_or_zero, default=2, metavar="N", help="worker processes")
    check.add_argument("--games", type=count, default=40, metavar="N", help="games of each match at the end")
    check.add_argument(
        "--against", type=Path, metavar="MODEL", help="another model: 400 games of both policies without search"
    )
    check.add_argument("--seeds", "--seed", type=count_or_zero, nargs="+", default=[0], metavar="N", help="seeds")
    check.set_defaults(run=_check)


def _add_learn_games(commands: Any) -> None:
    learn = commands.add_parser("learn-games", help="train a network on game records (.csa, .kif, .kifu)")
    learn.add_argument("records", type=Path, nargs="+", metavar="FILE_OR_FOLDER", help="the game records")
    learn.add_argument(
        "--checkpoint",
        type=Path,
        required=True,
        metavar="FILE",
        help="the model file to write; training continues from it if it exists",
    )
    learn.add_argument("--blocks", type=count, default=4, metavar="N", help="residual blocks of a new network")
    learn.add_argument("--channels", type=count, default=64, metavar="N", help="width of a new network")
    learn.add_argument("--epochs", type=count, default=4, metavar="N", help="passes over the games")
    learn.add_argument("--minibatch", type=count, default=256, metavar="N", help="positions per gradient step")
    learn.add_argument("--learning-rate", type=learning_rate, default=1e-3, metavar="X", help="learning rate of Adam")
    learn.add_argument("--seed", type=count_or_zero, default=0, metavar="N", help="seed")
    learn.set_defaults(run=_learn_games)


def _add_csa(commands: Any) -> None:
    csa = commands.add_parser("csa", help="play shogi on a CSA server, such as floodgate")
    csa.add_argument("host", metavar="HOST", help="address of the server, with :PORT if it is not 4081")
    csa.add_argument("player", metavar="PLAYER", help=WHO)
    csa.add_argument(
        "--name", required=True, metavar="NAME", help=f"login name; the password comes from the variable {_PASSWORD}"
    )
    csa.add_argument(
        "--game", default="", metavar="NAME", help="what the server calls the game, for example floodgate-300-10F"
    )
    csa.add_argument("--games", type=count, default=1, metavar="N", help="number of games")
    csa.add_argument(
        "--save",
        type=Path,
        default=Path("csa_games"),
        metavar="FOLDER",
        help="folder for the games (default: csa_games)",
    )
    csa.add_argument("--comments", action="store_true", help="send evaluations with the moves (floodgate: always)")
    csa.add_argument("--nodes", type=count_or_zero, default=200, metavar="N", help=argparse.SUPPRESS)
    _add_option(csa)
    csa.set_defaults(run=_csa, go="byoyomi 1000")


def _add_strength(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--nodes",
        type=count_or_zero,
        default=200,
        metavar="N",
        help="positions a checkpoint searches per move; 0 = no search",
    )
    command.add_argument("--go", default="byoyomi 1000", metavar="TEXT", help="what a USI engine gets after go")
    _add_option(command)


def _add_option(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set an option of the USI engines; in a match, of one with 1: or 2: before the name; may be repeated",
    )


def _play(options: argparse.Namespace) -> int:
    from understudy.games.shogi.clock import Clocks
    from understudy.games.shogi.opponents import level_player, make_player
    from understudy.games.shogi.terminal import play_in_terminal, start_of

    start = start_of(options.position, options.handicap)
    clocks = None if options.clock is None else Clocks.parse(options.clock)
    with ExitStack() as stack:
        if options.level is None:
            opponent = make_player(options.opponent, options, 0, stack, clocks)
        else:
            opponent = level_player(options.opponent, options.level)
        human = int(options.white)
        play_in_terminal(opponent, human, options.save, start=start, clocks=clocks, notation=options.notation)
    return 0


def _usi(options: argparse.Namespace) -> int:
    import torch

    from understudy.games.shogi.usi_engine import engine_of

    torch.set_num_threads(1)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8", errors="replace")  # bytes that are not valid text are not a command
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    engine_of(options.checkpoint).run(sys.stdin)
    return 0


def _analyse(options: argparse.Namespace) -> int:
    from understudy.games.shogi.analyse_command import run_analyse

    return run_analyse(options)


def _make_book(options: argparse.Namespace) -> int:
    from understudy.games.shogi.book import make_book, write_book
    from understudy.games.shogi.record_files import gather

    records = gather(options.records, lambda text: print(f"understudy: {text}", file=sys.stderr))
    book = make_book(records, options.moves, options.least)
    write_book(options.save, book)
    moves = sum(len(found) for found in book.values())
    print(f"{len(records):,} games: {len(book):,} positions with {moves:,} moves. The book is {options.save}.")
    return 0


def _csa(options: argparse.Namespace) -> int:
    from understudy.games.shogi.clock import Clocks
    from understudy.games.shogi.csa_client import Account, CsaClient
    from understudy.games.shogi.csa_protocol import PORT
    from understudy.games.shogi.opponents import engine_player

    host, _, port = options.host.partition(":")
    if port and not (port.isdecimal() and 0 < int(port[:6]) < 65536):
        raise SettingsError(f"{options.host} has no valid port: write HOST:{PORT}.")
    if not (password := os.environ.get(_PASSWORD, "")):
        raise SettingsError(f"Put the password of {options.name} into the environment variable {_PASSWORD}.")
    account = Account(host, options.name, f"{options.game},{password}" if options.game else password, int(port or PORT))
    clocks = Clocks(1.0)
    with ExitStack() as stack:
        player = engine_player(options.player, options, stack, clocks)
        comments = options.comments or options.game.startswith("floodgate")
        CsaClient(account, player, clocks, options.save, comments=comments).play(options.games)
    return 0


def _match(options: argparse.Namespace) -> int:
    from understudy.games.shogi.match import run_match

    return run_match(options)


def _check(options: argparse.Namespace) -> int:
    if options.run_dir is not None and len(options.seeds) > 1:
        raise SettingsError("--run-dir goes with one seed: each seed needs a new folder.")
    return max(_check_seed(options, seed) for seed in options.seeds)


def _check_seed(options: argparse.Namespace, seed: int) -> int:
    from understudy.games.shogi.learn_check import LearnCheck, write_curve
    from understudy.games.shogi.strength import measure_strength
    from understudy.rundir import RunDir

    run = RunDir.at(options.run_dir or tempfile.mkdtemp(prefix="shogi_check_"))
    if run.model.exists():
        raise SettingsError(
            f"There is a model in {run.root} already; the check starts with an untrained model: name a new folder."
        )
    check = LearnCheck(run, options.minutes, options.workers, seed, lambda line: print(line, flush=True))
    reached = check.run()
    reached &= measure_strength(run.model, options.minutes, options.games, seed, options.against)
    if (picture := write_curve(check.points, run.root)) is not None:
        print(f"The curve is in {picture}.")
    print(f"The model is {run.model}.")
    return 0 if reached else 1


def _learn_games(options: argparse.Namespace) -> int:
    import torch

    from understudy.games.shogi.supervised import learn_games
    from understudy.settings import NetworkSettings

    torch.set_num_threads(1)
    network = NetworkSettings(policy="resnet", blocks=options.blocks, channels=options.channels)
    learn_games(
        options.records,
        options.checkpoint,
        network,
        epochs=options.epochs,
        minibatch=options.minibatch,
        learning_rate=options.learning_rate,
        seed=options.seed,
        say=print,
    )
    return 0
