"""The value of decisions: discounted returns, GAE and V-trace, as pure functions.

All take T decisions: one episode, or E concatenated episodes with `starts` (E,), the indices of their first decisions.
`bootstrap` is the value of the state after an episode's last decision, a number or (E,): 0 if the game was over.
Rewards, values, log-ratios and results have shape (T,). Computed in float64, returned as float32.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.networks.network import Floats, Integers

Float32s = NDArray[np.float32]
_Float64s = NDArray[np.float64]

_UNSURE = 4.0  # games
_SIDE_BY_SIDE = 30  # mean number of parallel episodes from which a NumPy step pays off


class Targets(NamedTuple):
    """Targets of the value head, and advantages of the actions; both (T,)."""

    values: Float32s
    advantages: Float32s


def discounted_returns(
    rewards: Floats, gamma: float, bootstrap: float | Floats = 0.0, starts: Integers | None = None
) -> Float32s:
    """Discounted returns: G_t = r_t + γ·G_{t+1}, where r_t is the reward after decision t."""
    ends = _ends(len(rewards), starts)
    terms = rewards.astype(np.float64)
    terms[ends] += gamma * np.asarray(bootstrap, np.float64)
    return _accumulate(terms, np.full(len(rewards), gamma), ends).astype(np.float32)


def gae(
    rewards: Floats,
    values: Floats,
    bootstrap: float | Floats,
    gamma: float,
    lam: float,
    starts: Integers | None = None,
) -> Float32s:
    """GAE (Schulman et al. 2016): A_t = δ_t + γλ·A_{t+1} with δ_t = r_t + γ·V_{t+1} − V_t."""
    ends = _ends(len(rewards), starts)
    V = values.astype(np.float64)
    delta = rewards + gamma * _following(V, bootstrap, ends) - V
    return _accumulate(delta, np.full(len(V), gamma * lam), ends).astype(np.float32)


def vtrace(
    rewards: Floats,
    values: Floats,
    bootstrap: float | Floats,
    log_ratios: Floats,
    gamma: float,
    lam: float,
    rho_max: float,
    starts: Integers | None = None,
) -> Targets:
    """V-trace (Espeholt et al. 2018) for `log_ratios` = log π/μ of actions that the policy μ took.

    v_t = V_t + Σ_{k≥t} γ^{k−t}·(Π_{i<k} c_i)·δ_k with δ_k = ρ_k·(r_k + γ·V_{k+1} − V_k), ρ = min(ρ̄, π/μ) and c =
    λ·min(c̄, π/μ). The advantage is ρ_t·(r_t + γ·(λ·v_{t+1} + (1 − λ)·V_{t+1}) − V_t). On-policy with ρ̄ ≥ 1 this is
    GAE.

    c̄ is 1 / (γλ), or ρ̄ if that is less: the highest cut with which no product of γ·c can grow. With a higher cut, a
    few growing products outweigh everything else; with a lower one, traces end early although the policy has hardly
    changed.
    """
    ends = _ends(len(rewards), starts)
    V = values.astype(np.float64)
    V_next = _following(V, bootstrap, ends)
    rho = _capped_exp(log_ratios, rho_max)
    c = lam * _capped_exp(log_ratios, min(rho_max, 1 / max(gamma * lam, 1e-9)))
    delta = rho * (rewards + gamma * V_next - V)
    vs = V + _accumulate(delta, gamma * c, ends)
    vs_next = _following(vs, bootstrap, ends)
    advantages = rho * (rewards + gamma * (lam * vs_next + (1 - lam) * V_next) - V)
    return Targets(vs.astype(np.float32), advantages.astype(np.float32))


def less_common_mode(advantages: Float32s, log_ratios: Floats, rho_max: float, starts: Integers) -> Float32s:
    """Advantages minus the mean advantage of the *other* games of the batch, which estimates the error of the values.

    A_t − ρ_t·k/(k + 4)·(ΣA / Σρ over the k other games), ρ = min(ρ̄, π/μ). The result of a game is not subtracted from
    its own advantages; with few other games, little is subtracted.
    """
    games = len(starts)
    rho = _capped_exp(log_ratios, rho_max)
    sums = np.add.reduceat(advantages.astype(np.float64), starts)
    weights = np.add.reduceat(rho, starts)
    others = (sums.sum() - sums) / np.maximum(weights.sum() - weights, 1e-9)
    common = others * (games - 1) / (games - 1 + _UNSURE)
    less: Float32s = (advantages - rho * np.repeat(common, np.diff(starts, append=len(rho)))).astype(np.float32)
    return less


def spare_improbable(advantages: Float32s, log_probs: Floats, floor: float) -> Float32s:
    """Advantages (T,), with 0 for negative ones of actions that are less probable than `floor`.

    Trials take an action however improbable it is, and most of them are lost. Each loss would lower its probability by
    another fifth, until no later success could raise it again.
    """
    if not floor:
        return advantages
    return np.where((advantages < 0) & (log_probs < np.log(floor)), np.float32(0), advantages)


def effective_sample_size(log_ratios: Floats) -> float:
    """(Σw)² / (T·Σw²) with w = π/μ (Kish 1965): the share of the batch that counts; 1 if it is on-policy."""
    w = np.exp(log_ratios.astype(np.float64) - log_ratios.max())  # the result does not depend on the scale of w
    return float(w.sum() ** 2 / (len(w) * np.dot(w, w)))


def explained_variance(values: Floats, targets: Floats) -> float:
    """1 − Var(target − value) / Var(target), both (T,): 1 for a perfect value head, 0 for a constant one."""
    spread = float(targets.var(dtype=np.float64))
    return 1 - float(np.subtract(targets, values, dtype=np.float64).var()) / spread if spread > 0 else 0.0


def _ends(n: int, starts: Integers | None) -> Integers:
    return np.array([n - 1]) if starts is None else np.append(starts[1:], n) - 1


def _following(values: _Float64s, bootstrap: float | Floats, ends: Integers) -> _Float64s:
    following = np.empty_like(values)
    following[:-1] = values[1:]
    following[ends] = bootstrap
    return following


def _capped_exp(log_ratios: Floats, cap: float) -> _Float64s:
    """min(cap, e^x), without overflow."""
    return np.exp(np.minimum(log_ratios.astype(np.float64), math.log(cap) if cap > 0 else -math.inf))


def _accumulate(terms: _Float64s, decays: _Float64s, ends: Integers) -> _Float64s:
    """x_t = term_t + decay_t·x_{t+1}, backwards in time, restarted at each end.

    Many episodes of similar length are processed in parallel. A few are processed one after the other, on lists: Python
    numbers are several times faster than reading and writing single array elements.
    """
    decays[ends] = 0
    lengths = np.diff(ends, prepend=-1)
    if len(terms) > _SIDE_BY_SIDE * lengths.max():
        return _accumulate_side_by_side(terms, decays, ends, lengths)
    x = 0.0
    sums = []
    for term, decay in zip(reversed(terms.tolist()), reversed(decays.tolist()), strict=True):
        x = term + decay * x
        sums.append(x)
    sums.reverse()
    return np.array(sums)


def _accumulate_side_by_side(terms: _Float64s, decays: _Float64s, ends: Integers, lengths: Integers) -> _Float64s:
    """The same, bit for bit: first the last decisions of all episodes, then the ones before them, and so on."""
    longest_first = np.argsort(-lengths, kind="stable")
    ends, lengths = ends[longest_first], lengths[longest_first]
    sums = np.empty_like(terms)
    x = np.zeros(len(ends))
    for age in range(lengths[0]):
        rows = ends[: np.searchsorted(-lengths, -age)] - age
        x = terms[rows] + decays[rows] * x[: len(rows)]
        sums[rows] = x
    return sums
