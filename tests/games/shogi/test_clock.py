from __future__ import annotations

import pytest

from understudy.errors import SettingsError
from understudy.games.shogi.clock import Clocks


def test_increments_come_after_the_move_and_engines_hear_both_clocks() -> None:
    clocks = Clocks.parse("10+0.5")
    assert clocks.charge(0, 4.0)
    assert clocks.left == [6.5, 10.0]
    assert clocks.go() == "btime 6000 wtime 9500 binc 500 winc 500"
    assert not clocks.charge(0, 6.6)  # the half second would have come too late
    clocks.restart()
    assert clocks.left == [10.0, 10.0]


def test_byoyomi_begins_when_the_main_time_is_gone_and_is_not_saved_up() -> None:
    clocks = Clocks.parse("3/1")
    assert clocks.charge(1, 3.9)
    assert clocks.left == [3.0, 0.0]
    assert clocks.charge(1, 0.1)
    assert clocks.charge(1, 1.0)
    assert not clocks.charge(1, 1.1)
    assert clocks.go() == "btime 3000 wtime 0 byoyomi 1000"


@pytest.mark.parametrize("text", ["", "ten", "0", "0+0", "-1", "5+", "5*1", "1+1/1"])
def test_a_clock_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="clock"):
        Clocks.parse(text)


def test_a_tolerance_excuses_a_move_that_is_a_little_late() -> None:
    clocks = Clocks.parse("3/1", tolerance=0.25)
    assert clocks.charge(0, 4.25)
    assert clocks.left[0] == 0.0
    assert not clocks.charge(0, 1.5)
