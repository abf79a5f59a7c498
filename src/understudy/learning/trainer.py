"""One update of the model from a batch of games, in the words of the papers."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ModelMismatch, NonFiniteError
from understudy.learning.batch import Batch, Samples, lay_out
from understudy.learning.losses import (
    chosen,
    log_softmax,
    policy_gradient,
    ppo_clip,
    softmax,
    through_softmax,
    value_loss,
)
from understudy.learning.normalizers import (
    BINS,
    EARLY,
    LIMIT,
    NO_REWARDS,
    STATISTICS,
    ClockBaseline,
    RewardRange,
    StateNormalizer,
    ValueNormalizer,
)
from understudy.learning.optimizers import Adam, clip_global_norm, decayed
from understudy.learning.returns import (
    Targets,
    discounted_returns,
    effective_sample_size,
    explained_variance,
    less_common_mode,
    spare_improbable,
    vtrace,
)
from understudy.learning.trust_region import (
    Adjusted,
    SignalMeter,
    adjust,
    cosine,
    kept_share,
    kl_divergence,
    kl_limit,
    worthwhile_passes,
)
from understudy.networks.network import Floats, Network
from understudy.settings import TrainingSettings

if TYPE_CHECKING:
    from understudy.experience.episode import Episode
    from understudy.experience.replay import ReplayedGame

_PIECE = 1024  # rows
_JUDGED = 1024  # rows by which the KL of an update is measured, if there are many more
_MOST_CUTS = 8  # times that an update is shortened
_TOO_FAR = 1.5  # times the limit: the KL of a minibatch that ends an update
# What models of the first version do not have, and how they began.
_FIRST = {
    "value_statistics": np.zeros(STATISTICS),
    "clock_statistics": np.zeros((2, BINS)),
    "reward_range": NO_REWARDS,
    "value_peaks": np.zeros(2),
    "adjusted": np.array(Adjusted()),
}
_NO_MASK = np.empty((0, 0), np.bool_)


class GameOutlier(NamedTuple):
    """A value far outside of the range of its feature, and which game of the batch had it."""

    feature: int
    game: int
    value: float


Found = tuple[float, ...]
"""Policy loss, value loss, entropy, KL and clip fraction."""


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
    """Share of the batch that is as good as fresh, 0 to 1; 1 when on-policy."""
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


class Trainer:
    """Owns what learning adds to a network: Adam, running statistics, adjustments and the counters.

    With the same seed and the same games in the same order, the result is the same bit for bit, restarts included.
    """

    def __init__(self, network: Network, settings: TrainingSettings, seed: int) -> None:
        self.network = network
        self.settings = settings
        self.seed = seed
        parts = network.parts if network.one_scale_a_part and settings.algorithm == "ppo" else None
        self.adam = Adam(network.parameters, settings.learning_rate, parts)
        self.normalizer = StateNormalizer(network.state_dim, settings.normalize_states)
        self.values = ValueNormalizer(enabled=not network.bounded_value)
        self.clock = ClockBaseline()
        self.rewards = RewardRange()
        self.adjusted = Adjusted()
        self.updates = 0
        self.games = 0
        self.steps = 0
        self.surprises: list[float] = []
        """Of each game of the last update the mean size of its advantages, in units of their usual size."""

    def update(
        self,
        episodes: Sequence[Episode],
        deadline: float = math.inf,
        interrupted: Callable[[], bool] | None = None,
        replayed: Sequence[ReplayedGame] = (),
    ) -> UpdateStats:
        """Learn from a batch of games. All or nothing: when it raises, the model is as it was before.

        NonFiniteError says what was NaN or infinite, EpisodeError what does not fit. No gradient step begins once
        `time.monotonic()` has passed `deadline`, or `interrupted` says so, but for the first. Games that are
        `replayed` are learned from again: they move neither statistics nor counters.
        """
        batch = lay_out(episodes, self.network.state_dim, self.network.n_actions, replayed)
        return self.update_batch(batch, deadline, interrupted)

    def update_batch(
        self, batch: Batch, deadline: float = math.inf, interrupted: Callable[[], bool] | None = None
    ) -> UpdateStats:
        """The same for games that are laid end to end already."""
        before = self.state_arrays(), self.counters()
        try:
            with _quiet():
                return self._learn(batch, deadline, interrupted)
        except BaseException:
            self.restore(*before)
            raise

    def state_arrays(self) -> dict[str, NDArray[Any]]:
        """Copies of all that is learned; with `counters`, the seed and the settings, enough to continue bit for bit."""
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
        """Go on from what `state_arrays` and `counters` gave; ModelMismatch, changing nothing, if they do not fit."""
        arrays = {**_FIRST, **arrays}
        known = arrays["adjusted"]
        if 0 < known.size < len(Adjusted()):  # models of earlier versions adjusted less
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
        self.adam.learning_rate = self.adjusted.rate * decayed(
            settings.learning_rate, settings.learning_rate_half_life, self.games
        )
        states = self._normalized(batch.states, batch.new_states)

        # The proximal policy: the one the update starts from, and stays near to.
        prox, all_values = self._proximal(batch, states)
        _require_finite("the network's output", prox, all_values)
        all_values = self._possible(batch, all_values)
        values = batch.of_decisions(all_values)

        log_ratios = self._log_ratios(batch, prox)
        _require_finite("the recorded log_probs", log_ratios)
        targets = self._timed_targets(batch, values, batch.bootstraps(all_values), log_ratios)
        _require_finite("the value targets, which rewards and values make", *targets)

        samples = Samples(
            states=states if self.network.sequential else batch.of_decisions(states),
            actions=batch.actions,
            legal=batch.legal,
            old_log_probs=prox,
            advantages=spare_improbable(
                self._weighted_advantages(batch, targets, log_ratios), prox, settings.probability_floor
            ),
            targets=self._value_targets(batch, values, targets.values),
            starts=batch.state_starts if self.network.sequential else None,
            rows=batch.decisions if self.network.sequential else None,
        )
        new = batch.new
        limit = kl_limit(settings.target_kl, len(batch.actions[new]), self.adjusted.agreement)
        before = self.network.parameters.copy()
        weights = Weights(settings.value_coefficient, settings.entropy_coefficient * self.adjusted.rate)
        meter = SignalMeter()
        passes = self._passes(samples, weights, limit, meter, deadline, interrupted)
        _require_finite("the parameters", self.network.parameters)
        kl, shortened = self._stay_near(samples, before, limit)

        stats = _stats(
            batch,
            passes,
            explained_variance=explained_variance(values[new], targets.values[new]),
            effective_sample_size=effective_sample_size(log_ratios[new]),
            kl=kl,
            shortened=shortened,
            learning_rate=self.adam.learning_rate,
            entropy_weight=weights.entropy,
            outliers=self._outliers(batch),
        )
        self.adjusted = adjust(
            self.adjusted,
            decisions=len(batch.actions[new]),
            steps=sum(map(len, passes)),
            ended_early=shortened < 1 or 0 < limit < passes[-1][-1].kl,
            agreement=passes[0][0].agreement,
            advantage=self.values.in_units(targets.advantages[new].mean()),
            signal=meter.signal_to_noise,
        )
        self.updates += 1
        self.games += batch.games
        self.steps += len(batch.actions[new])
        return stats

    def _weighted_advantages(self, batch: Batch, targets: Targets, log_ratios: Floats) -> Floats:
        """Advantages in units of their usual size; those of replayed games by how much they count."""
        scaled = self.values.scale_advantages(self._less_common_mode(batch, targets, log_ratios), batch.fresh)
        sums = np.add.reduceat(np.abs(scaled), batch.starts)
        self.surprises = (sums / np.diff(batch.starts, append=len(scaled))).tolist()
        return scaled if batch.weights is None else scaled * batch.weights

    def _less_common_mode(self, batch: Batch, targets: Targets, log_ratios: Floats) -> Floats:
        if self.settings.algorithm == "reinforce":  # its advantages are not weighted by ρ, so neither is their mean
            log_ratios = np.zeros_like(log_ratios)
        return less_common_mode(targets.advantages, log_ratios, self.settings.rho_max, batch.starts)

    def _normalized(self, states: Floats, new: slice = slice(None)) -> Floats:
        """The states as the network sees them, by statistics that follow the new ones; it stays the same function."""
        _require_finite("the states", states)
        shift = self.normalizer.update(states[new])
        if shift is not None:
            self.network.absorb(*shift)
        return self.normalizer.apply(states)

    def _possible(self, batch: Batch, values: Floats) -> Floats:
        """Values within what the rewards seen so far allow; those of a game of two players are bounded already."""
        if not self.values.enabled or batch.sides is not None:
            return values
        gamma, ended = self.settings.gamma, len(batch.cut) < len(batch.starts)
        self.rewards.update(batch.rewards, ended)
        self.values.prior = self._prior()
        least, most = self.rewards.bounds(gamma)
        if not self.updates and not ended and gamma < 1 and np.ptp(batch.rewards) > 0:
            values = values + batch.rewards.mean() / (1 - gamma)  # the best guess for games that seem to go on forever
        return values.clip(least, most)

    def _prior(self) -> float:
        return float(np.clip(0.0, *self.rewards.bounds(self.settings.gamma)))

    def _value_targets(self, batch: Batch, values: Floats, targets: Floats) -> Floats:
        """The targets as the network should say them, by statistics that follow them; values stay what they were.

        Those of replayed games lie only as far from the value as they count: at the value, the gradient is the same.
        """
        if batch.weights is not None:
            targets = (values + batch.weights * (targets - values)).astype(np.float32)
        if not self.values.enabled:
            return targets
        # A model of the first version has learned from more decisions than these statistics know.
        learned = self.values.sums[0] < min(self.steps, EARLY)
        self.network.rescale_value(*self.values.update(targets[batch.new], learned))
        return self.values.normalize(targets)

    def _stay_near(self, samples: Samples, before: Floats, limit: float) -> tuple[float, float]:
        """Undo as much of the update as it takes for the KL to be within the limit; the KL, and the share kept."""
        if not limit or self.settings.algorithm != "ppo":
            return 0.0, 1.0
        part, share = samples.thinned(_JUDGED), 1.0
        after = self.network.parameters.copy()
        for _ in range(_MOST_CUTS):
            kl = self._kl(part)
            if kl <= limit:
                break
            share *= kept_share(kl, limit)
            np.copyto(self.network.parameters, before + share * (after - before))
        else:  # no share of it is near enough
            np.copyto(self.network.parameters, before)
            return 0.0, 0.0
        return kl, share

    def _kl(self, samples: Samples) -> float:
        logits, _ = self.network.evaluate(samples.states, samples.starts)
        logits = logits if samples.rows is None else logits[samples.rows]
        return kl_divergence(chosen(log_softmax(logits, samples.legal), samples.actions) - samples.old_log_probs)

    def _outliers(self, batch: Batch) -> tuple[GameOutlier, ...]:
        games = np.searchsorted(batch.state_starts, [outlier.row for outlier in self.normalizer.outliers], "right") - 1
        return tuple(
            GameOutlier(outlier.feature, game, outlier.value)
            for outlier, game in zip(self.normalizer.outliers, games.tolist(), strict=True)
        )

    def _log_ratios(self, batch: Batch, prox: Floats) -> Floats:
        """log π_prox/μ of the actions taken; of those of trials only as much as `trial_weight` leaves.

        V-trace multiplies what a decision teaches by π_prox/μ. That is small for the action that a trial keeps to, if
        the policy finds it improbable, however well it did. A weight of 1 takes the ratio for 1. This is biased: an
        action counts for more the more often it is tried, and values are those of a player who makes trials.
        """
        log_ratios = np.where(batch.recorded, prox - batch.log_probs, 0)
        if batch.trial is not None:
            log_ratios[batch.trial] *= 1 - self.settings.trial_weight
        return log_ratios

    def _proximal(self, batch: Batch, states: Floats) -> tuple[Floats, Floats]:
        """log π of the actions taken, and the values of all states: as recorded, if it was this policy that acted."""
        if batch.values is not None and not self.settings.exploration and not self.normalizer.enabled:
            return batch.log_probs, batch.values
        log_probs, outputs = self._evaluate(batch, states)
        return log_probs, self.values.expand(outputs)

    def _evaluate(self, batch: Batch, states: Floats) -> tuple[Floats, Floats]:
        """The same by the network; in pieces, so that buffers stay small."""
        dtype = self.network.parameters.dtype
        log_probs, values = np.empty(len(batch.actions), dtype), np.empty(len(states), dtype)
        for rows, starts, decisions in batch.pieces(_PIECE, self.network.sequential):
            logits, values[rows] = self.network.evaluate(states[rows], starts)
            among = batch.decisions[decisions] - rows.start
            # A view where all are decisions, or the last ones are not.
            logits = logits[: len(among)] if len(among) and among[-1] == len(among) - 1 else logits[among]
            legal = None if batch.legal is None else batch.legal[decisions]
            log_probs[decisions] = chosen(log_softmax(logits, legal), batch.actions[decisions])
        return log_probs, values

    def _timed_targets(self, batch: Batch, values: Floats, bootstraps: Floats, log_ratios: Floats) -> Targets:
        """Targets for the value head, and advantages over what it and the number of the decision let expect."""
        if batch.numbers is None or not self.values.enabled:
            return self._targets(batch, values, bootstraps, log_ratios)
        due = self.clock.of(batch.numbers)
        # A cut game would have gone on as at its last decision: of later ones nothing may be known.
        after = np.zeros(len(bootstraps))
        after[batch.cut] = due[np.append(batch.starts[1:], len(values)) - 1][batch.cut]
        targets = self._targets(batch, values + due, bootstraps + after, log_ratios)
        limit = self.values.far + LIMIT * float(np.abs(due).max())  # one wild reward does not decide
        self.clock.update(batch.numbers[batch.new], (targets.values - values)[batch.new].clip(-limit, limit))
        return Targets((targets.values - due).astype(np.float32), targets.advantages)

    def _targets(self, batch: Batch, values: Floats, bootstraps: Floats, log_ratios: Floats) -> Targets:
        """PPO corrects for staleness here, once; its clip then limits only this update (Hilton et al. 2022)."""
        if batch.sides is None or batch.final_sides is None:
            return self._targets_of_one(batch, batch.rewards, values, bootstraps, log_ratios)
        # What one player gains the other loses: seen by the first player throughout, two players are one.
        sides = batch.sides
        seen = self._targets_of_one(
            batch, batch.rewards * sides, values * sides, bootstraps * batch.final_sides, log_ratios
        )
        return Targets(seen.values * sides, seen.advantages * sides)

    def _targets_of_one(
        self, batch: Batch, rewards: Floats, values: Floats, bootstraps: Floats, log_ratios: Floats
    ) -> Targets:
        settings, starts = self.settings, batch.starts
        if settings.algorithm == "ppo":
            gamma, lam, rho_max = settings.gamma, settings.gae_lambda, settings.rho_max
            return vtrace(rewards, values, bootstraps, log_ratios, gamma, lam, rho_max, starts=starts)
        returns = discounted_returns(rewards, settings.gamma, bootstraps, starts)
        return Targets(returns, returns - values.astype(np.float32))

    def _passes(
        self,
        samples: Samples,
        weights: Weights,
        limit: float,
        meter: SignalMeter,
        deadline: float,
        interrupted: Callable[[], bool] | None,
    ) -> list[list[_Step]]:
        """REINFORCE: one step on everything. PPO: epochs of minibatches, until the KL goes beyond the limit.

        `meter` sees the gradients of the first pass.
        """
        if self.settings.algorithm == "reinforce":
            return [[self._gradient_step(samples, weights, meter)]]
        # Seeded by the count of updates: no state of a generator has to be saved to continue.
        rng = np.random.default_rng([self.seed, self.updates])
        passes: list[list[_Step]] = []
        for number in range(worthwhile_passes(self.settings.epochs, self.adjusted.signal)):
            steps: list[_Step] = []
            passes.append(steps)
            for part in samples.minibatches(self.settings.minibatch, rng):
                steps.append(self._gradient_step(part, weights, None if number else meter))
                too_far = 0 < _TOO_FAR * limit < steps[-1].kl
                if too_far or time.monotonic() > deadline or (interrupted is not None and interrupted()):
                    return passes
            if 0 < limit < _mean_kl(steps):
                break
        return passes

    def _gradient_step(self, samples: Samples, weights: Weights, meter: SignalMeter | None) -> _Step:
        n = len(samples.actions)

        def objective(rows: slice, logits: Floats, values: Floats) -> tuple[Floats, Floats, Found]:
            if samples.rows is not None:  # what else the network has seen is not learned from
                taken = samples.rows
                d_taken, d_values_taken, found = self._objective(samples, logits[taken], values[taken], weights)
                d_logits, d_values = np.zeros_like(logits), np.zeros_like(values)
                d_logits[taken], d_values[taken] = d_taken, d_values_taken
                return d_logits, d_values, found
            if len(values) == n:
                return self._objective(samples, logits, values, weights)
            with _quiet():  # once more: other threads do not inherit it
                d_logits, d_values, found = self._objective(samples.part(rows), logits, values, weights)
            share = len(values) / n  # the objective is a mean over all rows
            d_logits *= share
            d_values *= share
            return d_logits, d_values, tuple(share * number for number in found)

        parts = self.network.differentiate(samples.states, samples.starts, objective)
        found = parts[0] if len(parts) == 1 else tuple(sum(numbers) for numbers in zip(*parts, strict=True))
        policy_loss, value, mean_entropy, kl, clip_fraction = found
        if meter is not None:
            meter.add(self.network.policy_part(self.network.gradients))
        grad_norm = clip_global_norm(self.network.gradients, self.settings.max_grad_norm)
        for what, number in (("the policy loss", policy_loss), ("the value loss", value), ("the gradient", grad_norm)):
            if not math.isfinite(number):
                raise _non_finite(what)
        mine, last = (self.network.policy_part(vector) for vector in (self.network.gradients, self.adam.m))
        agreement = cosine(mine, last)
        self.adam.step(self.network.gradients)
        loss = policy_loss + weights.value * value - weights.entropy * mean_entropy
        return _Step(loss, policy_loss, value, mean_entropy, kl, clip_fraction, grad_norm, agreement)

    def _objective(
        self, samples: Samples, logits: Floats, values: Floats, weights: Weights
    ) -> tuple[Floats, Floats, Found]:
        """Derivatives by logits and values; policy loss, value loss, entropy, KL and clip fraction."""
        settings = self.settings
        policy = softmax(logits, samples.legal)
        taken, advantages = samples.actions, samples.advantages
        if settings.algorithm == "ppo":
            objective = ppo_clip(policy.log_probs, taken, advantages, samples.old_log_probs, settings.clip)
        else:
            objective = policy_gradient(policy.log_probs, taken, advantages)
        mean_entropy, d_logits = through_softmax(policy, taken, objective.d_log_probs, weights.entropy)
        value, d_values = value_loss(values, samples.targets)
        d_values *= weights.value
        return d_logits, d_values, (objective.loss, value, mean_entropy, objective.kl, objective.clip_fraction)


class Weights(NamedTuple):
    """Of the value loss and of the entropy in the objective."""

    value: float
    entropy: float


class _Step(NamedTuple):
    loss: float
    policy_loss: float
    value_loss: float
    entropy: float
    kl: float
    clip_fraction: float
    grad_norm: float
    agreement: float
    """The cosine with Adam's mean of earlier policy gradients."""


def _stats(batch: Batch, passes: list[list[_Step]], **measured: Any) -> UpdateStats:
    """What an update did, from its gradient steps and what was measured besides."""
    mean = _Step(*np.mean([step for steps in passes for step in steps], axis=0).tolist())
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


def _quiet() -> np.errstate:
    """Overflow is not worth a warning here: every result is checked, and a bad one is refused."""
    return np.errstate(over="ignore", invalid="ignore", divide="ignore")


def _mean_kl(steps: Sequence[_Step]) -> float:
    return sum(step.kl for step in steps) / len(steps)


def _require_finite(what: str, *arrays: Floats) -> None:
    if not all(np.isfinite(array).all() for array in arrays):
        raise _non_finite(what)


def _non_finite(what: str) -> NonFiniteError:
    return NonFiniteError(
        f"NaN or infinity in {what}: the update is undone, the model is as it was. "
        "Look at the states and rewards of these games, or lower training.learning_rate."
    )
