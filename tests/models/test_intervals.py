from __future__ import annotations

import math

import pytest

from understudy.models.intervals import mean_interval, wilson


def test_the_confidence_interval_is_wilsons() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)


@pytest.mark.parametrize("n", [1, 7, 20, 200, 1000])
def test_winning_or_losing_all_games_ends_the_interval_exactly_there(n: int) -> None:
    assert wilson(n, n)[1] == 1.0
    assert wilson(0, n)[0] == 0.0


@pytest.mark.parametrize(
    ("n", "quantile"), [(2, 12.706), (3, 4.303), (4, 3.182), (10, 2.262), (30, 2.045), (10**6, 1.96)]
)
def test_the_interval_of_a_mean_has_the_quantiles_of_students_table(n: int, quantile: float) -> None:
    values = [0.0, 2.0] * (n // 2) + [1.0] * (n % 2)
    low, high = mean_interval(values)
    deviation = math.sqrt(sum((value - 1) ** 2 for value in values) / (n - 1) / n)
    assert (low + high) / 2 == pytest.approx(1.0)
    assert (high - low) / 2 == pytest.approx(quantile * deviation, rel=0.01)


def test_one_value_has_no_finite_interval() -> None:
    assert mean_interval([3.0]) == (-math.inf, math.inf)
