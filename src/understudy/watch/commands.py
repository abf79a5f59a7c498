"""The commands that watch and steer a run: `monitor`, `export`, `pause`, `resume` and `stop`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from understudy.rundir import RunDir


class AddCommand(Protocol):
    """Adds a subcommand that takes a run directory."""

    def __call__(self, name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        """Return the subcommand's parser, for further arguments."""


def add_commands(add: AddCommand) -> None:
    """Add the subcommands; each imports what it needs when it runs."""
    monitor = add("monitor", _monitor, "show a run in the terminal, live, until Ctrl-C")
    monitor.add_argument("--once", action="store_true", help="print one frame")
    monitor.add_argument("--json", action="store_true", help="print everything as JSON, once")
    export = add("export", _export, "write a run's history for other programs")
    kind = export.add_mutually_exclusive_group(required=True)
    kind.add_argument("--tensorboard", action="store_true", help="an event file that TensorBoard shows")
    kind.add_argument("--csv", action="store_true", help="versions.csv and games.csv")
    export.add_argument("--to", type=Path, metavar="FOLDER", help="where to; default: the folder export of the run")
    add("pause", _pause, "ask the learner of a run to take no more games until `resume`")
    add("resume", _resume, "let the learner of a run go on")
    stop = add("stop", _stop, "ask the learner of a run to end after the batch under way")
    stop.add_argument("--drain", action="store_true", help="after everything that waits")


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
    from understudy.learner.control import pause, somebody

    pause(RunDir.at(options.run_dir), somebody())
    print("Asked. The learner finishes the batch under way and waits for `understudy resume`.")
    return 0


def _resume(options: argparse.Namespace) -> int:
    from understudy.learner.control import resume, somebody

    resume(RunDir.at(options.run_dir), somebody())
    print("Asked. The learner goes on.")
    return 0


def _stop(options: argparse.Namespace) -> int:
    from understudy.learner.control import somebody, stop

    stop(RunDir.at(options.run_dir), somebody(), drain=options.drain)
    print("Asked. The learner ends after " + ("everything that waits." if options.drain else "the batch under way."))
    return 0
