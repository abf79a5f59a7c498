"""The ages of waiting games, correct also after the system clock was set forward or back."""

from __future__ import annotations

import logging
import time

logger = logging.getLogger(__name__)


class FileClock:
    """Ages of files, correct also for those written before the system clock was set forward or back."""

    _JUMP_SECONDS = 60.0

    def __init__(self) -> None:
        self._offsets = [time.time() - time.monotonic()]
        self._counted_from = time.monotonic()

    def count_from(self, monotonic: float) -> None:
        """Ages count from this moment: before it, nothing could be learned."""
        self._counted_from = monotonic

    def waited(self, modified: float) -> float:
        """Seconds that a file has waited while a learner could have taken it."""
        return min(self.age(modified), time.monotonic() - self._counted_from)

    def age(self, modified: float) -> float:
        """Seconds since a file was modified: the youngest age that does not put its date into the future."""
        monotonic = self.look()
        ages = [monotonic + then - modified for then in self._offsets]
        return min((age for age in ages if age >= 0), default=0.0)

    def look(self) -> float:
        """Detect a jump of the clock, and return the monotonic time. Call it often, for files written between two
        jumps."""
        monotonic = time.monotonic()
        offset = time.time() - monotonic
        jump = offset - self._offsets[-1]
        if abs(jump) > self._JUMP_SECONDS:
            logger.warning("The system clock jumped by %+.0f s; games keep their true age.", jump)
            self._offsets = [*self._offsets[-7:], offset]
        return monotonic
