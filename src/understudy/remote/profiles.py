"""Statistics of each machine's games, and machines whose games deviate from those of the others.

A deviation is not a proof: a machine may meet other opponents. It is shown, and people decide (`understudy machines`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from understudy.acting.sampling import probabilities
from understudy.experience.episode import Episode
from understudy.models.evidence import score
from understudy.models.live import LiveModel

_ENOUGH = 20  # games
_FAR = 5.0  # standard errors
_WRONG_GAP = 0.5  # nats: far more than the difference between merged or neighbouring versions
_TINY = 1e-9


class Tally(NamedTuple):
    """Count, sum and sum of squares."""

    number: float = 0
    total: float = 0
    squares: float = 0

    def plus(self, value: float) -> Tally:
        """The tally with one more value."""
        return Tally(self.number + 1, self.total + value, self.squares + value * value)

    def merged(self, other: Sequence[float]) -> Tally:
        """The sum of two tallies."""
        return Tally(self.number + other[0], self.total + other[1], self.squares + other[2])

    @property
    def mean(self) -> float:
        """The mean; 0 without values."""
        return self.total / self.number if self.number else 0.0

    @property
    def error(self) -> float:
        """The squared standard error of the mean."""
        return max(self.squares / self.number - self.mean**2, 0.0) / self.number if self.number else 0.0


class Profile(NamedTuple):
    """Results (1 won, 0 lost), decisions per game (logarithm), and the error of its log-probabilities."""

    results: Tally = Tally()
    lengths: Tally = Tally()
    gaps: Tally = Tally()

    def plus(self, episode: Episode, gap: float | None) -> Profile:
        """The profile with one more game."""
        points = score(episode.meta.result, truncated=episode.meta.truncated)
        return Profile(
            self.results if points is None else self.results.plus(points),
            self.lengths.plus(math.log(len(episode))),
            self.gaps if gap is None else self.gaps.plus(gap),
        )

    def merged(self, other: Profile) -> Profile:
        """The sum of two profiles."""
        return Profile(*(mine.merged(theirs) for mine, theirs in zip(self, other, strict=True)))


def gap_of(model: LiveModel, episode: Episode) -> float | None:
    """The difference of the recorded log-probabilities from those of the model that played, in nats per decision."""
    if episode.log_probs is None or episode.meta.model_version != model.version or model.network.reach:
        return None
    drawn = np.ones(len(episode), np.bool_) if episode.trial is None else ~episode.trial
    if not drawn.any():
        return None
    logits, _ = model.network.evaluate(model.trainer.normalizer.apply(episode.states))
    probability = probabilities(logits, episode.legal, model.exploration)[np.arange(len(episode)), episode.actions]
    return float(np.abs(np.log(np.maximum(probability, _TINY)) - episode.log_probs)[drawn].mean())


def deviations(profiles: Mapping[str, Profile]) -> dict[str, list[str]]:
    """For each machine, how its games deviate from those of all others, in words."""
    found: dict[str, list[str]] = {}
    for machine, mine in profiles.items():
        others = Profile()
        for name, profile in profiles.items():
            others = others if name == machine else others.merged(profile)
        notes = []
        if _differ(mine.results, others.results):
            notes.append(f"results {mine.results.mean:.2f}, others {others.results.mean:.2f}")
        if _differ(mine.lengths, others.lengths):
            notes.append(f"lengths {math.exp(mine.lengths.mean):.0f}, others {math.exp(others.lengths.mean):.0f}")
        if mine.gaps.number >= _ENOUGH and mine.gaps.mean > _WRONG_GAP:
            notes.append(f"log-probabilities are off by {mine.gaps.mean:.2f}")
        found[machine] = notes
    return found


def _differ(mine: Tally, others: Tally) -> bool:
    if min(mine.number, others.number) < _ENOUGH:
        return False
    return abs(mine.mean - others.mean) > _FAR * math.sqrt(mine.error + others.error + _TINY)
