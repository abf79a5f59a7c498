"""The score of a match."""

from __future__ import annotations

import math
from dataclasses import dataclass

from understudy.models.intervals import wilson


@dataclass(frozen=True, slots=True)
class ContestScore:
    """The result of a match from the view of its first player."""

    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        """The number of games played."""
        return self.wins + self.draws + self.losses

    @property
    def share(self) -> float:
        """The first player's share of the points; a draw is half a point."""
        return (self.wins + self.draws / 2) / self.games

    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the share (Wilson 1927)."""
        return wilson(self.share * self.games, self.games)

    def __str__(self) -> str:
        low, high = (elo(share) for share in self.interval())
        return (
            f"+{self.wins} ={self.draws} -{self.losses} of {self.games}: {self.share:.1%}, "
            f"Elo {elo(self.share):+.0f} ({low:+.0f} to {high:+.0f})"
        )


def elo(share: float) -> float:
    """The difference in Elo that corresponds to a share of the points."""
    return math.inf if share >= 1 else -math.inf if share <= 0 else 400 * math.log10(share / (1 - share))
