"""The command `understudy learn`: its arguments, and how it is asked to stop."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from understudy.errors import LearnerBusy, RunDirError
from understudy.flags import add_settings, existing_run, flags
from understudy.games.spec import all_work
from understudy.machine.priority import lower_priority
from understudy.machine.signals import stop_on_end_signals
from understudy.rundir import DEFAULT_RUN_DIR, RunDir
from understudy.settings import given_settings, learner_sections, load_settings

if TYPE_CHECKING:
    from understudy.run.lock import StopRequest

_PARENT_SECONDS = 2.0  # after SIGTERM, time for the parent to say how to stop
_OTHER_MACHINE_SECONDS = 1.0  # between two checks whether it has ended


def add_commands(command: Callable[..., Any]) -> None:
    """Add `learn`; `command` creates a command for a run."""
    learn = command("learn", _learn, "learn from the games of a run, until Ctrl-C")
    learn.add_argument("--new", action="store_true", help="create the run directory if it does not exist")
    learn.add_argument("--wait", action="store_true", help="if another learner uses the run, wait until it ends")
    learn.add_argument("--once", action="store_true", help="learn all waiting games, then exit")
    learn.add_argument("--no-training", action="store_true", help="recover crashed games and report, but do not train")
    for name, work in all_work().items():
        learn.add_argument(f"--{name}", action="append_const", dest="work", const=name, help=work.help)
    learn.add_argument("--parent", type=int, help=argparse.SUPPRESS)
    add_settings(learn, learner_sections())


def _learn(options: argparse.Namespace) -> int:
    from understudy.learner.loop import LearnerLoop
    from understudy.run.lock import StopRequest, hold_run

    may_be_new = options.new or options.parent is not None or options.run_dir == DEFAULT_RUN_DIR
    run = RunDir.at(options.run_dir) if may_be_new else _run_for_learning(options.run_dir)
    settings = load_settings(options.settings, flags=flags(options))
    training = given_settings(options.settings, flags=flags(options))["training"]
    run.create()
    lower_priority()
    request = StopRequest()
    if options.parent is None:
        stop_on_end_signals(request.stop)
    else:
        _stop_with_parent(request, options.parent)
    with hold_run(run, request, wait=options.wait):
        _be_the_only_machine(run, request, wait=options.wait)
        if options.once:
            request.stop(drain=True)
        loop = LearnerLoop(run, settings, training, train=not options.no_training, work=options.work or ())
        well = loop.run(request)
    return 0 if well or not options.once else 1


def _be_the_only_machine(run: RunDir, request: StopRequest, *, wait: bool) -> None:
    """On a network drive a lock may hold on only one machine: do not learn while another machine sends heartbeats."""
    from understudy.machine.file_systems import network_kind
    from understudy.run.status import is_alive, read_status

    kind = network_kind(run.root)
    while kind is not None:
        status = read_status(run.status)
        host = status.get("host")
        if host in (None, platform.node()) or not is_alive(status):
            return
        if not wait or request.event.wait(_OTHER_MACHINE_SECONDS):
            raise LearnerBusy(
                f"A learner on {host} uses {run.root} over a network drive ({kind}), where two machines would damage "
                "the ledger. End that one first, or let the machines share a bucket: `understudy sync`."
            )


def _run_for_learning(folder: str) -> RunDir:
    try:
        return existing_run(folder)
    except RunDirError as error:
        raise RunDirError(f"{error} To begin a new run there, add --new.") from None


def _stop_with_parent(request: StopRequest, parent: int) -> None:
    """Obey "stop" and "drain" on standard input; the end of the input means that the parent has exited."""
    # A service manager sends SIGTERM to every process. The parent's request follows shortly and takes precedence.
    patience = threading.Timer(_PARENT_SECONDS, request.stop)
    patience.daemon = True

    def terminate(_number: int, _frame: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        patience.start()

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, terminate)

    def listen() -> None:
        command = sys.stdin.readline().strip()
        patience.cancel()
        request.stop(drain=command == "drain")

    def watch() -> None:  # a child forked by the parent may keep the pipe open after the parent's death
        while os.getppid() == parent:
            if request.event.wait(1.0):
                return
        request.stop()

    threading.Thread(target=listen, daemon=True).start()
    if os.name == "posix":
        threading.Thread(target=watch, daemon=True).start()
