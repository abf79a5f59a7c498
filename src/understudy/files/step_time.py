"""The file in which a bot says how long its steps take, so that background work can pause while the game is slow."""

from __future__ import annotations

import json
import time
from pathlib import Path

from understudy.files.atomic import write_atomically


def write_step_time(path: Path, seconds: float) -> None:
    """For the process that plays: say how long the last steps took, once a second or so."""
    text = json.dumps({"seconds": seconds, "at": time.time()}).encode()
    write_atomically(path, lambda stream: stream.write(text), durable=False)
