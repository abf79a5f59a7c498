"""One update of the model from a batch of games."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ModelMismatch
from understudy.learning.batch import Batch, Samples, lay_out
from understudy.learning.finite import quiet, require_finite
from understudy.learning.losses import chosen, log_softmax
from understudy.learning.normalizers import (
    BINS,
    EARLY,
    NO_REWARDS,
    STATISTICS,
    ClockBaseline,
    RewardRange,
    StateNormalizer,
    ValueNormalizer,
)
from understudy.learning.optimizers import Adam, decayed
from understudy.learning.passes import Passes, Weights
from understudy.learning.returns import (
    Targets,
    effective_sample_size,
    explained_variance,
    less_common_mode,
    spare_improbable,
)
from understudy.learning.targets import targets_of, timed_targets
from understudy.learning.trust_region import Adjusted, SignalMeter, adjust, kl_limit, worthwhile_passes
from understudy.learning.update_stats import UpdateStats, in_games, stats_of
from understudy.networks.network import Floats, Network
from understudy.settings import TrainingSettings

if TYPE_CHECKING:
    from understudy.experience.episode import Episode
    from understudy.experience.replay import ReplayedGame

_PIECE = 1024  # rows
# Arrays that models of the first version lack, and their initial values.
_FIRST = {
    "value_statistics": np.zeros(STATISTICS),
    "clock_statistics": np.zeros((2, BINS)),
    "reward_range": NO_REWARDS,
    "value_peaks": np.zeros(2),
    "adjusted": np.array(Adjusted()),
}


class Trainer:
    """Everything that learning adds to a network: Adam, running statistics, adjustments and counters.

    The same seed and the same games in the same order give bit-identical results, also across restarts.
    """

    def __init__(self, network: Network, settings: TrainingSettings, seed: int) -> None:
        self.network = network
        self.settings = settings
        self.seed = seed
        parts = network.parts if network.one_scale_a_part and settings.algorithm == "ppo" else None
        self.adam = Adam(network.parameters, settings.learning_rate, parts)
        self._passes = Passes(network, self.adam, settings)
        self.normalizer = StateNormalizer(network.state_dim, settings.normalize_states)
        self.values = ValueNormalizer(enabled=not network.bounded_value)
        self.clock = ClockBaseline()
        self.rewards = RewardRange()
        self.adjusted = Adjusted()
        self.updates = 0
        self.games = 0
        self.steps = 0
        self.surprises: list[float] = []
        """For each game of the last update, the mean absolute advantage in units of the usual size."""

    def update(
        self,
        episodes: Sequence[Episode],
        deadline: float = math.inf,
        interrupted: Callable[[], bool] | None = None,
        replayed: Sequence[ReplayedGame] = (),
    ) -> UpdateStats:
        """Learn from a batch of games. If it raises an error, the model is unchanged.

        NonFiniteError says what was NaN or infinite, EpisodeError what does not fit. After the first step, no gradient
        step begins once `time.monotonic()` has passed `deadline` or `interrupted()` is true. `replayed` games are
        learned from again: they change neither statistics nor counters.
        """
        batch = lay_out(episodes, self.network.state_dim, self.network.n_actions, replayed)
        return self.update_batch(batch, deadline, interrupted)

    def update_batch(
        self, batch: Batch, deadline: float = math.inf, interrupted: Callable[[], bool] | None = None
    ) -> UpdateStats:
        """As `update`, for games that `lay_out` has concatenated."""
        before = self.state_arrays(), self.counters()
        try:
            with quiet():
                return self._learn(batch, deadline, interrupted)
        except BaseException:
            self.restore(*before)
            raise

    def state_arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of all learned arrays. With `counters`, seed and settings, they are enough to continue bit for bit."""
        return {
            "parameters": self.network.parameters.copy(),
            "adam_m": self.adam.m.copy(),
            "adam_v": self.adam.v.copy(),
            "normalizer_count": self.normalizer.count.copy(),
            "normalizer_sums": self.normalizer.sums.copy(),
            "normalizer_squares": self.normalizer.squares.copy(),
            "value_statistics": self.values.sums.copy(),
            "clock_statistics": self.clock.sums.copy(),
            "reward_range": self.rewards.seen.copy(),
            "value_peaks": self.values.peaks.copy(),
            "adjusted": np.array(self.adjusted),
        }

    def counters(self) -> dict[str, int]:
        """Updates made, games and decisions learned from, and gradient steps."""
        return {"updates": self.updates, "games": self.games, "steps": self.steps, "adam_steps": self.adam.steps}

    def restore(self, arrays: Mapping[str, NDArray[Any]], counters: Mapping[str, int]) -> None:
        """Continue from the results of `state_arrays` and `counters`; raises ModelMismatch if they do not fit."""
        arrays = {**_FIRST, **arrays}
        known = arrays["adjusted"]
        if 0 < known.size < len(Adjusted()):  # models of earlier versions have fewer adjusted quantities
            arrays["adjusted"] = np.append(known, Adjusted()[known.size :])
        for name, mine in self.state_arrays().items():
            if name not in arrays or arrays[name].shape != mine.shape:
                found = f"of shape {arrays[name].shape}" if name in arrays else "missing"
                raise ModelMismatch(f"The array {name} is {found}; this model needs {mine.shape}.")
        if missing := self.counters().keys() - counters.keys():
            raise ModelMismatch(f"The counters {', '.join(sorted(missing))} are missing.")
        np.copyto(self.network.parameters, arrays["parameters"])
        self.adam.restore(arrays["adam_m"], arrays["adam_v"], counters["adam_steps"])
        self.normalizer.restore(arrays["normalizer_count"], arrays["normalizer_sums"], arrays["normalizer_squares"])
        self.rewards.seen = arrays["reward_range"].copy()
        self.values.prior, self.values.peaks = self._prior(), arrays["value_peaks"].copy()
        self.values.restore(arrays["value_statistics"])
        self.clock.sums = arrays["clock_statistics"].copy()
        self.adjusted = Adjusted(*arrays["adjusted"].tolist())
        self.updates, self.games, self.steps = counters["updates"], counters["games"], counters["steps"]

    def _learn(self, batch: Batch, deadline: float, interrupted: Callable[[], bool] | None) -> UpdateStats:
        settings = self.settings
        states = self._normalized(batch.states, batch.new_states)

        # The proximal policy: the policy before the update, to which the update stays close.
        prox, all_values = self._proximal(batch, states)
        require_finite("the network's output", prox, all_values)
        all_values = self._possible(batch, all_values)
        values = batch.of_decisions(all_values)

        log_ratios = self._log_ratios(batch, prox)
        require_finite("the recorded log_probs", log_ratios)
        targets = self._targets(batch, values, batch.bootstraps(all_values), log_ratios)
        require_finite("the value targets, which are computed from rewards and values", *targets)

        advantages = self._weighted_advantages(batch, targets, log_ratios)
        advantages = spare_improbable(advantages, prox, settings.probability_floor)
        samples = self._samples(batch, states, prox, advantages, self._value_targets(batch, values, targets.values))
        new = batch.new
        limit = kl_limit(settings.target_kl, len(batch.actions[new]), self.adjusted.agreement)
        before = self.network.parameters.copy()
        weights = self._set_step_size()
        meter = SignalMeter()
        passes = self._passes.run(
            samples,
            weights,
            limit,
            worthwhile_passes(settings.epochs, self.adjusted.signal),
            # Seeded by the number of updates, so no generator state has to be saved.
            np.random.default_rng([self.seed, self.updates]),
            meter,
            over=lambda: time.monotonic() > deadline or (interrupted is not None and interrupted()),
        )
        require_finite("the parameters", self.network.parameters)
        kl, shortened = self._passes.stay_near(samples, before, limit)

        stats = stats_of(
            batch,
            passes,
            explained_variance=explained_variance(values[new], targets.values[new]),
            effective_sample_size=effective_sample_size(log_ratios[new]),
            kl=kl,
            shortened=shortened,
            learning_rate=self.adam.learning_rate,
            entropy_weight=weights.entropy,
            outliers=in_games(self.normalizer.outliers, batch),
        )
        self.adjusted = adjust(
            self.adjusted,
            decisions=len(batch.actions[new]),
            steps=sum(map(len, passes)),
            ended_early=shortened < 1 or 0 < limit < passes[-1][-1].kl,
            agreement=passes[0][0].agreement,
            advantage=self.values.in_units(targets.advantages[new].mean()),
            signal=meter.signal_to_noise,
            two_players=batch.sides is not None,
        )
        self._count(batch)
        return stats

    def _set_step_size(self) -> Weights:
        """Set Adam's learning rate for this update, and return the weights of the objective.

        Adam's steps do not depend on the size of gradients. Those of nothing but noise must not be as long as others.
        """
        settings, rate = self.settings, self.adjusted.rate * self.values.loudness
        self.adam.learning_rate = rate * decayed(settings.learning_rate, settings.learning_rate_half_life, self.games)
        return Weights(settings.value_coefficient, settings.entropy_coefficient * rate)

    def _count(self, batch: Batch) -> None:
        self.updates += 1
        self.games += batch.games
        self.steps += len(batch.actions[batch.new])

    def _samples(self, batch: Batch, states: Floats, prox: Floats, advantages: Floats, targets: Floats) -> Samples:
        """The samples for the passes over the batch."""
        sequential = self.network.sequential
        return Samples(
            states=states if sequential else batch.of_decisions(states),
            actions=batch.actions,
            legal=batch.legal,
            old_log_probs=prox,
            advantages=advantages,
            targets=targets,
            starts=batch.state_starts if sequential else None,
            rows=batch.decisions if sequential else None,
        )

    def _weighted_advantages(self, batch: Batch, targets: Targets, log_ratios: Floats) -> Floats:
        """Advantages in units of their usual size; those of replayed games are multiplied by their weights."""
        scaled = self.values.scale_advantages(self._less_common_mode(batch, targets, log_ratios), batch.fresh)
        sums = np.add.reduceat(np.abs(scaled), batch.starts)
        self.surprises = (sums / np.diff(batch.starts, append=len(scaled))).tolist()
        return scaled if batch.weights is None else scaled * batch.weights

    def _less_common_mode(self, batch: Batch, targets: Targets, log_ratios: Floats) -> Floats:
        if self.settings.algorithm == "reinforce":  # its advantages are not weighted by ρ, so neither is their mean
            log_ratios = np.zeros_like(log_ratios)
        return less_common_mode(targets.advantages, log_ratios, self.settings.rho_max, batch.starts)

    def _normalized(self, states: Floats, new: slice = slice(None)) -> Floats:
        """The states as the network sees them, by statistics that include new ones; its function is preserved."""
        require_finite("the states", states)
        shift = self.normalizer.update(states[new])
        if shift is not None:
            self.network.absorb(*shift)
        return self.normalizer.apply(states)

    def _possible(self, batch: Batch, values: Floats) -> Floats:
        """Values clipped to what the rewards so far allow; values of two-player games are already bounded."""
        if not self.values.enabled or batch.sides is not None:
            return values
        gamma, ended = self.settings.gamma, len(batch.cut) < len(batch.starts)
        self.rewards.update(batch.rewards, ended)
        self.values.prior = self._prior()
        least, most = self.rewards.bounds(gamma)
        if not self.updates and not ended and gamma < 1 and np.ptp(batch.rewards) > 0:
            values = values + batch.rewards.mean() / (1 - gamma)  # the best estimate for games that seem to be endless
        return values.clip(least, most)

    def _prior(self) -> float:
        return float(np.clip(0.0, *self.rewards.bounds(self.settings.gamma)))

    def _value_targets(self, batch: Batch, values: Floats, targets: Floats) -> Floats:
        """Targets for the network's outputs, by statistics that include the new ones; the values are preserved.

        Those of replayed games are moved towards the value according to their weight, which scales the gradient
        accordingly.
        """
        if batch.weights is not None:
            targets = (values + batch.weights * (targets - values)).astype(np.float32)
        if not self.values.enabled:
            return targets
        # A model of the first version has learned from more decisions than these statistics have counted.
        learned = self.values.sums[0] < min(self.steps, EARLY)
        self.network.rescale_value(*self.values.update(targets[batch.new], learned))
        return self.values.normalize(targets)

    def _log_ratios(self, batch: Batch, prox: Floats) -> Floats:
        """log π_prox/μ of the actions taken; for those of trials, only the part that `trial_weight` leaves.

        V-trace multiplies each decision by π_prox/μ. For the action of a trial, this is small if the policy finds it
        improbable, however well it did. A weight of 1 sets the ratio to 1. This is biased: an action that is tried more
        often counts more, and values are those of a player who makes trials.
        """
        log_ratios = np.where(batch.recorded, prox - batch.log_probs, 0)
        if batch.trial is not None:
            log_ratios[batch.trial] *= 1 - self.settings.trial_weight
        return log_ratios

    def _proximal(self, batch: Batch, states: Floats) -> tuple[Floats, Floats]:
        """log π of the actions taken, and the values of all states: the recorded ones, if this policy played."""
        if batch.values is not None and not self.settings.exploration and not self.normalizer.enabled:
            return batch.log_probs, batch.values
        log_probs, outputs = self._evaluate(batch, states)
        return log_probs, self.values.expand(outputs)

    def _evaluate(self, batch: Batch, states: Floats) -> tuple[Floats, Floats]:
        """The same, computed by the network, in pieces that keep buffers small."""
        dtype = self.network.parameters.dtype
        log_probs, values = np.empty(len(batch.actions), dtype), np.empty(len(states), dtype)
        for rows, starts, decisions in batch.pieces(_PIECE, self.network.sequential):
            logits, values[rows] = self.network.evaluate(states[rows], starts)
            among = batch.decisions[decisions] - rows.start
            # A view if all states are decisions, or all except the last ones.
            logits = logits[: len(among)] if len(among) and among[-1] == len(among) - 1 else logits[among]
            legal = None if batch.legal is None else batch.legal[decisions]
            log_probs[decisions] = chosen(log_softmax(logits, legal), batch.actions[decisions])
        return log_probs, values

    def _targets(self, batch: Batch, values: Floats, bootstraps: Floats, log_ratios: Floats) -> Targets:
        if not self.values.enabled:
            return targets_of(self.settings, batch, values, bootstraps, log_ratios)
        return timed_targets(self.settings, self.clock, self.values.far, batch, values, bootstraps, log_ratios)
