"""The command `understudy tune`: its arguments."""

from __future__ import annotations

import argparse
from typing import Any

from understudy.flags import add_settings, count, count_or_zero
from understudy.rundir import DEFAULT_RUN_DIR
from understudy.settings import game_sections


def add_commands(commands: Any) -> None:
    """Add the command."""
    text = "search for better training settings with Ray Tune"
    tune = commands.add_parser("tune", help=text, description=text[0].upper() + text[1:] + ".")
    tune.add_argument(
        "run_dir", nargs="?", default=DEFAULT_RUN_DIR, metavar="RUN_DIR", help=f"default: {DEFAULT_RUN_DIR}"
    )
    tune.add_argument("--game", help="what is played; needed for a run that has no model yet")
    tune.add_argument("--env", metavar="ID", help="a Gymnasium environment instead of --game")
    tune.add_argument(
        "--scheduler",
        choices=["asha", "pbt"],
        default="asha",
        help="asha: trials that are behind are stopped early (default); pbt: they go on from the best one, mutated",
    )
    tune.add_argument("--trials", type=count, default=12, metavar="N", help="default: 12")
    tune.add_argument("--slices", type=count, default=9, metavar="N", help="evaluations of a trial; default: 9")
    tune.add_argument("--decisions", type=count, default=20_000, metavar="N", help="of a slice; default: 20,000")
    tune.add_argument("--games", type=count, default=50, metavar="N", help="of an evaluation; default: 50")
    tune.add_argument("--judge-games", type=count, default=400, metavar="N", help="maximum; default: 400")
    tune.add_argument(
        "--over",
        action="append",
        default=[],
        metavar="NAME=LOW:HIGH",
        help="search this setting of `training`; may be repeated; default: the six that matter most",
    )
    tune.add_argument("--address", default="", help="Ray cluster to join: auto, HOST:PORT or ray://HOST:PORT")
    tune.add_argument(
        "--storage", metavar="URL", help="where trials are kept; on a cluster, a folder or bucket that all nodes reach"
    )
    tune.add_argument("--seed", type=count_or_zero, default=0, help="of matches and a new model (default: 0)")
    tune.set_defaults(run=run)
    add_settings(tune, ("network", "training", "parallel", "gate", *game_sections()))


def run(options: argparse.Namespace) -> int:
    """Search, judge and publish."""
    from understudy.tune.tuning import tune  # noqa: PLC0415 - needs the extra `ray`

    return tune(options)
