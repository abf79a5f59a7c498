"""The file in which a bot reports how long its steps take, so that background work can pause while the game is slow."""

from __future__ import annotations

import json
import time
from pathlib import Path

from understudy.files.atomic import write_atomically


def write_step_time(path: Path, seconds: float) -> None:
    """Called by the process that plays, about once a second: report the duration of the last steps."""
    text = json.dumps({"seconds": seconds, "at": time.time()}).encode()
    write_atomically(path, lambda stream: stream.write(text), durable=False)
