"""A heartbeat counts when it changes, so machines with different clocks agree about who is alive."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from understudy.run import status as status_module
from understudy.run.status import confirm_heartbeat, is_alive, read_status, write_status


class Clock:
    """Our clock, and that of another machine that is `skew` seconds ahead."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, skew: float) -> None:
        self.now, self.skew = 1e9, skew
        self.beat = self.now + skew
        monkeypatch.setattr(status_module, "_heard", {})
        monkeypatch.setattr(time, "time", lambda: self.now)
        monkeypatch.setattr(time, "monotonic", lambda: self.now - 5e8)

    def alive(self, passed: float, *, beats: bool = True, state: str = "running") -> bool:
        self.now += passed
        if beats:
            self.beat = self.now + self.skew
        return is_alive({"heartbeat": self.beat, "pid": 7, "host": "other", "state": state})


@pytest.mark.parametrize("skew", [-86_400.0, -60.0, 0.0, 60.0, 86_400.0])
def test_a_learner_is_alive_and_dead_whatever_its_clock_says(monkeypatch: pytest.MonkeyPatch, skew: float) -> None:
    clock = Clock(monkeypatch, skew)
    clock.alive(0)
    assert all(clock.alive(passed) for passed in (1, 2, 1, 600, 1))
    assert clock.alive(10, beats=False)
    assert not clock.alive(10, beats=False)
    assert not clock.alive(600, beats=False)
    assert clock.alive(1)  # it continues
    assert not clock.alive(1, state="stopped")


def test_a_heartbeat_that_never_changes_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 60.0)
    assert not clock.alive(0)
    assert not any(clock.alive(5, beats=False) for _ in range(10))


def test_a_clock_that_is_set_while_we_look_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 0.0)
    assert clock.alive(1)
    for jump in (3600.0, -7200.0, 100_000.0):
        clock.skew += jump
        clock.alive(1)
        assert clock.alive(1)
    assert not clock.alive(20, beats=False)


def test_a_command_that_looks_once_waits_for_a_second_heartbeat(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "status.json"
    monkeypatch.setattr(status_module, "_heard", {})
    seconds = [0]

    def beat(_: float) -> None:
        seconds[0] += 1
        write_status(path, {"state": "running", "heartbeat": 1e6 + seconds[0], "host": "other"})

    monkeypatch.setattr(time, "sleep", beat)
    beat(0)
    confirm_heartbeat(path)
    assert is_alive(read_status(path))
    assert seconds[0] == 2


@pytest.mark.parametrize("status", [{}, {"state": "stopped", "heartbeat": 0}])
def test_nobody_waits_for_a_learner_that_has_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: dict[str, Any]
) -> None:
    def no_sleep(_: float) -> None:
        raise AssertionError

    monkeypatch.setattr(time, "sleep", no_sleep)
    write_status(tmp_path / "status.json", status)
    confirm_heartbeat(tmp_path / "status.json")
    assert not is_alive(read_status(tmp_path / "status.json"))
