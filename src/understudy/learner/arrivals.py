"""The arrival of games: whether the buffer has changed, and when to stop waiting for more games."""

from __future__ import annotations

import math
import time
from pathlib import Path

_LEAST_SECONDS = 2.0
_GAPS = 4.0  # multiples of the usual time between two games
_REMEMBERED = 4.0  # games over which that time is averaged
_TICK_SECONDS = 0.04  # two changes within this time may have the same modification time


class Arrivals:
    """Records when games arrive, to distinguish a slow bot from one that has stopped."""

    def __init__(self, now: float) -> None:
        self._last = now
        self._waiting = 0
        self._gap = 0.0

    def ended(self, waiting: int, now: float) -> bool:
        """Whether games are waiting and none has arrived for much longer than usual. Call it often."""
        new, self._waiting = waiting - self._waiting, waiting
        if new > 0:
            self._gap += ((now - self._last) / new - self._gap) / _REMEMBERED
            self._last = now
        return waiting > 0 and now - self._last > max(_LEAST_SECONDS, _GAPS * self._gap)


def changed_at(folder: Path) -> float:
    """When a file last came or went; NaN, which equals nothing, while another change could have the same time."""
    try:
        modified = folder.stat().st_mtime
    except OSError:  # the next pass reports what is wrong
        return 0.0
    return math.nan if abs(time.time() - modified) < _TICK_SECONDS else modified
