"""`status.json`: the state and statistics of a training process, for the bot, the monitor and the dashboard."""

from __future__ import annotations

import json
import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.files.atomic import write_atomically
from understudy.files.plain_json import parsed_json
from understudy.rundir import RunDir

FRESH_SECONDS = 15.0
_CONFIRM_SECONDS = 3.0  # a heartbeat comes every second
_MOST_HEARTS = 1000


@dataclass(slots=True)
class _Heart:
    """The heartbeat of another process, as seen by this one. Times are of our monotonic clock."""

    last: float
    since: float
    """When the last heartbeat was first seen."""
    distance: float
    """The smallest difference between a heartbeat and our clock."""
    changed: bool = False


_heard: dict[tuple[object, object], _Heart] = {}


def write_status(path: Path, status: dict[str, Any]) -> None:
    """Replace the status, with the present time: this is the heartbeat."""
    stamp = {"heartbeat": time.time(), "pid": os.getpid(), "host": platform.node()}
    text = json.dumps(stamp | status, indent=1).encode()
    write_atomically(path, lambda stream: stream.write(text), durable=False)


def read_status(path: Path) -> dict[str, Any]:
    """The last status; an empty one if it cannot be read."""
    try:
        status = parsed_json(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return status if isinstance(status, dict) else {}


def is_alive(status: dict[str, Any]) -> bool:
    """Whether this is the status of a running learner: not stopped, and with a recent heartbeat.

    The clock of another machine may be wrong, or may have been set. A heartbeat that was seen to change counts as
    recent while it keeps its difference from our clock.
    """
    heartbeat = status.get("heartbeat")
    if not isinstance(heartbeat, int | float) or status.get("state") in (None, "stopped", "failed"):
        return False
    now = time.monotonic()
    if len(_heard) > _MOST_HEARTS:
        _heard.clear()
    heart = _heard.setdefault((status.get("host"), status.get("pid")), _Heart(heartbeat, now, now - heartbeat))
    if heartbeat < heart.last:  # its clock was set back; the next heartbeat counts
        heart.last, heart.since, heart.distance, heart.changed = heartbeat, now, now - heartbeat, False
    elif heartbeat > heart.last:
        heart.last, heart.since, heart.changed = heartbeat, now, True
        heart.distance = min(heart.distance, now - heartbeat)
    if now - heart.since >= FRESH_SECONDS:
        return False
    return abs(time.time() - heartbeat) < FRESH_SECONDS or (
        heart.changed and now - heartbeat - heart.distance < FRESH_SECONDS
    )


def confirm_heartbeat(path: Path) -> None:
    """For commands that check once: if the heartbeat looks old, wait to see if it changes (see `is_alive`)."""
    status = read_status(path)
    until = time.monotonic() + _CONFIRM_SECONDS
    if status.get("state") in (None, "stopped", "failed") or is_alive(status):
        return
    while time.monotonic() < until and not is_alive(read_status(path)):
        time.sleep(0.1)


def wait_for_learner(run: RunDir, backlog: int, timeout: float) -> bool:
    """See RLAgent.wait_for_learner."""
    deadline = time.monotonic() + timeout
    while (waiting := sum(1 for _ in run.buffer.glob("*.npz"))) > backlog:
        status = read_status(run.status)
        if time.monotonic() > deadline or not is_alive(status):
            return False
        if waiting < status.get("batch_wanted", 1):
            return True
        time.sleep(0.002)
    return True
