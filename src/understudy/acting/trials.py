"""Trials: games that keep to one action for a while, to estimate its value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from understudy.acting.sampling import Legal


class Commitment(NamedTuple):
    """An action and the decisions, counted from 0, between which a game keeps to it."""

    action: int
    begin: float
    end: float

    def action_at(self, decision: int, legal: Legal) -> int | None:
        """The action to keep to in this decision; None if the decision is not part of the trial or the action is
        illegal."""
        if self.begin <= decision < self.end and (legal is None or legal[self.action]):
            return self.action
        return None


def draw_commitment(
    share: float, stretch: float, actions: int, uniform: Callable[[], float], action: int | None = None
) -> Commitment | None:
    """Make this game a trial with probability `share`: of `action`, or of one that is drawn. None if it is no trial.

    Without a `stretch` the trial lasts for the whole game. With one, it lasts for at least half of the stretch, and
    sometimes for the rest of the game. The learned policy plays what remains and shows the outcome. One trial in four
    begins later, after about a stretch played by the policy, and then always with a drawn action.
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
