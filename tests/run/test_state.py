"""The state of a training process and its text."""

from __future__ import annotations

import pytest

from understudy.run.state import Activity, RunState


@pytest.mark.parametrize("activity", Activity)
def test_the_text_of_every_state_is_read_back(activity: Activity) -> None:
    state = RunState(activity, "GPU memory" if "{}" in activity.value else "")
    assert RunState.parse(str(state)) == state


def test_texts_that_people_and_old_status_files_know() -> None:
    assert str(RunState(Activity.PAUSED, "somebody")) == "paused by request of somebody"
    assert RunState.parse("waiting for CPU") == RunState(Activity.MACHINE_BUSY, "CPU")
    assert RunState.parse("waiting: No space left: {x}") == RunState(Activity.TROUBLE, "No space left: {x}")
    assert RunState.parse("something else") is None
