from __future__ import annotations

import pytest

from understudy.confidence import wilson


def test_the_confidence_interval_is_wilsons() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert wilson(5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)
