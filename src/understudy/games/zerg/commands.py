"""Subcommands of `understudy` for the Zerg bot."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from understudy.rundir import DEFAULT_RUN_DIR


def add_commands(commands: Any) -> None:
    """Add `package` and `zerg-check` to the subparsers of the command line."""
    package = commands.add_parser("package", help="build the zip for the AI Arena ladder")
    package.add_argument("run_dir", nargs="?", default=DEFAULT_RUN_DIR, metavar="RUN_DIR")
    package.add_argument("--out", type=Path, default=Path("WickedZergBotPro.zip"), help="default: %(default)s")
    package.set_defaults(run=_package)
    check = commands.add_parser("zerg-check", help="train from nothing and compare with fixed strategies")
    check.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    check.add_argument("--minutes", type=float, default=20.0, help="training time for each seed")
    check.add_argument("--games", type=int, default=200, help="fresh games of an evaluation")
    check.set_defaults(run=_check)


def _package(options: argparse.Namespace) -> int:
    from understudy.games.zerg.package import build_package  # noqa: PLC0415 - commands import what they need

    size = build_package(options.run_dir, options.out)
    print(f"{options.out.absolute()}: {size:,} bytes")
    return 0


def _check(options: argparse.Namespace) -> int:
    from understudy.games.zerg.learn_check import GOAL, check_seed, fixed_strategies  # noqa: PLC0415

    fixed = fixed_strategies(options.games)
    print("Fixed strategies: " + ", ".join(f"{name} {rate:.1%}" for name, rate in fixed.items()), flush=True)
    needed = max(GOAL, *fixed.values())
    failed = 0
    for seed in options.seeds:
        with tempfile.TemporaryDirectory(prefix="understudy-zerg-", ignore_cleanup_errors=True) as folder:
            result = check_seed(
                Path(folder),
                seed,
                minutes=options.minutes,
                evaluation_games=options.games,
                say=lambda line: print(line, flush=True),
            )
        failed += result.trained < GOAL or result.trained <= max(fixed.values())
    print(f"Needed: at least {GOAL:.0%}, and more than the best fixed strategy, {max(fixed.values()):.1%}")
    print("FAILED" if failed else f"OK: all seeds above {needed:.1%}")
    return int(failed > 0)
