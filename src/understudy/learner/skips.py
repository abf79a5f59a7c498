"""Games that are archived unlearned: counted by reason, and said. Nothing is dropped silently."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping

from understudy.experience.skipped import WHY
from understudy.experience.spool import Passed

_LOG_SECONDS = 60.0  # between two entries: skipping that goes on must not push everything else out of the log


class Skips:
    """What was skipped since the last entry in the log."""

    def __init__(self, report: Callable[[Mapping[str, str]], None]) -> None:
        self._report = report
        self._unsaid: Counter[str] = Counter()
        self._said_at = -math.inf

    def note(self, passed: Passed) -> Counter[str]:
        """Count what left the buffer unlearned, say it now or soon, and return the games by reason."""
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
