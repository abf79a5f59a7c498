"""The command `understudy`. Each subcommand imports what it needs when it runs."""

from __future__ import annotations

import argparse
import dataclasses
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from understudy import __version__
from understudy.check import commands as check
from understudy.completion import SHELLS, script
from understudy.errors import LearnerBusy, RunDirError, SettingsError, UnderstudyError, explained, missing_library
from understudy.extras import how_to_install
from understudy.flags import Parser, add_settings, count, count_or_zero, duration, existing_run, flags, print_anywhere
from understudy.games.spec import SelfPlaySetup, all_work, argument_of, find_game, registered_games, resolve
from understudy.machine.priority import ONE_BLAS_THREAD, lower_priority
from understudy.machine.signals import on_end_signals
from understudy.remote import commands as remote
from understudy.rundir import DEFAULT_RUN_DIR, RunDir
from understudy.settings import game_sections, given_settings, learner_sections, load_settings
from understudy.tune import commands as tune
from understudy.watch import commands as watch

if TYPE_CHECKING:
    from understudy.parallel.loop_stats import LoopStats
    from understudy.parallel.rollout import Rollout
    from understudy.run.lock import StopRequest
    from understudy.settings import ParallelSettings, Settings

_PARENT_SECONDS = 2.0  # after SIGTERM, until the parent has said how to end
_EXIT_CODES = (
    "Exit codes: 0 done, 1 refused or failed (the message says why), 2 a mistake in the command, "
    "3 another learner uses the run, 130 ended by Ctrl-C."
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    for variable, threads in ONE_BLAS_THREAD.items():  # before NumPy is imported
        os.environ.setdefault(variable, threads)
    print_anywhere()
    logging.basicConfig(format="[%(levelname)s] %(message)s", level=logging.INFO)
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given and given[0] in (programs := _programs()):
            return int(resolve(programs[given[0]][0])(given[1:]))
        options = command_line().parse_args(given)
        return int(options.run(options))
    except LearnerBusy as error:
        print(f"understudy: {error}", file=sys.stderr)
        return error.exit_code
    except (UnderstudyError, OSError) as error:
        print(f"understudy: {explained(error) if isinstance(error, OSError) else error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if (library := missing_library(error)) is None:
            raise
        print(f"understudy: the library {library!r} is missing. {how_to_install(library)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def command_line() -> Parser:
    """The parser of all commands; docs/commands.md is written from it."""
    parser = Parser(
        prog="understudy",
        description="Trains game-playing agents in the background and in parallel.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"understudy {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    learn = _command(commands, "learn", _learn, "learn from the games of a run until Ctrl-C")
    learn.add_argument("--new", action="store_true", help="make the run directory if it does not exist")
    learn.add_argument("--wait", action="store_true", help="if another learner uses the run, wait until it ends")
    learn.add_argument("--once", action="store_true", help="learn all waiting games, then exit")
    learn.add_argument("--no-training", action="store_true", help="recover crashed games and report, but do not train")
    for name, work in all_work().items():
        learn.add_argument(f"--{name}", action="append_const", dest="work", const=name, help=work.help)
    learn.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    add_settings(learn, learner_sections())
    doctor = _command(commands, "doctor", _doctor, "check a run and report problems with their solutions")
    doctor.add_argument("--fix", action="store_true", help="repair what can be repaired without data loss")
    _add_selfplay(commands)
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
    serve = _command(commands, "serve", _serve, "decide and record for bots in any language until Ctrl-C")
    _serve_flags(serve)
    models = _command(commands, "models", _models, "list the model versions of a run, or roll back to one")
    gate = _command(commands, "gate", _gate, "show which version is on stage and why, or decide it by hand")
    _add_gate(gate)
    shell = commands.add_parser("completion", help="print a script that completes commands and flags in a shell")
    shell.add_argument("shell", choices=sorted(SHELLS), metavar="SHELL", help=", ".join(sorted(SHELLS)))
    shell.set_defaults(run=partial(_completion, parser))
    change = models.add_mutually_exclusive_group()
    change.add_argument(
        "--rollback", type=count, metavar="VERSION", help="publish this version again as the newest one"
    )
    change.add_argument(
        "--average", type=count, metavar="COUNT", help="publish the mean weights of the newest COUNT versions"
    )
    return parser


def _completion(parser: Parser, options: argparse.Namespace) -> int:
    print(script(parser, options.shell), end="")
    return 0


def _command(commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str) -> Parser:
    command: Parser = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
    command.add_argument(
        "run_dir", nargs="?", default=DEFAULT_RUN_DIR, metavar="RUN_DIR", help=f"default: {DEFAULT_RUN_DIR}"
    )
    command.set_defaults(run=run)
    return command


def _programs() -> dict[str, tuple[Any, str]]:
    """Commands of games that parse their own arguments."""
    return {name: program for spec in registered_games().values() for name, program in spec.programs.items()}


def _learn(options: argparse.Namespace) -> int:
    from understudy.learner.loop import LearnerLoop
    from understudy.run.lock import StopRequest, hold_run

    may_be_new = options.new or options.parent is not None or options.run_dir == DEFAULT_RUN_DIR
    run = RunDir.at(options.run_dir) if may_be_new else _run_for_learning(options.run_dir)
    settings = load_settings(options.settings, flags=flags(options))
    training = given_settings(options.settings, flags=flags(options))["training"]
    run.create()
    lower_priority()
    request = StopRequest()
    if options.parent is None:
        _stop_on_signals(request)
    else:
        _stop_with_parent(request, options.parent)
    with hold_run(run, request, wait=options.wait):
        if options.once:
            request.stop(drain=True)
        loop = LearnerLoop(run, settings, training, train=not options.no_training, work=options.work or ())
        well = loop.run(request)
    return 0 if well or not options.once else 1


def _run_for_learning(folder: str) -> RunDir:
    try:
        return existing_run(folder)
    except RunDirError as error:
        raise RunDirError(f"{error} To begin a new run there, add --new.") from None


def _add_selfplay(commands: Any) -> None:
    text = "train a model by self-play until Ctrl-C or a limit"
    selfplay = commands.add_parser("selfplay", help=text, description=text[0].upper() + text[1:] + ".")
    selfplay.add_argument(
        "game", nargs="?", metavar="GAME", help=f"{', '.join(_playable())}, or package.module:SPEC of your own"
    )
    selfplay.add_argument("--env", metavar="ID", help="a Gymnasium environment instead of GAME")
    selfplay.add_argument(
        "--import",
        dest="imports",
        action="append",
        default=[],
        metavar="PACKAGE",
        help="with --env: a package that registers environments, installed or in this folder; may be repeated",
    )
    selfplay.add_argument("--run-dir", default=DEFAULT_RUN_DIR, metavar="RUN_DIR", help=f"default: {DEFAULT_RUN_DIR}")
    selfplay.add_argument(
        "--workers",
        type=_workers,
        metavar="N",
        help="play in N workers, or auto: one per core or free CPU of a cluster; overrides parallel.num_workers",
    )
    selfplay.add_argument(
        "--backend",
        choices=["local", "ray"],
        help="workers are processes of this machine, or Ray actors; overrides parallel.backend",
    )
    selfplay.add_argument(
        "--address", metavar="ADDRESS", help="Ray cluster to join: auto, HOST:PORT or ray://HOST:PORT; implies ray"
    )
    selfplay.add_argument(
        "--seed", type=count_or_zero, default=0, help="of matches, decisions and a new model (default: 0)"
    )
    selfplay.add_argument("--updates", type=count, metavar="N", help="stop after N updates")
    selfplay.add_argument("--decisions", type=count, metavar="N", help="stop after N decisions")
    selfplay.add_argument("--seconds", type=duration, metavar="S", help="stop after S seconds")
    selfplay.set_defaults(run=_selfplay)
    add_settings(selfplay, ("network", "training", "storage", "parallel", "evaluation", *game_sections()))


def _workers(text: str) -> int:
    return 0 if text == "auto" else count(text)


def _parallel_of(options: argparse.Namespace, parallel: ParallelSettings) -> ParallelSettings:
    """The settings of workers with what --workers, --backend and --address say."""
    if options.address and options.backend == "local":
        raise SettingsError("--address names a Ray cluster; it does not go with --backend local.")
    backend = options.backend or ("ray" if options.address else None)
    given = {"num_workers": options.workers, "backend": backend, "address": options.address}
    changes = {name: value for name, value in given.items() if value is not None}
    return dataclasses.replace(parallel, enabled=True, **changes) if changes else parallel


def _playable() -> list[str]:
    return sorted(name for name, spec in registered_games().items() if spec.matches is not None and name != "gym")


def _selfplay(options: argparse.Namespace) -> int:
    from understudy.games.game import default_settings, open_game
    from understudy.models.store import ModelStore
    from understudy.parallel.evaluation import SelfPlayEvaluation
    from understudy.parallel.loop import TrainingLoopManager
    from understudy.parallel.progress import Progress, say
    from understudy.run.control import pass_on
    from understudy.run.lock import StopRequest, hold_run

    if (options.game is None) == (options.env is None):
        raise SettingsError("Name a game to play, or a Gymnasium environment with --env ID.")
    if options.imports and options.env is None:
        raise SettingsError("--import goes with --env: it names a package that registers Gymnasium environments.")
    game = options.game or ":".join(["gym", *options.imports, options.env])  # a name is all that workers get
    settings = load_settings(options.settings, flags=flags(options), defaults=default_settings(game))
    if options.env is not None:
        open_game(game, 1).close()  # an environment that cannot be made leaves no run behind
    settings = dataclasses.replace(settings, parallel=_parallel_of(options, settings.parallel))
    run = RunDir.at(options.run_dir)
    run.create()
    request = StopRequest()
    _stop_on_signals(request)
    with hold_run(run, request, wait=False):
        pass_on(run, request)
        store = ModelStore(run.model, run.ledger, keep=settings.storage.model_versions)
        store.recover()
        progress = Progress(game, run.model)
        setup = _setup_of(game, run, settings)
        evaluation = SelfPlayEvaluation(find_game(game), run, store, settings.evaluation, say)

        def on_update(stats: LoopStats, rollouts: Sequence[Rollout]) -> None:
            progress.on_update(stats, rollouts)
            setup.after_update(loop.model)
            evaluation.turn()

        loop = TrainingLoopManager(
            f"{game}:{setup.argument}" if setup.argument and not argument_of(game) else game,
            settings,
            given_settings(options.settings, flags=flags(options)),
            store=store,
            seed=options.seed,
            status=run.status,
            loads=run.loads,
            updates=run.updates,
            on_update=on_update,
        )
        progress.begin(loop)
        loop.run(request, updates=options.updates, decisions=options.decisions, seconds=options.seconds)
        evaluation.turn()
        progress.end(loop)
    return 0


def _setup_of(game: str, run: RunDir, settings: Settings) -> SelfPlaySetup:
    setup = find_game(game).selfplay
    return SelfPlaySetup() if setup is None else resolve(setup)(run, settings)


def _stop_on_signals(request: StopRequest) -> None:
    def stop() -> None:
        print("\nFinishing the current batch (press again to stop at once) ...", flush=True)
        request.stop()

    on_end_signals(stop)


def _stop_with_parent(request: StopRequest, parent: int) -> None:
    """Obey "stop" and "drain" on standard input; end of input means that the parent has exited."""
    # A service manager sends SIGTERM to every process. What the parent asks for comes soon after it and counts.
    patience = threading.Timer(_PARENT_SECONDS, request.stop)
    patience.daemon = True

    def terminate(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        patience.start()

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, terminate)

    def listen() -> None:
        command = sys.stdin.readline().strip()
        patience.cancel()
        request.stop(drain=command == "drain")

    def watch() -> None:  # a child that the parent forked may hold the pipe open after the parent's death
        while os.getppid() == parent:
            if request.event.wait(1.0):
                return
        request.stop()

    threading.Thread(target=listen, daemon=True).start()
    if os.name == "posix":
        threading.Thread(target=watch, daemon=True).start()


def _doctor(options: argparse.Namespace) -> int:
    from understudy.doctor import examine

    return examine(existing_run(options.run_dir), fix=options.fix)


def _add_dashboard(commands: Any) -> None:
    text = "show runs live in the browser until Ctrl-C"
    dashboard = commands.add_parser("dashboard", help=text, description=text[0].upper() + text[1:] + ".")
    dashboard.add_argument(
        "run_dirs", nargs="*", default=[DEFAULT_RUN_DIR], metavar="RUN_DIR", help=f"default: {DEFAULT_RUN_DIR}"
    )
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
    serve.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1; any other one needs a token")
    serve.add_argument("--port", type=int, default=8178, help="default: 8178; 0 = any free port, which is printed")
    serve.add_argument("--no-learner", action="store_true", help="only decide and record; another process learns")
    serve.add_argument(
        "--idle-seconds", type=float, default=600.0, metavar="S", help="close games without a message for this long"
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
