"""The commands for authors of bots: `init` and `package`."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import Any

from understudy.errors import ModelMismatch, RunDirError
from understudy.flags import add_run_dir, add_settings, existing_run, flags
from understudy.games.zerg.starcraft import RACE_NAMES
from understudy.rundir import RunDir
from understudy.settings import load_settings


def add_commands(commands: Any) -> None:
    """Add the commands to the subparsers of the command line."""
    init = commands.add_parser("init", help="make a folder with a StarCraft II bot that learns")
    init.add_argument("folder", type=Path, metavar="FOLDER", help="the new folder; the bot gets its name")
    init.add_argument(
        "--race", type=str.capitalize, choices=RACE_NAMES, help="race of the bot; not needed with --from-bot"
    )
    init.add_argument("--from-bot", metavar="PATH", help="add learning to this bot: a Python file or a folder")
    init.set_defaults(run=_init)
    package = commands.add_parser("package", help="build the zip for the AI Arena ladder")
    add_run_dir(package)
    package.add_argument("--bot", metavar="FILE:CLASS", help="the bot (default: the setting package.bot)")
    package.add_argument("--out", type=Path, metavar="ZIP", help="file to write (default: the name of the bot)")
    package.add_argument("--check", action="store_true", help="also play two ladder games with the zip")
    add_settings(package, ("package",))
    package.set_defaults(run=_package)


def _init(options: argparse.Namespace) -> int:
    from understudy.games.zerg.own_bot.init import init  # noqa: PLC0415 - commands import what they need

    names = init(options.folder, options.race, options.from_bot)
    print(f"{options.folder.absolute()}: {', '.join(names)}")
    print(f"Next: cd {options.folder}; python run_with_training.py --games 20. README.md lists the other commands.")
    return 0


def _package(options: argparse.Namespace) -> int:
    given = flags(options) | ({"package.bot": options.bot} if options.bot else {})
    settings = load_settings(options.settings, flags=given)
    run = existing_run(options.run_dir)
    target = build_for(settings.package.bot, settings.package, run, options.out)
    if not options.check:
        return 0
    from understudy.games.zerg.own_bot.check import check_zip  # noqa: PLC0415
    from understudy.games.zerg.own_bot.ladder_python import ladder_python  # noqa: PLC0415
    from understudy.numba_cache import cache_root  # noqa: PLC0415

    return int(bool(check_zip(target, ladder_python(cache_root()))))


def build_for(bot: str, package: Any, run: RunDir, out: Path | None) -> Path:
    """Build the zip of this bot, or of the Zerg bot if none is named; returns its file."""
    if bot:
        return _own_zip(dataclasses.replace(package, bot=bot), run, out)
    return _zerg_zip(run, out)


def _own_zip(package: Any, run: RunDir, out: Path | None) -> Path:
    from understudy.games.zerg.own_bot.package import build_own_zip  # noqa: PLC0415

    target: Path = out or Path(f"{Path.cwd().name}.zip")
    size, names = build_own_zip(package, run.root, target)
    print(f"{target.absolute()}: {size:,} bytes; files of the bot: {', '.join(names)}")
    return target


def _zerg_zip(run: RunDir, out: Path | None) -> Path:
    from understudy.games.zerg.spec import SPEC  # noqa: PLC0415 - it imports this module by name
    from understudy.games.zerg.state import NAMES  # noqa: PLC0415
    from understudy.models.state import read_model  # noqa: PLC0415
    from understudy.run.ladder_zip import build_zip  # noqa: PLC0415

    assert SPEC.package is not None
    if not run.model.exists():
        raise RunDirError(f"There is no model in {run.root}; train one first.")
    if (features := read_model(run.model).features) != NAMES:
        raise ModelMismatch(
            f"The model in {run.root} does not belong to the Zerg bot: its features are "
            f"{', '.join(features or ())[:200]}. "
            "Name the bot that it belongs to with --bot FILE:CLASS, or as package.bot in understudy.toml."
        )
    target = out or Path("WickedZergBotPro.zip")
    size = build_zip(SPEC.package, run.root, target)
    print(f"{target.absolute()}: {size:,} bytes")
    return target
