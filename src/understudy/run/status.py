"""`status.json`: the state and the figures of a training process, for the bot, the monitor and the dashboard."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from understudy.files.atomic import write_atomically

FRESH_SECONDS = 15.0


def write_status(path: Path, status: dict[str, Any]) -> None:
    """Replace the status, stamped with the time: this is the heartbeat."""
    text = json.dumps({"heartbeat": time.time(), "pid": os.getpid(), **status}, indent=1).encode()
    write_atomically(path, lambda stream: stream.write(text), durable=False)


def read_status(path: Path) -> dict[str, Any]:
    """The last status, or an empty one if there is none that can be read."""
    try:
        status = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return status if isinstance(status, dict) else {}


def is_alive(status: dict[str, Any]) -> bool:
    """Whether this is the status of a learner at work: not stopped, and with a fresh heartbeat."""
    heartbeat = status.get("heartbeat")
    if not isinstance(heartbeat, int | float) or status.get("state") in (None, "stopped", "failed"):
        return False
    return abs(time.time() - heartbeat) < FRESH_SECONDS
