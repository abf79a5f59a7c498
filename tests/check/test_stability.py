"""The stability check counts from the first time that it is solved."""

from __future__ import annotations

import pytest

from understudy.check.stability import StabilityRun, Steadiness, one


def noted(*means: float) -> Steadiness:
    seen = Steadiness(0)
    for number, mean in enumerate(means, start=1):
        seen.note(1000 * number, mean)
    return seen


def test_nothing_counts_before_it_is_solved() -> None:
    seen = noted(20, 100, 480, 490, 500, 500)
    assert seen.solved_at == 4000
    assert seen.lowest == 500
    assert seen.share_below == 0
    assert seen.steady


def test_a_dip_is_not_steady_however_short() -> None:
    seen = noted(490, *[500] * 999, 399)
    assert seen.lowest == 399
    assert seen.share_below == pytest.approx(1 / 1000)
    assert not seen.steady


def test_below_475_for_more_than_one_in_a_hundred_is_not_steady() -> None:
    assert noted(490, *[500] * 198, 474, 474).steady
    assert not noted(490, *[500] * 197, 474, 474, 474).steady


def test_what_is_never_solved_is_not_steady() -> None:
    assert not noted(*[489] * 10).steady


@pytest.mark.slow
def test_a_run_ends_after_the_decisions_asked_for() -> None:
    pytest.importorskip("gymnasium")
    seen = one(StabilityRun(0, 9000))
    assert seen.decisions >= 9000
    assert seen.solved_at is None
