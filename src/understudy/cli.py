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
from understudy.errors import LearnerBusy, SettingsError, UnderstudyError, missing_library
from understudy.flags import add_settings, flags
from understudy.games.spec import SelfPlaySetup, all_work, argument_of, find_game, registered_games, resolve
from understudy.machine.priority import ONE_BLAS_THREAD, lower_priority
from understudy.rundir import DEFAULT_RUN_DIR, RunDir
from understudy.settings import given_settings, learner_sections, load_settings
from understudy.watch import commands as watch

if TYPE_CHECKING:
    from understudy.learner.run_lock import StopRequest
    from understudy.parallel.loop import LoopStats
    from understudy.parallel.rollout import Rollout
    from understudy.settings import Settings

_EXTRAS = "docs/architecture.md says which extra: pip install 'understudy[EXTRA]'."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    for variable, count in ONE_BLAS_THREAD.items():  # before NumPy is imported
        os.environ.setdefault(variable, count)
    logging.basicConfig(format="[%(levelname)s] %(message)s", level=logging.INFO)
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given and given[0] in (programs := _programs()):
            return int(resolve(programs[given[0]][0])(given[1:]))
        options = _parser().parse_args(given)
        return int(options.run(options))
    except LearnerBusy as error:
        print(f"understudy: {error}", file=sys.stderr)
        return error.exit_code
    except (UnderstudyError, OSError) as error:
        print(f"understudy: {error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if (library := missing_library(error)) is None:
            raise
        print(f"understudy: this needs the library {library!r}, which an extra installs; {_EXTRAS}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="understudy", description="Trains game-playing agents in the background and in parallel."
    )
    parser.add_argument("--version", action="version", version=f"understudy {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    learn = _command(commands, "learn", _learn, "learn from the games of a run until Ctrl-C")
    learn.add_argument("--wait", action="store_true", help="if another learner holds the run, take over after it")
    learn.add_argument("--once", action="store_true", help="learn everything that waits, then end")
    learn.add_argument("--no-training", action="store_true", help="watch, salvage and report, but do not train")
    for name, work in all_work().items():
        learn.add_argument(f"--{name}", action="append_const", dest="work", const=name, help=work.help)
    learn.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    add_settings(learn, learner_sections())
    doctor = _command(commands, "doctor", _doctor, "check a run and say what is wrong and how to mend it")
    doctor.add_argument("--fix", action="store_true", help="mend what can be mended without losing anything")
    _add_selfplay(commands)
    for name, (_, text) in _programs().items():
        commands.add_parser(name, help=text)  # parses its own arguments, see main
    for spec in registered_games().values():
        if spec.commands is not None:
            resolve(spec.commands)(commands)
    watch.add_commands(partial(_command, commands))
    check.add_commands(commands, main)
    _add_dashboard(commands)
    models = _command(commands, "models", _models, "list the versions of a run's model, or go back to one")
    change = models.add_mutually_exclusive_group()
    change.add_argument("--rollback", type=int, metavar="VERSION", help="publish this version again, as the newest")
    change.add_argument("--average", type=int, metavar="COUNT", help="publish the mean of the newest versions' weights")
    return parser


def _command(commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + "."
    )
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
    from understudy.learner.run_lock import StopRequest, hold_run

    run = RunDir.at(options.run_dir)
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


def _add_selfplay(commands: Any) -> None:
    text = "train a model by self-play until Ctrl-C, or until a limit is reached"
    selfplay = commands.add_parser("selfplay", help=text, description=text[0].upper() + text[1:] + ".")
    selfplay.add_argument(
        "game", nargs="?", metavar="GAME", help=f"{', '.join(_playable())}, or package.module:SPEC of your own"
    )
    selfplay.add_argument("--env", metavar="ID", help="a Gymnasium environment, in place of GAME")
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
        type=int,
        metavar="N",
        help="play in N processes, whatever parallel.enabled says; default: as the settings say",
    )
    selfplay.add_argument("--seed", type=int, default=0, help="of matches, decisions and a new model (default: 0)")
    selfplay.add_argument("--updates", type=int, metavar="N", help="end after N updates")
    selfplay.add_argument("--decisions", type=int, metavar="N", help="end after N decisions")
    selfplay.add_argument("--seconds", type=float, metavar="S", help="end after S seconds")
    selfplay.set_defaults(run=_selfplay)
    add_settings(selfplay, ("network", "training", "storage", "parallel"))


def _playable() -> list[str]:
    return sorted(name for name, spec in registered_games().items() if spec.matches is not None and name != "gym")


def _selfplay(options: argparse.Namespace) -> int:
    from understudy.games.game import default_settings
    from understudy.learner.control import pass_on
    from understudy.learner.run_lock import StopRequest, hold_run
    from understudy.models.store import ModelStore
    from understudy.parallel.loop import TrainingLoopManager
    from understudy.parallel.progress import Progress

    if (options.game is None) == (options.env is None):
        raise SettingsError("Name a game to play, or a Gymnasium environment with --env ID.")
    if options.imports and options.env is None:
        raise SettingsError("--import goes with --env: it names a package that registers Gymnasium environments.")
    game = options.game or ":".join(["gym", *options.imports, options.env])  # a name is all that workers get
    settings = load_settings(options.settings, flags=flags(options), defaults=default_settings(game))
    if options.workers is not None:
        parallel = dataclasses.replace(settings.parallel, enabled=True, num_workers=options.workers)
        settings = dataclasses.replace(settings, parallel=parallel)
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

        def on_update(stats: LoopStats, rollouts: Sequence[Rollout]) -> None:
            progress.on_update(stats, rollouts)
            setup.after_update(loop.model)

        loop = TrainingLoopManager(
            f"{game}:{setup.argument}" if setup.argument and not argument_of(game) else game,
            settings,
            given_settings(options.settings, flags=flags(options)),
            store=store,
            seed=options.seed,
            status=run.status,
            loads=run.loads,
            on_update=on_update,
        )
        progress.begin(loop)
        loop.run(request, updates=options.updates, decisions=options.decisions, seconds=options.seconds)
        progress.end(loop)
    return 0


def _setup_of(game: str, run: RunDir, settings: Settings) -> SelfPlaySetup:
    setup = find_game(game).selfplay
    return SelfPlaySetup() if setup is None else resolve(setup)(run, settings)


def _stop_on_signals(request: StopRequest) -> None:
    def stop(number: int, _frame: object) -> None:
        print("\nFinishing the batch under way (once more: end at once) ...", flush=True)
        signal.signal(number, signal.SIG_DFL)
        request.stop()

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)


def _stop_with_parent(request: StopRequest, parent: int) -> None:
    """Obey "stop" and "drain" on standard input, whose end means that the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent too, which then asks properly

    def listen() -> None:
        command = sys.stdin.readline().strip()
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

    return examine(RunDir.at(options.run_dir), fix=options.fix)


def _add_dashboard(commands: Any) -> None:
    text = "show runs in the browser, live, until Ctrl-C"
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
    return serve([RunDir.at(run_dir) for run_dir in options.run_dirs], settings, show=options.open)


def _models(options: argparse.Namespace) -> int:
    from understudy.learner.control import average, roll_back, somebody
    from understudy.learner.reports import clock, number
    from understudy.ledger.connection import Ledger
    from understudy.models.store import ModelStore

    run = RunDir.at(options.run_dir)
    if not run.ledger.exists():
        print(f"There is no run at {run.root}: no model has been published there.")
        return 1
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
