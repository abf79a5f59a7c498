"""The clocks of a game between two players."""

from __future__ import annotations

import re

from understudy.errors import SettingsError

TOLERANCE = 0.1
"""Seconds that a move of a match may be late; pipes and a busy machine cause such delays, not the player."""


class Clocks:
    """Seconds at the start, seconds added after every move (Fischer), and seconds for each move after that (byoyomi).

    `main+increment` or `main/byoyomi` as text: 10+0.1 is ten seconds plus 0.1 for every move, 0/0.5 half a second for
    each move. A move that is at most `tolerance` seconds late is in time.
    """

    def __init__(self, main: float, increment: float = 0.0, byoyomi: float = 0.0, tolerance: float = 0.0) -> None:
        self.main, self.increment, self.byoyomi = main, increment, byoyomi
        self.tolerance = tolerance
        self.restart()

    @classmethod
    def parse(cls, text: str, tolerance: float = 0.0) -> Clocks:
        """The clocks that a text describes; SettingsError if it is not valid."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(?:([+/])(\d+(?:\.\d+)?))?", text)
        if not found or not any(float(number) for number in found.group(1, 3) if number):
            raise SettingsError(f"A clock is written 10+0.1, 60/1 or 0/0.5, in seconds, not {text!r}.")
        main, more = float(found[1]), float(found[3] or 0)
        increment, byoyomi = (more, 0.0) if found[2] == "+" else (0.0, more)
        return cls(main, increment, byoyomi, tolerance)

    def restart(self) -> None:
        """Reset the clocks for a new game."""
        self.left = [self.main, self.main]

    def charge(self, player: int, seconds: float) -> bool:
        """Subtract the time of a move from a player's clock; False if there was not enough."""
        in_time = seconds <= self.left[player] + self.byoyomi + self.tolerance
        self.left[player] = max(self.left[player] - seconds, 0.0) + self.increment
        return in_time

    def go(self) -> str:
        """The words after `go` for a USI engine: times without the increment of this move, as shogi engines expect."""
        black, white = (int(1000 * max(seconds - self.increment, 0.0)) for seconds in self.left)
        more = f"byoyomi {int(1000 * self.byoyomi)}"
        if self.increment:
            more = f"binc {int(1000 * self.increment)} winc {int(1000 * self.increment)}"
        return f"btime {black} wtime {white} {more}"
