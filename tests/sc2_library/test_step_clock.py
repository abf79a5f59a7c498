from __future__ import annotations

import pytest

from understudy.sc2 import step_clock
from understudy.sc2.step_clock import StepClock


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def perf_counter(self) -> float:
        return self.now

    monotonic = perf_counter


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    clock = Time()
    monkeypatch.setattr(step_clock, "time", clock)
    return clock


def test_what_is_left_of_a_step_and_which_steps_were_late(time: Time) -> None:
    clock = StepClock(0.04)
    for seconds in (0.01, 0.05, 0.03):
        with clock:
            time.now += seconds
            assert clock.left == pytest.approx(0.04 - seconds)
    assert (clock.steps, clock.late) == (3, 1)
    assert clock.slowest == pytest.approx(0.05)


def test_the_mean_is_reported_about_once_a_second(time: Time) -> None:
    said: list[float] = []
    clock = StepClock(report=said.append)
    for seconds in (0.1, 0.2, 0.3, 0.5, 0.5):
        with clock:
            time.now += seconds
    assert said == pytest.approx([0.1, (0.2 + 0.3 + 0.5) / 3])


def test_a_step_that_raises_is_not_counted(time: Time) -> None:
    clock = StepClock()
    with pytest.raises(RuntimeError), clock:
        raise RuntimeError
    assert clock.steps == 0
