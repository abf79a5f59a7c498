"""The commands of the Zerg bot, `replays` and `zerg-check`, and the commands for authors of other bots."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from understudy.flags import add_run_dir, add_settings, count, count_or_zero, duration, flags
from understudy.games.zerg.arena import commands as arena
from understudy.games.zerg.own_bot import commands as own_bot
from understudy.rundir import RunDir
from understudy.settings import load_settings


def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers of the command line."""
    replays = commands.add_parser("replays", help="learn build orders from StarCraft II replays in a folder")
    text = "folder of the replays (default: the setting replays.directory)"
    replays.add_argument("folder", nargs="?", default="", metavar="DIR", help=text)
    add_run_dir(replays, "--run-dir")
    add_settings(replays, ("learner", "replays"))
    replays.set_defaults(run=_replays)
    own_bot.add_commands(commands)
    arena.add_commands(commands)
    check = commands.add_parser("zerg-check", help="train the Zerg bot from scratch and test it")
    check.add_argument("--seeds", type=count_or_zero, nargs="+", default=[0, 1, 2], metavar="N", help="seeds")
    check.add_argument("--training-games", type=count, default=6000, metavar="N", help="maximum training games")
    check.add_argument(
        "--minutes", type=duration, default=20.0, metavar="M", help="maximum minutes of training per seed"
    )
    check.add_argument("--games", type=count, default=200, metavar="N", help="games of each evaluation")
    check.add_argument("--gate", choices=("guard", "off"), default="guard", help="mode of the gate during training")
    check.set_defaults(run=_check)


def _replays(options: argparse.Namespace) -> int:
    from understudy.games.zerg.replays.jobs import replay_folder  # noqa: PLC0415
    from understudy.games.zerg.replays.report import analyse_folder  # noqa: PLC0415

    settings = load_settings(options.settings, flags=flags(options))
    folder = replay_folder(options.folder or settings.replays.directory)
    return analyse_folder(folder, RunDir.at(options.run_dir), settings)


def _check(options: argparse.Namespace) -> int:
    from understudy.games.zerg.learn_check import DOUBT, GOAL, UNTRAINED, check  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="understudy-zerg-", ignore_cleanup_errors=True) as folder:
        passed = check(
            Path(folder),
            options.seeds,
            most_games=options.training_games,
            minutes=options.minutes,
            count=options.games,
            gate=options.gate,
            say=lambda line: print(line, flush=True),
        )
    low, high = UNTRAINED
    print(f"Goal: {low:.0%} to {high:.0%} untrained, then at least {GOAL:.0%}, and better than any fixed strategy,")
    print(f"with p < {DOUBT}.")
    print("All seeds passed." if passed else "FAILED")
    return int(not passed)
