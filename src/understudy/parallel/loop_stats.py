"""The statistics of a self-play run, for callbacks, progress lines and `status.json`."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy.learning.update_stats import UpdateStats
from understudy.parallel.rollout import Rollout

_NOT_PLAIN = ("returns", "lengths", "last")


@dataclass(slots=True)
class LoopStats:
    """What a run of the loop has done so far."""

    mode: str = "sequential"
    updates: int = 0
    decisions: int = 0
    games: int = 0
    seconds: float = 0.0
    staleness: float = 0.0
    """Mean number of updates between the weights that played the last batch and those that learned from it."""
    max_staleness: int = 0
    effective_sample_size: float = 1.0
    restarts: int = 0
    refused_updates: int = 0
    """Updates in a row that were refused because of a value that is not finite."""
    returns: deque[float] = field(default_factory=lambda: deque(maxlen=100))
    lengths: deque[int] = field(default_factory=lambda: deque(maxlen=100))
    """The number of decisions in each of the last games."""
    last: UpdateStats | None = None

    @property
    def mean_return(self) -> float:
        """The first player's mean return over the last hundred games; NaN before there is one."""
        return sum(self.returns) / len(self.returns) if self.returns else float("nan")

    def add_update(self, update: UpdateStats, rollouts: Sequence[Rollout], version: int) -> None:
        """Count an update of the weights `version` from these rollouts."""
        ages = [version - rollout["version"] for rollout in rollouts]
        self.refused_updates = 0
        self.updates += 1
        self.decisions += update.total_steps
        self.games += update.games
        self.staleness = sum(ages) / len(ages)
        self.max_staleness = max(self.max_staleness, *ages)
        self.effective_sample_size = update.effective_sample_size
        self.last = update
        for rollout in rollouts:
            returns, lengths = rollout.results()
            self.returns.extend(returns.tolist())
            self.lengths.extend(lengths.tolist())

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for status.json."""
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in _NOT_PLAIN}
        return plain | {"mean_return": self.mean_return if self.returns else None}
