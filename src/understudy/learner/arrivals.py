"""When to stop waiting for more games."""

from __future__ import annotations

_LEAST_SECONDS = 2.0
_GAPS = 4.0  # times the usual time between two games
_REMEMBERED = 4.0  # games


class Arrivals:
    """Notes when games come, to tell a bot that plays slowly from one that has stopped."""

    def __init__(self, now: float) -> None:
        self._last = now
        self._waiting = 0
        self._gap = 0.0

    def ended(self, waiting: int, now: float) -> bool:
        """Whether no game has come for much longer than usual, and some wait. To be asked often."""
        new, self._waiting = waiting - self._waiting, waiting
        if new > 0:
            self._gap += ((now - self._last) / new - self._gap) / _REMEMBERED
            self._last = now
        return waiting > 0 and now - self._last > max(_LEAST_SECONDS, _GAPS * self._gap)
