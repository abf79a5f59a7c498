from __future__ import annotations

import pytest

from understudy.models.intervals import wilson


def test_the_confidence_interval_is_wilsons() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)


@pytest.mark.parametrize("n", [1, 7, 20, 200, 1000])
def test_winning_or_losing_all_games_ends_the_interval_exactly_there(n: int) -> None:
    assert wilson(n, n)[1] == 1.0
    assert wilson(0, n)[0] == 0.0
