"""Is one player stronger than another by some Elo? A sequential probability ratio test on pairs of games.

The two games of a pair have the same start with sides exchanged, so a start that favours one side does not add noise.
The likelihood ratio is that of a normal distribution with the measured variance, as in engine testing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from understudy.errors import SettingsError

_LEAST_PAIRS = 5
_LEAST_VARIANCE = 0.01
_MOST_ELO = 2000.0


@dataclass(frozen=True, slots=True)
class Sprt:
    """A test of "stronger by `elo1`" against "stronger by `elo0`", with the same error for both."""

    elo0: float
    elo1: float
    error: float = 0.05

    @classmethod
    def asked(cls, bounds: Sequence[float] | None) -> Self | None:
        """The test for `--sprt ELO0 ELO1`, if it was given."""
        if bounds is None:
            return None
        elo0, elo1 = bounds
        if not -_MOST_ELO <= elo0 < elo1 <= _MOST_ELO:
            raise SettingsError(
                f"--sprt {elo0:g} {elo1:g}: ELO0 must be below ELO1, both between {-_MOST_ELO:g} and {_MOST_ELO:g}."
            )
        return cls(elo0, elo1)

    @property
    def bound(self) -> float:
        """The absolute log-likelihood ratio at which the test decides."""
        return math.log((1 - self.error) / self.error)

    def log_ratio(self, pairs: Sequence[float]) -> float:
        """The log-likelihood ratio of pairs; each is the first player's share of the pair's points, 0 to 1."""
        n = len(pairs)
        if n < _LEAST_PAIRS:
            return 0.0
        mean = math.fsum(pairs) / n
        variance = max(math.fsum((pair - mean) ** 2 for pair in pairs) / n, _LEAST_VARIANCE)
        low, high = expected_score(self.elo0), expected_score(self.elo1)
        return n * (high - low) * (2 * mean - low - high) / (2 * variance)

    def decided(self, pairs: Sequence[float]) -> Literal["stronger", "not stronger"] | None:
        """The decision; None if there is none yet."""
        ratio = self.log_ratio(pairs)
        return "stronger" if ratio >= self.bound else "not stronger" if ratio <= -self.bound else None

    def progress(self, pairs: Sequence[float]) -> str:
        """The log-likelihood ratio and its bounds, for a line of progress."""
        return f"LLR {self.log_ratio(pairs):+.2f}, bounds ±{self.bound:.2f}"

    def verdict(self, first: str, second: str, pairs: Sequence[float]) -> str:
        """What the pairs show about the first player, in one sentence."""
        played = f"{2 * len(pairs)} games ({self.progress(pairs)})"
        claim = f"than {second} by {self.elo1:g} rather than {self.elo0:g} Elo"
        if (found := self.decided(pairs)) is None:
            return f"{played} do not decide whether {first} is stronger {claim}."
        return f"{first} is {found} {claim}, after {played}, at an error level of {100 * self.error:g} %."


def expected_score(elo: float) -> float:
    """The expected share of the points for a player who is stronger by this much Elo."""
    return 1 / (1 + 10 ** (-elo / 400))
