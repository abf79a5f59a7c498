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
    return max((middle - spread) / (1 + Z95**2 / n), 0.0), min((middle + spread) / (1 + Z95**2 / n), 1.0)
