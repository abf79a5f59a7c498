"""The live loop's view of an environment is that of self-play."""

from __future__ import annotations

import pytest

pytest.importorskip("gymnasium")

from understudy.check.tasks import Task
from understudy.check.worlds import open_world

OFFSET = Task("offset", "live", "Offset-v0", 100, 1.0, package="parallel.small_envs")


def test_actions_begin_where_the_environment_says_and_its_mask_is_known() -> None:
    world = open_world(OFFSET, 0)
    world.reset()
    assert world.actions == 3
    assert world.legal is not None
    assert world.legal.tolist() == [True, False, True]
    assert [world.step(action).reward for action in (0, 2)] == [5.0, 7.0]
    assert world.legal.tolist() == [False, True, True]
