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


def draw_commitment(
    share: float, stretch: float, actions: int, uniform: Callable[[], float], action: int | None = None
) -> Commitment | None:
    """What a game commits itself to: nothing, but for this share of games; else `action`, or one that is drawn.

    Without a `stretch` it is for all of a game. With one, it lasts for half of that or longer, and sometimes for the
    rest of the game: the policy that has been learned so far plays what is left, and shows what comes of it. One in
    four begins later, after about a stretch of the policy's own, and then always with a drawn action.
    """
    if not share or uniform() >= share:
        return None
    drawn = min(int(uniform() * actions), actions - 1)
    if not stretch:
        return Commitment(drawn if action is None else action, 0.0, math.inf)
    length = 0.5 * stretch / (1.0 - uniform())  # heavy-tailed, with the stretch as its median
    if uniform() < 0.75:
        return Commitment(drawn if action is None else action, 0.0, length)
    begin = -stretch * math.log(1.0 - uniform())
    return Commitment(drawn, begin, begin + length)
