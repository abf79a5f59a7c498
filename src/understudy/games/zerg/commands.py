"""The commands of the Zerg bot: `package`, `replays` and `zerg-check`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from understudy.flags import add_settings, count, count_or_zero, duration, existing_run, flags
from understudy.rundir import DEFAULT_RUN_DIR, RunDir
from understudy.settings import load_settings


def add_commands(commands: Any) -> None:
    """Add `package`, `replays` and `zerg-check` to the subparsers of the command line."""
    text = "learn build orders from StarCraft II replays in a folder"
    replays = commands.add_parser("replays", help=text, description=f"{text[0].upper()}{text[1:]}.")
    replays.add_argument("folder", nargs="?", default="", metavar="DIR", help="default: the setting replays.directory")
    replays.add_argument("--run-dir", default=DEFAULT_RUN_DIR, metavar="RUN_DIR", help=f"default: {DEFAULT_RUN_DIR}")
    add_settings(replays, ("learner", "replays"))
    replays.set_defaults(run=_replays)
    package = commands.add_parser("package", help="build the zip for the AI Arena ladder")
    package.add_argument("run_dir", nargs="?", default=DEFAULT_RUN_DIR, metavar="RUN_DIR")
    package.add_argument("--out", type=Path, default=Path("WickedZergBotPro.zip"), help="default: %(default)s")
    package.set_defaults(run=_package)
    check = commands.add_parser("zerg-check", help="train from scratch and compare with fixed strategies")
    check.add_argument("--seeds", type=count_or_zero, nargs="+", default=[0, 1, 2])
    check.add_argument("--training-games", type=count, default=6000, help="most training games (default: %(default)s)")
    check.add_argument("--minutes", type=duration, default=20.0, help="most training time for each seed (default: 20)")
    check.add_argument("--games", type=count, default=200, help="games of an evaluation, not seen in training")
    check.set_defaults(run=_check)


def _replays(options: argparse.Namespace) -> int:
    from understudy.games.zerg.replays.jobs import replay_folder  # noqa: PLC0415
    from understudy.games.zerg.replays.report import analyse_folder  # noqa: PLC0415

    settings = load_settings(options.settings, flags=flags(options))
    folder = replay_folder(options.folder or settings.replays.directory)
    return analyse_folder(folder, RunDir.at(options.run_dir), settings)


def _package(options: argparse.Namespace) -> int:
    from understudy.games.zerg.spec import SPEC  # noqa: PLC0415 - it imports this module by name
    from understudy.run.ladder_zip import build_zip  # noqa: PLC0415 - commands import what they need

    assert SPEC.package is not None
    size = build_zip(SPEC.package, existing_run(options.run_dir).root, options.out)
    print(f"{options.out.absolute()}: {size:,} bytes")
    return 0


def _check(options: argparse.Namespace) -> int:
    from understudy.games.zerg.learn_check import GOAL, UNTRAINED, check  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="understudy-zerg-", ignore_cleanup_errors=True) as folder:
        passed = check(
            Path(folder),
            options.seeds,
            most_games=options.training_games,
            minutes=options.minutes,
            count=options.games,
            say=lambda line: print(line, flush=True),
        )
    low, high = UNTRAINED
    print(f"Goal: {low:.0%} to {high:.0%} untrained, then at least {GOAL:.0%} and more than any fixed strategy.")
    print("All seeds passed." if passed else "FAILED")
    return int(not passed)
