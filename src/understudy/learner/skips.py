"""Games that are archived without learning: counted by reason, and reported. Nothing is dropped silently."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping

from understudy.experience.skipped import WHY
from understudy.experience.spool import Passed

_LOG_SECONDS = 60.0  # between two log entries: continued skipping must not displace everything else in the log


class Skips:
    """The skipped games since the last log entry."""

    def __init__(self, report: Callable[[Mapping[str, str]], None]) -> None:
        self._report = report
        self._unsaid: Counter[str] = Counter()
        self._said_at = -math.inf

    def note(self, passed: Passed) -> Counter[str]:
        """Count games that left the buffer without learning, report them now or soon, and return them by reason."""
        skipped = Counter({"too old": passed.too_old, "too stale": passed.too_stale, "no room": passed.no_room})
        self._unsaid += skipped
        if self._unsaid and time.monotonic() >= self._said_at + _LOG_SECONDS:
            self.say()
        return +skipped

    def say(self) -> None:
        """Report what has not been reported yet."""
        if self._unsaid:
            self._report({reason.title(): f"{count} games {WHY[reason]}" for reason, count in self._unsaid.items()})
            self._unsaid.clear()
            self._said_at = time.monotonic()
