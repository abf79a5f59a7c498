"""Off-policy check of a candidate on recorded games, before it plays. It may refuse a candidate, never promote it.

Every decision was recorded with the probability it was drawn with, so it can be weighted by how much more often the
candidate would have made it. The estimate of the candidate's gain is doubly robust: the result of a game minus the
value of the state, weighted. It is a first-order estimate: it values the candidate's decisions in the states that the
recorded games reached, and says nothing about states that only the candidate would reach.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.acting.sampling import best_all, probabilities
from understudy.experience.episode import Episode
from understudy.learning.batch import Batch, lay_out
from understudy.learning.losses import chosen
from understudy.learning.returns import discounted_returns, effective_sample_size
from understudy.models.evidence import score
from understudy.models.intervals import Z95
from understudy.models.live import LiveModel

_REFUSAL = 3.5  # standard errors below zero
_LEAST_GAMES, _LEAST_EFFECTIVE = 20, 200.0  # games, and effective decisions, that are needed for a refusal
_MOST_WEIGHT = 20.0
_LEAST_PROBABILITY = 1e-12

_Float64s = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OffPolicyCheck:
    """The comparison of a candidate with the champion on recorded games."""

    candidate: int
    champion: int
    games: int
    decisions: int
    effective: float
    """Effective sample size: the number of the candidate's own decisions that would be as informative."""
    kl: float
    """KL(champion ‖ candidate), the mean over the states."""
    differing: float
    """The share of states in which their most probable actions differ."""
    gain: float
    """Estimated gain per game: in points if games have results, else in rewards."""
    low: float
    high: float
    """The upper bound of the gain's 95 % interval."""
    refused: bool

    @property
    def sentence(self) -> str:
        """The result in words."""
        return (
            f"on {self.games} recorded games (as good as {self.effective:.0f} of {self.decisions} decisions of its "
            f"own) version {self.candidate} decides differently in {self.differing:.0%} of the states, KL {self.kl:.3g}"
            f"; estimated gain {self.gain:+.2f} per game ({self.low:+.2f} to {self.high:+.2f})"
        )


def check_candidate(candidate: LiveModel, champion: LiveModel, episodes: Sequence[Episode]) -> OffPolicyCheck | None:
    """Compare two models on recorded games of the same bot; None if there are none with recorded probabilities."""
    usable = [episode for episode in episodes if episode.log_probs is not None]
    if not usable:
        return None
    spec = champion.base.spec
    batch = lay_out(usable, spec.state_dim, len(spec.actions))
    new, _ = _policy(candidate, batch, champion.exploration)
    old, values = _policy(champion, batch, champion.exploration)
    behaviour = np.maximum(np.exp(batch.log_probs.astype(np.float64)), _LEAST_PROBABILITY)
    taken_new, taken_old = (chosen(policy, batch.actions) / behaviour for policy in (new, old))
    gain, error = _gain(taken_new, taken_old, values, _outcomes(usable, champion.trainer.settings.gamma), batch)
    log_ratios = np.log(np.maximum(taken_new, _LEAST_PROBABILITY))
    effective = effective_sample_size(log_ratios) * len(batch.actions)
    divergence = np.sum(old * np.log(np.maximum(old, _LEAST_PROBABILITY) / np.maximum(new, _LEAST_PROBABILITY)), axis=1)
    enough = len(usable) >= _LEAST_GAMES and effective >= _LEAST_EFFECTIVE
    return OffPolicyCheck(
        candidate=candidate.version,
        champion=champion.version,
        games=len(usable),
        decisions=len(batch.actions),
        effective=effective,
        kl=float(divergence.mean()),
        differing=float(np.mean(best_all(new, batch.legal) != best_all(old, batch.legal))),
        gain=gain,
        low=gain - Z95 * error,
        high=gain + Z95 * error,
        refused=not np.isfinite(new).all() or (enough and gain + _REFUSAL * error < 0),
    )


def _policy(model: LiveModel, batch: Batch, exploration: float) -> tuple[_Float64s, _Float64s]:
    """The probabilities (N, A) with which a model draws its actions, and its values (N,)."""
    states = model.trainer.normalizer.apply(batch.states)
    logits, values = model.network.evaluate(states, batch.state_starts)
    found = probabilities(batch.of_decisions(logits), batch.legal, exploration)
    return found, batch.of_decisions(values).astype(np.float64)


def _outcomes(episodes: Sequence[Episode], gamma: float) -> _Float64s:
    """(N,) the outcome of each decision: the result of its game or, without one, its return."""
    scores = [score(episode.meta.result, truncated=episode.meta.truncated) for episode in episodes]
    if all(found is not None for found in scores):
        return np.repeat(np.array(scores, np.float64), [len(episode.actions) for episode in episodes])
    return np.concatenate([discounted_returns(episode.rewards, gamma).astype(np.float64) for episode in episodes])


def _gain(new: _Float64s, old: _Float64s, values: _Float64s, outcomes: _Float64s, batch: Batch) -> tuple[float, float]:
    """The mean over games of Σ (ρ_new − ρ_old)·(outcome − baseline), and its standard error."""
    weights = np.minimum(new, _MOST_WEIGHT) - np.minimum(old, _MOST_WEIGHT)
    per_game = np.add.reduceat(weights * (outcomes - _baseline(values, outcomes)), batch.starts)
    n = len(per_game)
    error = float(per_game.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
    return float(per_game.mean()), error


def _baseline(values: _Float64s, outcomes: _Float64s) -> _Float64s:
    """The outcome that the champion's value of a state predicts, by linear least squares."""
    spread = float(values.var())
    slope = float(np.cov(values, outcomes, bias=True)[0, 1]) / spread if spread > 1e-12 else 0.0
    baseline: _Float64s = outcomes.mean() + slope * (values - values.mean())
    return baseline
