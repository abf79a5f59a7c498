"""The commands `learn-check` (does it learn?), `evaluate` (how good is it?) and `validate` (can these games be learned
from?)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from understudy.check.arena_command import add_command as add_arena
from understudy.check.arena_command import add_runs_to_match
from understudy.flags import add_run_dir, count, count_or_zero, existing_run
from understudy.games.spec import registered_games

_TEXT = "measure learning beside Stable-Baselines3"

_IMPORT = "with --env: a package that registers environments, installed or in this folder; may be repeated"


def add_commands(commands: Any, main: Callable[[list[str]], int]) -> None:
    """Add the commands. `main` runs another command line, because games have check commands too."""
    check = commands.add_parser("learn-check", help=_TEXT)
    check.add_argument(
        "--suite",
        choices=(suites := ["general", "stability", *_checks_of_games()]),
        default="general",
        metavar="NAME",
        help=f"the tasks: {', '.join(suites)}",
    )
    check.add_argument(
        "--seeds", type=count_or_zero, nargs="+", metavar="N", help="seeds (default: 0 1 2; stability: 0 to 9)"
    )
    check.add_argument("--jobs", type=count, default=1, metavar="N", help="runs at the same time")
    check.add_argument("--out", type=Path, metavar="FILE", help="JSON file to write (default: learn-check-SUITE.json)")
    general = check.add_argument_group("of the suite general")
    general.add_argument("--tasks", nargs="+", metavar="NAME", help="tasks to run (default: all)")
    general.add_argument("--env", metavar="ID", help="any Gymnasium environment, instead of --tasks")
    general.add_argument(
        "--import", dest="package", default="", metavar="PACKAGE", help="with --env: the package that registers it"
    )
    general.add_argument("--live", action="store_true", help="with --env: train by the live loop instead of self-play")
    general.add_argument("--steps", type=count, default=300_000, metavar="N", help="with --env: steps of training")
    general.add_argument(
        "--goal", type=float, metavar="X", help="with --env: return to reach (default: its registered threshold)"
    )
    general.add_argument("--no-peer", action="store_true", help="do not run Stable-Baselines3")
    general.add_argument("--only-peer", action="store_true", help="run only Stable-Baselines3")
    general.add_argument(
        "--stop-at-goal", action="store_true", help="stop a run when its training games reach the goal"
    )
    stability = check.add_argument_group("of the suite stability")
    stability.add_argument("--decisions", type=count, default=5_000_000, metavar="N", help="decisions of training")
    check.set_defaults(run=lambda options: _check(options, main))
    validate = commands.add_parser("validate", help="check whether recorded games can be learned from")
    validate.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a game (.npz), or a folder of games")
    validate.add_argument(
        "--run-dir", type=Path, metavar="RUN_DIR", help="also check that they fit the model of this run"
    )
    validate.add_argument("--json", action="store_true", help="print one JSON object per file")
    validate.set_defaults(run=_validate)
    _add_evaluate(commands)
    add_arena(commands)
    add_runs_to_match(commands)


def _add_evaluate(commands: Any) -> None:
    evaluate = commands.add_parser("evaluate", help="play games with the model of a run and print its score")
    add_run_dir(evaluate)
    evaluate.add_argument("--games", type=count, default=100, metavar="N", help="number of games")
    which = evaluate.add_mutually_exclusive_group()
    which.add_argument("--game", metavar="GAME", help="the game to play (default: the one that the run was trained on)")
    which.add_argument("--env", metavar="ID", help="a Gymnasium environment instead of --game")
    evaluate.add_argument("--import", dest="imports", action="append", default=[], metavar="PACKAGE", help=_IMPORT)
    evaluate.add_argument(
        "--version", type=count, metavar="N", help="the version that plays (default: the one that bots load)"
    )
    evaluate.add_argument(
        "--sample", action="store_true", help="draw actions from the policy (default: take the most probable one)"
    )
    evaluate.add_argument("--seed", type=count_or_zero, default=0, metavar="N", help="seed of the games")
    evaluate.add_argument("--json", action="store_true", help="print the score as JSON")
    evaluate.set_defaults(run=_evaluate)


def _checks_of_games() -> dict[str, str]:
    return {name: spec.check for name, spec in registered_games().items() if spec.check}


def _check(options: argparse.Namespace, main: Callable[[list[str]], int]) -> int:
    seeds = [str(seed) for seed in options.seeds or ()]
    if options.suite in (checks := _checks_of_games()):
        return main([checks[options.suite], *(["--seeds", *seeds] if seeds else [])])
    out = options.out or Path(f"learn-check-{options.suite}.json")
    try:
        passed = _general(options, out) if options.suite == "general" else _stability(options, out)
    except KeyboardInterrupt:
        print("Interrupted; the table shows the runs that finished.", file=sys.stderr)
        return 130
    if options.only_peer:
        return 0  # peers have no target to reach
    print("All targets reached." if passed else "NOT all targets reached.")
    return int(not passed)


def _general(options: argparse.Namespace, out: Path) -> bool:
    from understudy.check.suite import check
    from understudy.check.tasks import named, task_of

    tasks = named(options.tasks)
    if options.env is not None:
        way: Any = "live" if options.live else "self-play"
        tasks = (task_of(options.env, way=way, steps=options.steps, goal=options.goal, package=options.package),)
    return check(
        tasks,
        options.seeds or [0, 1, 2],
        ours=not options.only_peer,
        peers=not options.no_peer,
        at_once=options.jobs,
        stop_at_goal=options.stop_at_goal,
        out=out,
    )


def _stability(options: argparse.Namespace, out: Path) -> bool:
    from understudy.check.stability import check

    return check(options.seeds or range(10), options.decisions, at_once=options.jobs, out=out)


def _validate(options: argparse.Namespace) -> int:
    from understudy.check.episodes import validate

    return validate(options.files, options.run_dir, as_json=options.json)


def _evaluate(options: argparse.Namespace) -> int:
    from understudy.check.evaluation import evaluate, report

    game = ":".join(["gym", *options.imports, options.env]) if options.env else options.game
    run = existing_run(options.run_dir)
    score = evaluate(run, options.games, game, version=options.version, sample=options.sample, seed=options.seed)
    return report(score, as_json=options.json)
