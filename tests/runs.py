"""What tests do with runs: wait for something, ask a learner to stop, count games."""

from __future__ import annotations

import time
from collections.abc import Callable

from understudy.ledger.connection import Ledger
from understudy.run.lock import StopRequest
from understudy.rundir import RunDir


def until(holds: Callable[[], object], seconds: float = 30.0) -> None:
    """Wait until `holds()` is true; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.005)


def drained() -> StopRequest:
    """A request to learn everything that waits and then stop; such a learner does not wait for the machine."""
    request = StopRequest()
    request.stop(drain=True)
    return request


def outcomes(run: RunDir) -> dict[str, int]:
    """How many games of the run were learned, skipped and rejected so far."""
    with Ledger(run.ledger, read_only=True) as ledger:
        return ledger.games_by_outcome()
