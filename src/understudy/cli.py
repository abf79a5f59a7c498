"""The command `understudy`. Each subcommand imports what it needs when it runs."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from understudy import __version__
from understudy.check import commands as check
from understudy.completion import SHELLS, script
from understudy.errors import RunDirError
from understudy.flags import (
    Parser,
    add_run_dir,
    add_settings,
    count,
    duration,
    end_quietly,
    existing_run,
    exit_code,
    flags,
    port,
    print_anywhere,
)
from understudy.games.spec import registered_games, resolve
from understudy.learner import commands as learner
from understudy.machine.home import have_a_home
from understudy.machine.priority import ONE_BLAS_THREAD
from understudy.machine.signals import clean_up_on_end_signals
from understudy.parallel import commands as parallel
from understudy.remote import commands as remote
from understudy.rundir import DEFAULT_RUN_DIR, RunDir
from understudy.settings import load_settings
from understudy.tune import commands as tune
from understudy.watch import commands as watch

_EXIT_CODES = (
    "Exit codes: 0 done, 1 refused or failed, 2 a mistake in the command, "
    "3 another learner uses the run, 130 ended by Ctrl-C, 141 output closed."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    for variable, threads in ONE_BLAS_THREAD.items():  # before NumPy is imported
        os.environ.setdefault(variable, threads)
    print_anywhere()
    have_a_home()
    logging.basicConfig(format="[%(levelname)s] %(message)s", level=logging.INFO)
    given = list(sys.argv[1:] if arguments is None else arguments)
    return exit_code(lambda: _run(given))


def _run(given: list[str]) -> int:
    if given[:1] == ["help"]:
        given = [*given[1:], "--help"]
    if given and given[0] in (programs := _programs()):
        return int(resolve(programs[given[0]][0])(given[1:]))
    options = command_line().parse_args(given)
    return int(options.run(options))


def program() -> int:
    """Run the command line of this process and flush its output; returns the exit code."""
    clean_up_on_end_signals()
    return end_quietly(main())


def command_line() -> Parser:
    """The parser of all commands; docs/commands.md is written from it."""
    parser = Parser(
        prog="understudy",
        description="Trains game-playing agents in the background and in parallel.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"understudy {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    learner.add_commands(partial(_command, commands))
    doctor = _command(commands, "doctor", _doctor, "check a run, and report problems and how to solve them")
    doctor.add_argument("--fix", action="store_true", help="repair what can be repaired without losing data")
    parallel.add_commands(commands)
    for name, (_, text) in _programs().items():
        commands.add_parser(name, help=text)  # parses its own arguments, see main
    for spec in registered_games().values():
        if spec.commands is not None:
            resolve(spec.commands)(commands)
    watch.add_commands(partial(_command, commands))
    check.add_commands(commands, main)
    remote.add_commands(commands)
    tune.add_commands(commands)
    _add_dashboard(commands)
    serve = _command(commands, "serve", _serve, "decide and record for bots in any language")
    _serve_flags(serve)
    models = _command(commands, "models", _models, "list the model versions of a run, or roll back to one")
    gate = _command(commands, "gate", _gate, "show or decide which version is on stage")
    _add_gate(gate)
    shell = commands.add_parser("completion", help="print a script that completes commands in a shell")
    shell.add_argument("shell", choices=sorted(SHELLS), metavar="SHELL", help="the shell")
    shell.set_defaults(run=partial(_completion, parser))
    change = models.add_mutually_exclusive_group()
    change.add_argument(
        "--rollback", type=count, metavar="VERSION", help="publish this version again, as the newest one"
    )
    change.add_argument(
        "--average", type=count, metavar="COUNT", help="publish the mean weights of the newest COUNT versions"
    )
    return parser


def _completion(parser: Parser, options: argparse.Namespace) -> int:
    print(script(parser, options.shell), end="")
    return 0


def _command(commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str) -> Parser:
    command: Parser = commands.add_parser(name, help=text)
    add_run_dir(command)
    command.set_defaults(run=run)
    return command


def _programs() -> dict[str, tuple[Any, str]]:
    """Commands of games that parse their own arguments."""
    return {name: program for spec in registered_games().values() for name, program in spec.programs.items()}


def _doctor(options: argparse.Namespace) -> int:
    from understudy.doctor import examine

    return examine(existing_run(options.run_dir), fix=options.fix)


def _add_dashboard(commands: Any) -> None:
    dashboard = commands.add_parser("dashboard", help="show runs live in the browser, until Ctrl-C")
    text = f"run directories (default: {DEFAULT_RUN_DIR})"
    dashboard.add_argument("run_dirs", nargs="*", default=[DEFAULT_RUN_DIR], metavar="RUN_DIR", help=text)
    dashboard.add_argument("--open", action="store_true", help="open the page in a browser")
    dashboard.set_defaults(run=_dashboard)
    add_settings(dashboard, ("dashboard",))


def _dashboard(options: argparse.Namespace) -> int:
    from understudy.watch.dashboard.server import serve

    settings = load_settings(options.settings, flags=flags(options)).dashboard
    runs = [RunDir.at(name) if name == DEFAULT_RUN_DIR else existing_run(name) for name in options.run_dirs]
    return serve(runs, settings, show=options.open)


def _serve_flags(serve: argparse.ArgumentParser) -> None:
    serve.add_argument("--stdio", action="store_true", help="talk over standard input and output instead of HTTP")
    serve.add_argument(
        "--host",
        default="127.0.0.1",
        help="address to listen on; any but the default needs a token",
    )
    serve.add_argument("--port", type=port, default=8178, help="port to listen on; 0 = any free port, which is printed")
    serve.add_argument("--no-learner", action="store_true", help="only answer and record; another process learns")
    serve.add_argument(
        "--idle-seconds",
        type=duration,
        default=600.0,
        metavar="S",
        help="close games that get no message for this many seconds",
    )


def _serve(options: argparse.Namespace) -> int:
    from understudy.serve.command import serve

    return serve(options)


def _add_gate(command: argparse.ArgumentParser) -> None:
    from understudy.run.gate_commands import add_arguments

    add_arguments(command)


def _gate(options: argparse.Namespace) -> int:
    from understudy.run.gate_commands import run

    return run(options)


def _models(options: argparse.Namespace) -> int:
    from understudy.learner.reports import number
    from understudy.ledger.connection import Ledger
    from understudy.models.store import ModelStore
    from understudy.run.control import average, roll_back, somebody
    from understudy.run.log import clock

    run = existing_run(options.run_dir)
    if not run.ledger.exists():
        raise RunDirError(f"No model has been published at {run.root}, so no version is kept there.")
    store = ModelStore(run.model, run.ledger)
    if options.rollback is not None:
        head = roll_back(run, options.rollback, somebody())
        print(f"Version {options.rollback} is published again, as version {head.version}.")
        return 0
    if options.average is not None:
        head, count = average(run, options.average, somebody())
        print(f"The mean of {count} versions is published as version {head.version}.")
        return 0
    kept = set(store.kept_versions())
    print(f"{'version':>7}  {'from':>6}  {'published':<19}  {'by':<10} {'games':>6} {'steps':>8} {'loss':>9}")
    with Ledger(run.ledger, read_only=True) as ledger:
        for v in ledger.versions(newest=max(len(kept), 20)):
            gone = "" if v.version in kept else "  (no longer kept)"
            parent = "-" if v.parent is None else v.parent
            print(
                f"{v.version:>7}  {parent:>6}  {clock(v.at):<19}  {v.publisher:<10} {v.games:>6} {v.steps:>8}"
                f" {number(v.loss):>9}{gone}"
            )
    return 0
