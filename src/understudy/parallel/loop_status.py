"""The `status.json` of a self-play run, written by the heartbeat thread."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

from understudy.machine.load_log import LoadLog
from understudy.machine.resources import Sensor, as_dict
from understudy.parallel.pool import WorkerPool
from understudy.run.state import Activity, RunState
from understudy.run.status import write_status

logger = logging.getLogger(__name__)


class LoopStatus:
    """Stores notes from the loop and writes them once a second. The heartbeat reads the notes, never the loop.

    A new note replaces the old one as a whole, so the heartbeat never sees half of one.
    """

    def __init__(self, file: Path | None, loads: Path | None) -> None:
        self._file = file
        self._loads = None if loads is None else LoadLog(loads)
        self._sensor = Sensor()
        self._started_at = self._state_since = time.time()
        self._pids: list[int] = []
        self._note: dict[str, Any] = {}
        self._noted_at = 0.0

    @property
    def age(self) -> float:
        """Seconds since the last note."""
        return time.monotonic() - self._noted_at

    def note(self, state: RunState, pool: WorkerPool | None, **facts: Any) -> None:
        """Set the state for the next heartbeats."""
        figures = {} if pool is None else pool.get_parallel_stats()
        workers = figures.get("workers", [])
        self._pids = [] if pool is None else pool.pids
        if str(state) != self._note.get("state"):
            self._state_since = time.time()
        self._note = facts | {
            "state": str(state),
            "state_since": self._state_since,
            "started_at": self._started_at,
            "active_workers": sum(worker["state"] == "playing" for worker in workers),
            "workers": [f"worker {worker['worker']}: {worker['state']}" for worker in workers],
            "losses": figures.get("losses", {}),
        }
        self._noted_at = time.monotonic()

    def beat(self) -> None:
        """Write the last note, with the load of the machine."""
        if self._file is None:
            return
        note = self._note
        resources = as_dict(self._sensor.read(self._pids))
        try:
            write_status(self._file, note | {"resources": resources})
            if self._loads is not None and note["state"] != Activity.STOPPED.value:
                self._loads.note(resources, note["active_workers"])
        except OSError as error:
            logger.debug("The status was not written: %s", error)  # publishing reports what is wrong with the disk
