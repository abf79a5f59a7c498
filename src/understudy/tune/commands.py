"""The command `understudy tune`: its arguments."""

from __future__ import annotations

import argparse
from typing import Any

from understudy.flags import add_run_dir, add_settings, count, count_or_zero
from understudy.settings import game_sections


def add_commands(commands: Any) -> None:
    """Add the command."""
    tune = commands.add_parser("tune", help="search for better training settings with Ray Tune")
    add_run_dir(tune)
    tune.add_argument("--game", help="the game to play; required if the run has no model yet")
    tune.add_argument("--env", metavar="ID", help="a Gymnasium environment instead of --game")
    tune.add_argument(
        "--scheduler",
        choices=["asha", "pbt"],
        default="asha",
        help="asha: stop weak trials early; pbt: restart weak trials from a mutated copy of the best one",
    )
    tune.add_argument("--trials", type=count, default=12, metavar="N", help="number of trials")
    tune.add_argument(
        "--slices",
        type=count,
        default=9,
        metavar="N",
        help="slices of a trial; each ends with an evaluation",
    )
    tune.add_argument("--decisions", type=count, default=20_000, metavar="N", help="decisions per slice")
    tune.add_argument("--games", type=count, default=50, metavar="N", help="games per evaluation")
    tune.add_argument("--judge-games", type=count, default=400, metavar="N", help="maximum games of the final test")
    tune.add_argument(
        "--over",
        action="append",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="search this setting of `training` between these values; may be repeated; default: the six most important",
    )
    tune.add_argument("--address", default="", help="Ray cluster to join: auto, HOST:PORT or ray://HOST:PORT")
    tune.add_argument(
        "--storage",
        metavar="URL",
        help="where trials are stored; on a cluster, a folder or bucket that all nodes can reach",
    )
    tune.add_argument("--seed", type=count_or_zero, default=0, help="seed of matches and of a new model")
    tune.set_defaults(run=run)
    add_settings(tune, ("network", "training", "parallel", "gate", *game_sections()))


def run(options: argparse.Namespace) -> int:
    """Search, compare and publish."""
    from understudy.tune.tuning import tune  # noqa: PLC0415 - needs the extra `ray`

    return tune(options)
