"""How sure one can be of a share of games won."""

from __future__ import annotations

import math

Z95 = 1.96  # standard deviations that hold 95 % of a normal distribution


def wilson(successes: float, n: float) -> tuple[float, float]:
    """The 95 % confidence interval of a share (Wilson 1927): also right for few games and for rates near 0 and 1."""
    if n == 0:
        return 0.0, 1.0
    share = successes / n
    middle = share + Z95**2 / (2 * n)
    spread = Z95 * math.sqrt(share * (1 - share) / n + Z95**2 / (4 * n**2))
    low, high = (middle - spread) / (1 + Z95**2 / n), (middle + spread) / (1 + Z95**2 / n)
    # Exactly 0 and 1 where they belong, in spite of rounding: an Elo of 1 − 1e-16 is a large number, not infinity.
    return 0.0 if successes <= 0 else max(low, 0.0), 1.0 if successes >= n else min(high, 1.0)
