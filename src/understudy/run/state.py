"""The state of a training process: an enum, with an optional detail.

`status.json` holds the state as text, as people read it; `RunState.parse` is the inverse.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Self


class Activity(Enum):
    """The states. The value is the text, with a placeholder for the detail."""

    STARTING = "starting"
    RUNNING = "running"
    TRAINING = "training"
    NO_MODEL = "waiting for a model (the bot makes the first one)"
    MEASURING = "measuring the load"
    MACHINE_BUSY = "waiting for {}"
    GAME_FIRST = "paused for the game"
    TROUBLE = "waiting: {}"
    PAUSED = "paused by request of {}"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RunState:
    """An activity and its detail: the scarce resource, the problem, or who asked for the pause."""

    activity: Activity
    detail: str = ""

    def __str__(self) -> str:
        return self.activity.value.format(self.detail)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The state with this text; None if there is none."""
        for activity in Activity:
            before, place, after = activity.value.partition("{}")
            if place and text.startswith(before) and text.endswith(after):
                return cls(activity, text.removeprefix(before).removesuffix(after))
            if text == activity.value:
                return cls(activity)
        return None
