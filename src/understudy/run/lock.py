"""The lock of a run, which allows one learner at a time, and the request to pause or stop it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from understudy.errors import LearnerBusy
from understudy.files.locks import FileLock, read_holder
from understudy.run import log
from understudy.rundir import RunDir

_FINISH_SECONDS = 1.5  # how long a batch may continue when the learner must end; its result so far is published
_TAKEOVER_LOOK_SECONDS = 0.1
_PROBE_SECONDS = 0.2  # a monitor that sees no heartbeat tries the lock briefly
LOCK_NOTE = "understudy sync, for a moment"
"""The note of a process that holds the lock only while it moves games; a learner waits for it."""
_TAKEOVER_SECONDS = 5.0  # a learner whose bot was killed ends within a second or two


class StopRequest:
    """How a loop is asked to end: after the batch in progress, or after all waiting games.

    A loop that does not read `control.json` itself, such as self-play, is also paused this way.
    """

    def __init__(self) -> None:
        self.event = threading.Event()
        self.attention = threading.Event()
        """Set while a pause or the end is requested."""
        self.paused_by = ""
        self.drain = False
        self._at = 0.0

    @property
    def can_wait(self) -> bool:
        """Whether it may wait to take over from another learner, because games must be learned from before the end."""
        return self.drain and time.monotonic() < self._at + _TAKEOVER_SECONDS

    @property
    def overdue(self) -> bool:
        """Whether the work in progress has had its time to finish and must be cut short."""
        return self.event.is_set() and not self.drain and time.monotonic() > self._at + _FINISH_SECONDS

    def stop(self, *, drain: bool = False) -> None:
        """Request the end."""
        self.drain = drain
        self._at = time.monotonic()
        self.event.set()
        self.attention.set()

    def pause(self, by: str) -> None:
        """Request a pause until `resume`."""
        self.paused_by = by
        self.attention.set()

    def resume(self) -> None:
        """End the pause."""
        self.paused_by = ""
        self.attention.clear()
        if self.event.is_set():
            self.attention.set()


@contextmanager
def hold_run(run: RunDir, request: StopRequest, *, wait: bool) -> Iterator[None]:
    """Hold the run as its only learner; raises LearnerBusy, or waits for the other one to end."""
    lock = FileLock(run.learner_lock, what="understudy learner")
    said = False
    while not lock.acquire(timeout=_PROBE_SECONDS):
        holder = read_holder(run.learner_lock) or {}
        who = f"pid {holder.get('pid', '?')} on {holder.get('host', '?')}"
        if since := holder.get("since"):
            who += f", since {log.clock(since)}"
        if not wait and holder.get("what") != LOCK_NOTE:
            raise LearnerBusy(
                f"Another learner holds {run.root} ({who}). End it first, or use --wait to take over after it."
            )
        if not said and wait:
            log.say(f"Another learner holds {run.root} ({who}); waiting to take over.")
            said = True
        time.sleep(_TAKEOVER_LOOK_SECONDS)
        if request.event.is_set() and not request.can_wait:
            raise LearnerBusy(f"Stopped while waiting for the other learner of {run.root} ({who}).")
    try:
        yield
    finally:
        lock.release()
