"""Confidence intervals for shares of games won and for means."""

from __future__ import annotations

import math
from collections.abc import Sequence

Z95 = 1.96  # standard deviations on each side that contain 95 % of a normal distribution


def wilson(successes: float, n: float) -> tuple[float, float]:
    """The 95 % confidence interval of a share (Wilson 1927), also valid for few games and for shares near 0 and 1."""
    if n == 0:
        return 0.0, 1.0
    share = successes / n
    middle = share + Z95**2 / (2 * n)
    spread = Z95 * math.sqrt(share * (1 - share) / n + Z95**2 / (4 * n**2))
    low, high = (middle - spread) / (1 + Z95**2 / n), (middle + spread) / (1 + Z95**2 / n)
    # Exactly 0 and 1 at the ends, in spite of rounding: an Elo of 1 − 1e-16 would be a large number instead of
    # infinity.
    return 0.0 if successes <= 0 else max(low, 0.0), 1.0 if successes >= n else min(high, 1.0)


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % confidence interval of a mean, by Student's t; infinite for a single value.

    The quantile of t with n degrees of freedom is computed from the expansion in powers of 1/n (Abramowitz & Stegun
    26.7.5), which is within 1 % from 3 degrees on; the first two are exact.
    """
    n = len(values)
    if n < 2:
        return -math.inf, math.inf
    mean = math.fsum(values) / n
    variance = math.fsum((value - mean) ** 2 for value in values) / (n - 1)
    spread = _student(n - 1) * math.sqrt(variance / n)
    return mean - spread, mean + spread


def _student(n: int) -> float:
    exact = {1: 12.7062, 2: 4.3027}
    z = 1.959964
    terms = (
        z,
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return exact.get(n) or sum(term / n**power for power, term in enumerate(terms))
