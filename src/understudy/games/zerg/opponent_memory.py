"""The Zerg bot's opponent memory: that of `understudy.sc2`, with this bot's strategies."""

from __future__ import annotations

import os

from understudy.games.zerg.strategies import NAMES as STRATEGIES
from understudy.sc2.opponents import OpponentMemory, nothing_known

NOTHING_KNOWN = nothing_known(STRATEGIES)


def zerg_memory(path: str | os.PathLike[str] | None) -> OpponentMemory:
    """The memory in this file; without a path, nothing is saved."""
    return OpponentMemory(path, STRATEGIES)
