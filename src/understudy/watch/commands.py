"""The commands that watch and steer a run: `monitor`, `export`, `pause`, `resume` and `stop`."""

from __future__ import annotations

import argparse
import getpass
from collections.abc import Callable
from pathlib import Path
from typing import Any

from understudy.rundir import DEFAULT_RUN_DIR, RunDir


def add_commands(commands: Any) -> None:
    """Add the subcommands to an argparse parser's; each imports what it needs when it runs."""
    monitor = _command(commands, "monitor", _monitor, "show a run in the terminal, live, until Ctrl-C")
    monitor.add_argument("--once", action="store_true", help="print one frame")
    monitor.add_argument("--json", action="store_true", help="print everything as JSON, once")
    export = _command(commands, "export", _export, "write a run's history for other programs")
    kind = export.add_mutually_exclusive_group(required=True)
    kind.add_argument("--tensorboard", action="store_true", help="an event file that TensorBoard shows")
    kind.add_argument("--csv", action="store_true", help="versions.csv and games.csv")
    export.add_argument("--to", type=Path, metavar="FOLDER", help="where to; default: the folder export of the run")
    _command(commands, "pause", _pause, "ask the learner of a run to take no more games until `resume`")
    _command(commands, "resume", _resume, "let the learner of a run go on")
    stop = _command(commands, "stop", _stop, "ask the learner of a run to end after the batch under way")
    stop.add_argument("--drain", action="store_true", help="after everything that waits")


def _command(commands: Any, name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + "."
    )
    command.add_argument(
        "run_dir", nargs="?", default=DEFAULT_RUN_DIR, metavar="RUN_DIR", help=f"default: {DEFAULT_RUN_DIR}"
    )
    command.set_defaults(run=run)
    return command


def _monitor(options: argparse.Namespace) -> int:
    from understudy.watch.monitor import monitor

    return monitor(RunDir.at(options.run_dir), once=options.once, as_json=options.json)


def _export(options: argparse.Namespace) -> int:
    from understudy.watch.export import to_csv, to_tensorboard

    run = RunDir.at(options.run_dir)
    for path in (to_csv if options.csv else to_tensorboard)(run, options.to or run.root / "export"):
        print(path)
    return 0


def _pause(options: argparse.Namespace) -> int:
    from understudy.background.control import pause

    pause(RunDir.at(options.run_dir), _somebody())
    print("Asked. The learner finishes the batch under way and waits for `understudy resume`.")
    return 0


def _resume(options: argparse.Namespace) -> int:
    from understudy.background.control import resume

    resume(RunDir.at(options.run_dir), _somebody())
    print("Asked. The learner goes on.")
    return 0


def _stop(options: argparse.Namespace) -> int:
    from understudy.background.control import stop

    stop(RunDir.at(options.run_dir), _somebody(), drain=options.drain)
    print("Asked. The learner ends after " + ("everything that waits." if options.drain else "the batch under way."))
    return 0


def _somebody() -> str:
    """Who asks, for the log."""
    try:
        return f"{getpass.getuser()} (command line)"
    except (OSError, KeyError, ImportError):  # a system that has no name for this user
        return "the command line"
