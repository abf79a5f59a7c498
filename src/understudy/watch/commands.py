"""The commands that watch and control a run: `monitor`, `status`, `export`, `pause`, `resume` and `stop`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from understudy.errors import RunDirError, SettingsError
from understudy.flags import Parser, count, existing_run
from understudy.run.status import confirm_heartbeat, is_alive, read_status
from understudy.rundir import RunDir


class AddCommand(Protocol):
    """Adds a subcommand that takes a run directory."""

    def __call__(self, name: str, run: Callable[[argparse.Namespace], int], text: str) -> Parser:
        """Return the subcommand's parser, for further arguments."""


def add_commands(add: AddCommand) -> None:
    """Add the subcommands; each imports what it needs when it runs."""
    monitor = add("monitor", _monitor, "show a run live in the terminal, until Ctrl-C")
    monitor.add_argument("--once", action="store_true", help="print it once, then exit")
    monitor.add_argument("--json", action="store_true", help="print everything as JSON, then exit")
    add("status", _status, "print the state of a run in one line, for scripts")
    export = add("export", _export, "write a run's history or model for other programs")
    kind = export.add_mutually_exclusive_group(required=True)
    kind.add_argument("--tensorboard", action="store_true", help="write an event file for TensorBoard")
    kind.add_argument(
        "--csv", action="store_true", help="write versions.csv, games.csv and, for self-play, updates.csv"
    )
    kind.add_argument("--onnx", action="store_true", help="write model.onnx, which onnxruntime can run in any language")
    export.add_argument(
        "--version", type=count, metavar="N", help="with --onnx: export this version (default: the one that bots load)"
    )
    export.add_argument(
        "--to", type=Path, metavar="FOLDER", help="folder to write to (default: the folder export of the run)"
    )
    note = add("note", _note, "add a note to a run; the dashboard shows it")
    note.add_argument("text", metavar="TEXT", help="the note, for example what this run tries, and why")
    add("pause", _pause, "ask the learner of a run to pause, until `resume`")
    add("resume", _resume, "let a paused learner continue")
    stop = add("stop", _stop, "ask the learner of a run to end after the current batch")
    stop.add_argument("--drain", action="store_true", help="learn all waiting games first")


def _monitor(options: argparse.Namespace) -> int:
    if options.json:
        from understudy.watch.report import as_json

        run = RunDir.at(options.run_dir)
        confirm_heartbeat(run.status)
        text, code = as_json(run)
        print(text)
        return code
    from understudy.watch.monitor import monitor

    run = existing_run(options.run_dir)
    if options.once:
        confirm_heartbeat(run.status)
    return monitor(run, once=options.once)


def _status(options: argparse.Namespace) -> int:
    from understudy.watch.report import status_line

    run = existing_run(options.run_dir)
    confirm_heartbeat(run.status)
    line, code = status_line(run)
    print(line)
    return code


def _export(options: argparse.Namespace) -> int:
    from understudy.watch.export import to_csv, to_tensorboard

    run = existing_run(options.run_dir)
    folder = options.to or run.root / "export"
    if options.version is not None and not options.onnx:
        raise SettingsError("--version goes with --onnx.")
    try:
        if options.onnx:
            from understudy.watch.onnx_export import to_onnx

            written = to_onnx(run, folder, options.version)
        else:
            written = (to_csv if options.csv else to_tensorboard)(run, folder)
    except OSError as error:
        if not str(error.filename).startswith(str(folder)):
            raise
        raise RunDirError(
            f"Nothing can be written to {folder} ({error.strerror}). Name another folder with --to FOLDER."
        ) from error
    for path in written:
        print(path)
    return 0


def _note(options: argparse.Namespace) -> int:
    from understudy.run.control import somebody
    from understudy.run.remarks import add_remark

    add_remark(existing_run(options.run_dir), options.text, somebody())
    print("Noted.")
    return 0


def _pause(options: argparse.Namespace) -> int:
    from understudy.run.control import pause, somebody

    pause(existing_run(options.run_dir), somebody())
    print("Pause requested. The learner finishes the current batch and waits for `understudy resume`.")
    return 0


def _resume(options: argparse.Namespace) -> int:
    from understudy.run.control import resume, somebody

    resume(existing_run(options.run_dir), somebody())
    print("The learner continues.")
    return 0


def _stop(options: argparse.Namespace) -> int:
    from understudy.run.control import somebody, stop

    run = existing_run(options.run_dir)
    confirm_heartbeat(run.status)
    if not is_alive(read_status(run.status)):
        raise RunDirError(f"No learner runs on {run.root}, so there is nothing to stop.")
    stop(run, somebody(), drain=options.drain)
    print("Stop requested. The learner ends after " + ("all waiting games." if options.drain else "the current batch."))
    return 0
