"""Waiting for another process costs few looks, and ends soon after what is waited for."""

from __future__ import annotations

import pytest

from understudy.parallel import communicator


class Clock:
    """A clock that only sleeping moves on."""

    def __init__(self) -> None:
        self.now, self.sleeps = 100.0, 0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.sleeps += 1


def wait(clock: Clock, seconds: float, last: float) -> float:
    """Wait for something that happens after `seconds`; how much too late that was noticed."""
    began = clock.now
    while clock.now < began + seconds:
        communicator.nap(began, last)
    return clock.now - began - seconds


@pytest.mark.parametrize("seconds", [0.003, 0.02, 0.09])
def test_a_wait_that_takes_as_long_as_the_last_one_needs_few_looks(
    seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Clock(), Clock()
    monkeypatch.setattr(communicator, "time", first)
    wait(first, seconds, last=0.0)
    monkeypatch.setattr(communicator, "time", second)
    late = wait(second, seconds, last=seconds)
    assert second.sleeps < 0.6 * first.sleeps
    assert late <= max(0.0002, seconds / 10)


def test_a_long_wait_costs_few_looks_and_little_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(communicator, "time", clock)
    assert wait(clock, 7.0, last=0.0) <= 0.05
    assert clock.sleeps < 350  # at 2 ms each they would be 3,500


def test_a_wait_that_is_shorter_than_the_last_one_ends_after_half_of_that_or_50_ms(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock()
    monkeypatch.setattr(communicator, "time", clock)
    assert wait(clock, 0.001, last=0.02) == pytest.approx(0.009)
    assert wait(clock, 0.001, last=60.0) == pytest.approx(0.049)
