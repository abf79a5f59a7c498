"""The heartbeat thread: it writes the status every second, whatever the process is busy with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_SECONDS = 1.0


@contextmanager
def heartbeat(beat: Callable[[], None]) -> Iterator[None]:
    """Call `beat` every second, in a thread, so that a long batch does not look like a dead learner."""
    ending = threading.Event()

    def run() -> None:
        while not ending.wait(_SECONDS):
            beat()

    thread = threading.Thread(target=run, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()
