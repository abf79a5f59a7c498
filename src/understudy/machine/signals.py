"""Ctrl-C, SIGTERM and SIGHUP: an orderly exit, and children that leave these signals to their parent.

The signals reach every process of a terminal or service. A child that receives one during its imports would print a
traceback, or exit before its parent could ask it to finish its work.
"""

from __future__ import annotations

import atexit
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import connection
from types import FrameType
from typing import Any

_REPEATED = 1.0  # seconds; `timeout` sends SIGTERM twice, to the process and to its group


def end_signals() -> list[signal.Signals]:
    """The signals that ask a process to end, besides Ctrl-C: SIGTERM and SIGHUP, unless ignored, as by nohup."""
    numbers = [signal.Signals[name] for name in ("SIGTERM", "SIGHUP") if name in signal.Signals.__members__]
    return [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]


def interrupt_on_end_signals() -> threading.Event:
    """Let Ctrl-C and SIGTERM raise KeyboardInterrupt and set this event.

    The event is for loops: a library may swallow an exception that is raised while it is being imported.
    """
    asked = threading.Event()

    def interrupt() -> None:
        asked.set()
        raise KeyboardInterrupt

    handler = _unless_repeated(interrupt, interrupt)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # otherwise it is ignored, as by nohup
        signal.signal(signal.SIGINT, handler)
    for number in end_signals():
        signal.signal(number, handler)
    return asked


def clean_up_on_end_signals() -> None:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt once, so that a command cleans up as after Ctrl-C.

    Finally the process dies of the signal, as its parent expects. During an import it dies at once, because a library
    may swallow the exception there. Commands that finish their work first call `on_end_signals`.
    """
    heard: list[tuple[int, float]] = []

    def handle(number: int, frame: FrameType | None) -> None:
        again = bool(heard) and time.monotonic() - heard[0][1] > _REPEATED
        if again or _importing(frame):
            _die_of(number)
        if not heard:
            heard.append((number, time.monotonic()))
            raise KeyboardInterrupt

    def die() -> None:
        if heard:
            with suppress(OSError, ValueError, AttributeError):
                sys.stdout.flush()
            _die_of(heard[0][0])

    atexit.register(die)  # the first one registered is called last, after multiprocessing has cleaned up
    for number in end_signals():
        signal.signal(number, handle)


def _die_of(number: int) -> None:
    signal.signal(number, signal.SIG_DFL)
    signal.raise_signal(number)


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def on_end_signals(finish: Callable[[], None]) -> None:
    """Call `finish` at the first Ctrl-C or SIGTERM. A later one ends the process at once."""

    handler = _unless_repeated(finish, lambda: _die_of(signal.SIGTERM))
    for number in (signal.SIGINT, *end_signals()):
        signal.signal(number, handler)


def hang_up_as_terminated() -> None:
    """Treat SIGHUP like SIGTERM, for a library that handles only SIGINT and SIGTERM."""
    for number in set(end_signals()) - {signal.SIGTERM}:
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGTERM))


def stop_on_end_signals(stop: Callable[[], None]) -> None:
    """Call `stop` at the first Ctrl-C or SIGTERM, and print what happens next."""

    def finish() -> None:
        with suppress(OSError):  # the terminal may be gone
            _tell("\nFinishing the current batch (press again to stop at once) ...")
        stop()

    on_end_signals(finish)


def _tell(text: str) -> None:
    """Print from a signal handler, which may have interrupted a print."""
    try:
        print(text, flush=True)
    except RuntimeError:  # the buffer is in use
        os.write(sys.stdout.fileno(), f"{text}\n".encode())


def _unless_repeated(first: Callable[[], None], later: Callable[[], None]) -> Callable[[int, object], None]:
    began: list[float] = []

    def handle(_number: int, _frame: object) -> None:
        now = time.monotonic()
        if not began:
            began.append(now)
            first()
        elif now - began[0] > _REPEATED:
            later()

    return handle


def apart() -> dict[str, Any]:
    """Arguments of `subprocess.Popen` for a child that gets no signals from the terminal or the process group."""
    if os.name == "nt":
        return {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
    return {"start_new_session": True}


@contextmanager
def deaf_children() -> Iterator[None]:
    """Processes that are started inside ignore SIGINT, SIGTERM and SIGHUP, unless they call `end_on_signals`.

    Otherwise their parent ends them with `kill`.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end_on_signals() -> None:
    """In a child: let these signals end it without a traceback, including one that arrived while blocked."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})


def end_with_parent() -> None:
    """In a child of multiprocessing: end at once when the parent has ended for any reason."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
