"""Games that keep to one action for a while, to see what it is worth.

Decisions drawn one by one hardly ever show it of an action that needs time. These games do, and their decisions are
learned from as if the policy had made them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

HELD = 0.85  # share of the decisions of a commitment that take its action


class Commitment(NamedTuple):
    """An action, and the decisions of a game, counted from 0, from and up to which it is kept to."""

    action: int
    begin: float
    end: float

    def holds(self, decision: int, uniform: Callable[[], float]) -> bool:
        """Whether this decision is to take the action."""
        return self.begin <= decision < self.end and uniform() < HELD


def draw_commitment(share: float, stretch: float, actions: int, uniform: Callable[[], float]) -> Commitment | None:
    """What a game commits itself to: nothing, but for this share of games.

    With a `stretch`, every second commitment is for about so many decisions only, and every second of those begins
    after about as many: the policy that has been learned so far plays the rest, and shows what comes of it.
    """
    if not share or uniform() >= share:
        return None
    action = min(int(uniform() * actions), actions - 1)
    if not stretch or uniform() < 0.5:
        return Commitment(action, 0.0, math.inf)
    begin = 0.0 if uniform() < 0.5 else _exponential(stretch, uniform)
    return Commitment(action, begin, begin + _exponential(stretch, uniform))


def _exponential(mean: float, uniform: Callable[[], float]) -> float:
    return -mean * math.log(1.0 - uniform())
