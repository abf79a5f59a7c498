"""Is one model better than another? Sequential tests that stay valid however often one looks.

A comparison is a number between -1 and 1: the candidate's score minus the champion's, in games against the same
opponent. A test bets against its null hypothesis ("on average not above zero") with capital that starts at 1. If the
hypothesis is true, the capital reaches 1 / error with a probability of at most `error`, at any time in the whole run
(Ville's inequality). Stopping early, looking after every game and continuing for longer do not change this bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_BETS = np.array((0.08, 0.2, 0.35, 0.5, 0.7, 0.9))  # shares of the capital to bet, each with a separate account
_WEIGHTS = np.array((0.5, 1.75, 2, 1.5, 1.75, 1)) / 8.5
_DEPOSIT_BLOCKS = 20.0  # comparisons after which the reserve is half; it shrinks ever more slowly
_FIRST_STAKE = 0.9  # share of the capital for a champion's first candidate
_MEANS = np.linspace(-1.0, 1.0, 401)  # candidate means; an interval consists of those that are not refuted

_SCORES = {"victory": 1.0, "win": 1.0, "tie": 0.5, "draw": 0.5, "defeat": 0.0, "loss": 0.0}
_CUT = 0.5  # the score of a game that a limit ended before it was decided
_CRASHED = 0.0  # the score of a game whose bot died: a model that crashes its bot must not profit


def score(result: str, *, truncated: bool = False, crashed: bool = False) -> float | None:
    """The score of a game: 1 won, 0.5 drawn or cut off, 0 lost or crashed; None for any other result."""
    if crashed:
        return _CRASHED
    known = _SCORES.get(result.strip().lower())
    return _CUT if known is None and truncated else known


@dataclass(frozen=True, slots=True)
class Played:
    """A finished game of a comparison. If there is no score, the sums of rewards are compared."""

    score: float | None
    reward: float = 0.0
    cut: bool = False
    """Whether a limit ended it; if no game of the run has a result, its score then says little."""


def difference(candidate: Sequence[Played], champion: Sequence[Played]) -> float:
    """The mean over all pairs of a block: the difference of scores, or which sum of rewards is higher; in [-1, 1]."""
    return math.fsum(_pair(ours, theirs) for ours in candidate for theirs in champion) / (
        len(candidate) * len(champion)
    )


def _pair(ours: Played, theirs: Played) -> float:
    if ours.score is not None and theirs.score is not None:
        return ours.score - theirs.score
    return float(ours.reward > theirs.reward) - float(ours.reward < theirs.reward)  # both may be minus infinity


@dataclass(frozen=True, slots=True)
class SequentialTest:
    """The capital of a test of "the mean is at most `margin`", after `seen` comparisons.

    `reserve` is capital that was not bet yet. A test of something that changes with time, such as a model that keeps
    learning, adds its reserve gradually: capital that was lost while nothing was wrong does not delay the discovery of
    a later problem.
    """

    accounts: tuple[float, ...]
    margin: float = 0.0
    reserve: float = 0.0
    seen: int = 0

    @classmethod
    def fixed(cls, *, stake: float = 1.0, margin: float = 0.0) -> SequentialTest:
        """A test of something constant: everything is staked at once."""
        return cls(tuple((stake * _WEIGHTS).tolist()), margin)

    @classmethod
    def moving(cls, *, margin: float = 0.0) -> SequentialTest:
        """A test of something that may change: half is staked now, the rest is added over time."""
        return cls(tuple((0.5 * _WEIGHTS).tolist()), margin, 0.5)

    @property
    def capital(self) -> float:
        """The evidence against the null hypothesis: at least 1 / error refutes it."""
        return math.fsum(self.accounts)

    def refutes(self, error: float) -> bool:
        """Whether the null hypothesis is refuted at this error level."""
        return self.capital >= 1.0 / error

    def after(self, comparison: float) -> SequentialTest:
        """The test after one more comparison in [-1, 1]."""
        if not -1.0 <= comparison <= 1.0:
            raise ValueError(f"A comparison is between -1 and 1, not {comparison}.")
        left = self.reserve * _kept(self.seen + 1) / _kept(self.seen) if self.reserve else 0.0
        paid_in = np.array(self.accounts) + (self.reserve - left) * _WEIGHTS
        accounts = paid_in * (1.0 + _BETS / (1.0 + self.margin) * (comparison - self.margin))
        return SequentialTest(tuple(accounts.tolist()), self.margin, left, self.seen + 1)


def _kept(seen: int) -> float:
    """The share of the reserve that is left after `seen` comparisons."""
    return 1.0 / (1.0 + math.log2(1.0 + seen / _DEPOSIT_BLOCKS))


@dataclass(frozen=True, slots=True)
class Budget:
    """The capital for all candidates of one champion, so that the error level covers all of them together.

    Each candidate gets a part of what is left, and returns what its test did not lose. The sum never exceeds the
    capital of a single bettor, so Ville's inequality covers the whole sequence.
    """

    cash: float = 1.0
    candidates: int = 0

    @property
    def stake(self) -> float:
        """The stake of the next candidate."""
        return self.cash * (_FIRST_STAKE if self.candidates == 0 else 1.0 / (self.candidates + 1))

    def began(self) -> Budget:
        """The budget after the next candidate got its stake."""
        return Budget(self.cash - self.stake, self.candidates + 1)

    def ended(self, left: float) -> Budget:
        """The budget after a candidate was dropped with this capital left in its test; gains are not passed on."""
        return Budget(min(self.cash + left, 1.0), self.candidates)


def interval(comparisons: Sequence[float], error: float = 0.05) -> tuple[float, float]:
    """A confidence interval of the mean that is valid after every comparison.

    It contains every mean that bets on either side do not refute (Waudby-Smith and Ramdas 2024), and so always the mean
    of the comparisons. A mean that was refuted earlier may return, because a line keeps learning and its mean changes.
    """
    means = np.sort(np.append(_MEANS, math.fsum(comparisons) / max(len(comparisons), 1)))
    above = np.tile(_WEIGHTS[:, None], len(means))
    below = above.copy()
    # Bets stay below the amount that a comparison of -1 or 1 would lose completely.
    up, down = _BETS[:, None] / (1.0 + means + 1e-9), _BETS[:, None] / (1.0 - means + 1e-9)
    with np.errstate(over="ignore"):
        for comparison in comparisons:
            above *= 1.0 + up * (comparison - means)
            below *= 1.0 - down * (comparison - means)
    kept = means[(above.sum(axis=0) + below.sum(axis=0)) / 2 < 1.0 / error]
    step = _MEANS[1] - _MEANS[0]
    return max(float(kept[0] - step), -1.0), min(float(kept[-1] + step), 1.0)
