"""Learning for any burnysc2 bot.

`LearningBot` is a bot that decides, records and learns; override three methods. `BotSession` does the same for a bot
with its own structure. `OpponentMemory`, `OpeningBook` and `StepClock` can be used separately. docs/your-bot.md
explains them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from understudy.sc2.bot import LearningBot
    from understudy.sc2.openings import OpeningBook
    from understudy.sc2.opponents import OpponentMemory
    from understudy.sc2.session import BotSession
    from understudy.sc2.step_clock import StepClock

_HOMES = {
    "BotSession": "understudy.sc2.session",
    "LearningBot": "understudy.sc2.bot",
    "OpeningBook": "understudy.sc2.openings",
    "OpponentMemory": "understudy.sc2.opponents",
    "StepClock": "understudy.sc2.step_clock",
}

__all__ = ["BotSession", "LearningBot", "OpeningBook", "OpponentMemory", "StepClock"]


def __getattr__(name: str) -> Any:
    """Import burnysc2 only for the names that need it."""
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
