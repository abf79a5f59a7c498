"""What one update did, for reports and metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from understudy.learning.batch import Batch
from understudy.learning.normalizers import Outlier
from understudy.learning.passes import GradientStep


class GameOutlier(NamedTuple):
    """A value far outside of the range of its feature, and which game of the batch had it."""

    feature: int
    game: int
    value: float


@dataclass(frozen=True, slots=True)
class UpdateStats:
    """What one update did. Losses, entropy, clip fraction and gradient norm are means over its gradient steps."""

    loss: float
    policy_loss: float
    value_loss: float
    entropy: float
    kl: float
    """How far the policy had moved in the end, KL(old ‖ new)."""
    clip_fraction: float
    explained_variance: float
    """Of the value targets, by the value head as it was before the update."""
    effective_sample_size: float
    """Share of the batch that counts after the correction for old experience, 0 to 1; 1 if it is on-policy."""
    grad_norm: float
    """Before clipping."""
    total_steps: int
    """Decisions in the batch."""
    games: int
    epochs_done: int
    mean_return: float
    """Undiscounted sum of rewards of a game."""
    learning_rate: float
    """What it was in this update, after all adjustments."""
    entropy_weight: float
    """Likewise."""
    shortened: float
    """The share that was kept of a change of the policy that went beyond `target_kl`; 1 if none did."""
    outliers: tuple[GameOutlier, ...]
    """Features with values far outside of their range, and the game of the batch they were in."""


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
