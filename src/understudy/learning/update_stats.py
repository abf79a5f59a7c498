"""The results of one update, for reports and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from understudy.learning.batch import Batch
from understudy.learning.normalizers import Outlier
from understudy.learning.passes import GradientStep


class GameOutlier(NamedTuple):
    """A value far outside the range of its feature, and the game of the batch that had it."""

    feature: int
    game: int
    value: float


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """The results of one update. Losses, entropy, clip fraction and gradient norm are means over its gradient steps."""

    loss: float
    policy_loss: float
    value_loss: float
    entropy: float
    kl: float
    """How far the policy moved in total, KL(old ‖ new)."""
    clip_fraction: float
    explained_variance: float
    """Explained variance of the value targets by the value head before the update."""
    effective_sample_size: float
    """The share of the batch that counts after the correction for old experience, 0 to 1; 1 if it is on-policy."""
    grad_norm: float
    """The norm before clipping."""
    total_steps: int
    """The number of decisions in the batch."""
    games: int
    epochs_done: int
    mean_return: float
    """The mean undiscounted sum of rewards per game."""
    learning_rate: float
    """The learning rate of this update, after all adjustments."""
    entropy_weight: float
    """The entropy weight of this update, after all adjustments."""
    shortened: float
    """The share that was kept of a change that exceeded `target_kl`; 1 if none did."""
    outliers: tuple[GameOutlier, ...]
    """Features with values far outside their range, and the game of the batch in which they occurred."""


def stats_of(batch: Batch, passes: list[list[GradientStep]], **measured: Any) -> UpdateStats:
    """The statistics of an update, from its gradient steps and from other measurements."""
    mean = GradientStep(*np.mean([step for steps in passes for step in steps], axis=0).tolist())
    return UpdateStats(
        loss=mean.loss,
        policy_loss=mean.policy_loss,
        value_loss=mean.value_loss,
        entropy=mean.entropy,
        clip_fraction=mean.clip_fraction,
        grad_norm=mean.grad_norm,
        total_steps=len(batch.actions[batch.new]),
        games=batch.games,
        epochs_done=len(passes),
        mean_return=float(batch.rewards[batch.new].sum(dtype=np.float64))
        / (len(batch.starts) if batch.fresh is None else batch.games),
        **measured,
    )


def in_games(outliers: Sequence[Outlier], batch: Batch) -> tuple[GameOutlier, ...]:
    """The outliers with the game of the batch in which each occurred."""
    games = np.searchsorted(batch.state_starts, [outlier.row for outlier in outliers], "right") - 1
    return tuple(
        GameOutlier(outlier.feature, game, outlier.value)
        for outlier, game in zip(outliers, games.tolist(), strict=True)
    )
