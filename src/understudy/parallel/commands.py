"""The command `understudy selfplay`: its arguments, and the run that it trains."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from understudy.errors import SettingsError
from understudy.flags import add_run_dir, add_settings, count, count_or_zero, duration, flags
from understudy.games.spec import SelfPlaySetup, argument_of, find_game, registered_games, resolve
from understudy.machine.signals import stop_on_end_signals
from understudy.rundir import RunDir
from understudy.settings import game_sections, given_settings, load_settings

if TYPE_CHECKING:
    from understudy.parallel.loop_stats import LoopStats
    from understudy.parallel.rollout import Rollout
    from understudy.settings import ParallelSettings, Settings


def add_commands(commands: Any) -> None:
    """Add `selfplay` to the command line."""
    selfplay = commands.add_parser("selfplay", help="train a model by self-play, until Ctrl-C or a limit")
    selfplay.add_argument(
        "game", nargs="?", metavar="GAME", help=f"{', '.join(_playable())}, or your own as package.module:SPEC"
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
    add_run_dir(selfplay, "--run-dir")
    selfplay.add_argument(
        "--workers",
        type=_workers,
        metavar="N",
        help="play in N workers; auto: one per core, or per free CPU of a cluster; overrides parallel.num_workers",
    )
    selfplay.add_argument(
        "--backend",
        choices=["local", "ray"],
        help="local: workers are processes on this machine; ray: they are Ray actors; overrides parallel.backend",
    )
    selfplay.add_argument(
        "--address", metavar="ADDRESS", help="Ray cluster to join: auto, HOST:PORT or ray://HOST:PORT; implies ray"
    )
    selfplay.add_argument("--seed", type=count_or_zero, default=0, help="seed of matches, decisions and a new model")
    selfplay.add_argument("--updates", type=count, metavar="N", help="stop after N updates")
    selfplay.add_argument("--decisions", type=count, metavar="N", help="stop after N decisions")
    selfplay.add_argument("--seconds", type=duration, metavar="S", help="stop after S seconds")
    selfplay.set_defaults(run=_selfplay)
    add_settings(selfplay, ("network", "training", "storage", "parallel", "evaluation", *game_sections()))


def _workers(text: str) -> int:
    return 0 if text == "auto" else count(text)


def _parallel_of(options: argparse.Namespace, parallel: ParallelSettings) -> ParallelSettings:
    """The worker settings, with --workers, --backend and --address applied."""
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
    game = (
        options.game if options.env is None else ":".join(["gym", *options.imports, options.env])
    )  # workers get only this name
    settings = load_settings(options.settings, flags=flags(options), defaults=default_settings(game))
    open_game(game, 1).close()  # a game that cannot be played must not leave a run behind
    settings = dataclasses.replace(settings, parallel=_parallel_of(options, settings.parallel))
    run = RunDir.at(options.run_dir)
    run.create()
    request = StopRequest()
    stop_on_end_signals(request.stop)
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
