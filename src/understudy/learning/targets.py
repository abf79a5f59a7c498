"""Value targets and advantages of a batch, for games with one and with two players."""

from __future__ import annotations

import numpy as np

from understudy.learning.batch import Batch
from understudy.learning.normalizers import LIMIT, ClockBaseline
from understudy.learning.returns import Targets, discounted_returns, vtrace
from understudy.networks.network import Floats
from understudy.settings import TrainingSettings


def timed_targets(
    settings: TrainingSettings,
    clock: ClockBaseline,
    far: float,
    batch: Batch,
    values: Floats,
    bootstraps: Floats,
    log_ratios: Floats,
) -> Targets:
    """As `targets_of`, with the mean return by decision number (`clock`) added to the values (T,).

    It is subtracted from the value targets again, so the value head need not learn it.
    """
    if batch.numbers is None:
        return targets_of(settings, batch, values, bootstraps, log_ratios)
    due = clock.of(batch.numbers)
    # A game that was cut off counts as if it continued from its last decision, because nothing is known about later
    # ones.
    after = np.zeros(len(bootstraps))
    after[batch.cut] = due[np.append(batch.starts[1:], len(values)) - 1][batch.cut]
    targets = targets_of(settings, batch, values + due, bootstraps + after, log_ratios)
    limit = far + LIMIT * float(np.abs(due).max())  # one extreme reward must not decide
    clock.update(batch.numbers[batch.new], (targets.values - values)[batch.new].clip(-limit, limit))
    return Targets((targets.values - due).astype(np.float32), targets.advantages)


def targets_of(
    settings: TrainingSettings, batch: Batch, values: Floats, bootstraps: Floats, log_ratios: Floats
) -> Targets:
    """Value targets and advantages (T,): by V-trace for PPO, by discounted returns for REINFORCE.

    `values` and `log_ratios` have shape (T,), `bootstraps` (E,). PPO corrects for staleness here only; its clip then
    limits this update (Hilton et al. 2022).
    """
    if batch.sides is None or batch.final_sides is None:
        return _of_one_player(settings, batch, batch.rewards, values, bootstraps, log_ratios)
    # One player's gain is the other's loss, so all values are taken from the first player's view.
    sides = batch.sides
    seen = _of_one_player(
        settings, batch, batch.rewards * sides, values * sides, bootstraps * batch.final_sides, log_ratios
    )
    return Targets(seen.values * sides, seen.advantages * sides)


def _of_one_player(
    settings: TrainingSettings, batch: Batch, rewards: Floats, values: Floats, bootstraps: Floats, log_ratios: Floats
) -> Targets:
    starts = batch.starts
    if settings.algorithm == "ppo":
        gamma, lam, rho_max = settings.gamma, settings.gae_lambda, settings.rho_max
        return vtrace(rewards, values, bootstraps, log_ratios, gamma, lam, rho_max, starts=starts)
    returns = discounted_returns(rewards, settings.gamma, bootstraps, starts)
    return Targets(returns, returns - values.astype(np.float32))
