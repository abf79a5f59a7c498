from __future__ import annotations

from understudy.learner.arrivals import Arrivals


def test_games_that_came_all_at_once_are_not_left_waiting() -> None:
    arrivals = Arrivals(0.0)
    assert not arrivals.ended(12, 0.1)
    assert not arrivals.ended(2, 0.5)  # ten were learned from
    assert not arrivals.ended(2, 1.9)
    assert arrivals.ended(2, 2.5)


def test_a_bot_that_plays_slowly_is_waited_for() -> None:
    arrivals, now = Arrivals(0.0), 0.0
    for waiting in range(1, 20):
        now += 60.0
        assert not arrivals.ended(waiting, now)
        assert not arrivals.ended(waiting, now + 59.0) or waiting < 3
    assert not arrivals.ended(19, now + 180.0)
    assert arrivals.ended(19, now + 300.0)


def test_nothing_has_ended_where_nothing_waits() -> None:
    assert not Arrivals(0.0).ended(0, 1e6)
