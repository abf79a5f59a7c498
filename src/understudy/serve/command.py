"""The command `understudy serve`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import threading
from collections.abc import Iterator

from understudy.learner.process import BackgroundParallelLearner
from understudy.machine.signals import on_end_signals
from understudy.serve.http import SidecarServer
from understudy.serve.sidecar import Sidecar
from understudy.serve.stdio import serve_lines

TOKEN = "UNDERSTUDY_SERVE_TOKEN"
_LOOK_SECONDS = 5.0  # between two checks for abandoned games


def serve(options: argparse.Namespace) -> int:
    """Serve until Ctrl-C, or with --stdio until the input ends."""
    sidecar = Sidecar(options.run_dir, idle_seconds=options.idle_seconds)
    with contextlib.ExitStack() as stack:
        if not options.no_learner:
            stack.enter_context(BackgroundParallelLearner(run_dir=sidecar.run.root, verbose=False))
        stack.callback(sidecar.close)
        stack.enter_context(_looking_after(sidecar))
        if options.stdio:
            serve_lines(sidecar, sys.stdin.buffer, sys.stdout.buffer)
        else:
            _serve_http(sidecar, options, stack)
    return 0


def _serve_http(sidecar: Sidecar, options: argparse.Namespace, stack: contextlib.ExitStack) -> None:
    server = SidecarServer(sidecar, options.host, options.port, os.environ.get(TOKEN, ""))
    stack.callback(server.server_close)
    host = f"[{options.host}]" if ":" in options.host else options.host
    print(f"Serving {sidecar.run.root} at http://{host}:{server.server_address[1]}/v1/ until Ctrl-C.", flush=True)
    on_end_signals(lambda: threading.Thread(target=server.shutdown, daemon=True).start())
    server.serve_forever(poll_interval=0.2)


@contextlib.contextmanager
def _looking_after(sidecar: Sidecar) -> Iterator[None]:
    """Close abandoned games from time to time, in a thread."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK_SECONDS):
            sidecar.close_idle()

    threading.Thread(target=look, daemon=True).start()
    try:
        yield
    finally:
        over.set()
