"""Trials: games that keep to one action for a while, to estimate what it is worth.

Sampling each decision independently rarely shows the value of an action that pays off only when sustained. These games,
the trials, do. Their decisions are recorded with the probability they were drawn with (sampling.py), and marked, so
that `training.trial_weight` can say how they are learned from.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from understudy.acting.sampling import Legal


class Commitment(NamedTuple):
    """An action, and the decisions of a game, counted from 0, from and up to which it is kept to."""

    action: int
    begin: float
    end: float

    def action_at(self, decision: int, legal: Legal) -> int | None:
        """The action to keep to in this decision; None where it is not part of the trial, or the action is illegal."""
        if self.begin <= decision < self.end and (legal is None or legal[self.action]):
            return self.action
        return None


def draw_commitment(
    share: float, stretch: float, actions: int, uniform: Callable[[], float], action: int | None = None
) -> Commitment | None:
    """What a game commits itself to: nothing, but for this share of games; else `action`, or one that is drawn.

    Without a `stretch` it is for all of a game. With one, it lasts for half of that or longer, and sometimes for the
    rest of the game: the policy that has been learned so far plays the rest and shows the outcome. One in
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
