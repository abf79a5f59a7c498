"""Progress: is the bot getting better? A light and a sentence, from the most informative results.

The bot's own games are the most informative: its latest games against those before, by the win rate, or by the return
if the game has no winner. Without any, evaluation games are used: the version evaluated last against the one evaluated
first. Self-play without an evaluator has only the mean return, which is informative if the game has one player.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pvariance
from typing import Literal

from understudy.ledger.history import EVALUATION
from understudy.models.intervals import Z95
from understudy.watch.history import RunHistory, Series
from understudy.watch.win_rates import Rates

_FEW_GAMES = 20
_FEW_UPDATES = 20
_MEAN_OF = 100  # number of games in a mean return
_FEW_MEANS = 12
Verdict = Literal["better", "no change shown", "worse", "unknown"]
_WORDS: dict[Verdict, str] = {
    "better": "Getting better",
    "no change shown": "No change shown",
    "worse": "Getting worse",
    "unknown": "Not known yet",
}
_LIGHTS: dict[Verdict, str] = {"better": "green", "no change shown": "", "worse": "red", "unknown": ""}


@dataclass(frozen=True, slots=True)
class Improvement:
    """The answer: a verdict at the 95 % level, and its basis in one sentence."""

    verdict: Verdict
    sentence: str

    @property
    def word(self) -> str:
        """The answer in one or two words, for a heading."""
        return _WORDS[self.verdict]

    @property
    def light(self) -> str:
        """Green: better. Red: worse. Off: the difference may be chance, or there is too little to compare."""
        return _LIGHTS[self.verdict]


def judge_progress(history: RunHistory) -> Improvement:
    """Judge the results of a run."""
    if history.win_rate.games:
        return of_games(history.win_rate)
    evaluated = history.others.get(EVALUATION)
    if evaluated is not None and evaluated.by_version.games:
        return _of_versions(evaluated.by_version)
    if history.returns:
        return of_returns(history.returns)
    returns = history.metrics.get("mean_return")
    if returns is not None and returns.x:
        return _of_one_player(returns) if history.players == 1 else _of_mean_return(returns)
    return Improvement("unknown", "No game with a winner yet.")


def of_games(rates: Rates) -> Improvement:
    """Compare the last games with those before."""
    last, n = rates.value[-1], rates.games[-1]
    now = f"{last:.0%} of the last {n} games won"
    start = rates.played[-1] - n  # the two spans share no game
    before = next((i for i in range(len(rates.x) - 1, -1, -1) if rates.played[i] <= start), None)
    if before is None or n < _FEW_GAMES:
        return Improvement("unknown", f"{now}; too few games to compare.")
    then, m = rates.value[before], rates.games[before]
    verdict = _compared((last, n), (then, m))
    return Improvement(verdict, f"{now}, {then:.0%} of the {m} before{_END[verdict]}")


# The verdict is shown before the sentence; only "no change shown" needs an explanation.
_END: dict[Verdict, str] = {"better": ".", "worse": ".", "no change shown": "; the difference may be chance."}


def _of_versions(rates: Rates) -> Improvement:
    """Compare the version that was evaluated last with the first."""
    now = f"Version {rates.x[-1]} won {rates.value[-1]:.0%} of {rates.games[-1]} evaluation games"
    if len(rates.x) < 2:
        return Improvement("unknown", f"{now}; there is no other version to compare with yet.")
    verdict = _compared((rates.value[-1], rates.games[-1]), (rates.value[0], rates.games[0]))
    return Improvement(verdict, f"{now}, version {rates.x[0]} won {rates.value[0]:.0%}{_END[verdict]}")


def _compared(now: tuple[float, int], before: tuple[float, int]) -> Verdict:
    """Compare two win rates (rate, games) by the standard test of two proportions."""
    (last, n), (then, m) = now, before
    pooled = (last * n + then * m) / (n + m)
    spread = math.sqrt(max(pooled * (1 - pooled), 1e-9) * (1 / n + 1 / m))
    z = (last - then) / spread
    return "better" if z > Z95 else "worse" if z < -Z95 else "no change shown"


def of_returns(returns: Sequence[float]) -> Improvement:
    """Compare the latest returns with those before."""
    n = len(returns) // 2
    last = returns[-n:] if n else returns
    now = f"The last {len(last)} games have a mean return of {fmean(last):.4g}"
    if n < _FEW_GAMES:
        return Improvement("unknown", f"{now}; too few games to compare.")
    before = returns[-2 * n : -n]
    verdict = _compared_means((last, n), (before, n))
    return Improvement(verdict, f"{now}, the {n} before of {fmean(before):.4g}{_END[verdict]}")


def _of_one_player(returns: Series) -> Improvement:
    """Compare the mean return of the first hundred games with the last third of the run.

    Each value is a mean over the last hundred games, so values a hundred games apart are independent. Whether the first
    value fits the later ones is a question of prediction: it is compared with their spread.
    """
    means = [returns.value[0]]
    counted = returns.games[0]
    for games, value in zip(returns.games, returns.value, strict=True):
        if games - counted >= _MEAN_OF:
            means.append(value)
            counted = games
    if len(means) < _FEW_MEANS:
        return Improvement("unknown", f"The mean return is {returns.value[-1]:.4g}; too few games to compare.")
    start, last = means[0], means[-(len(means) // 3) :]
    now, freedom = fmean(last), len(last) - 1
    quantile = Z95 + (Z95**3 + Z95) / (4 * freedom) + (5 * Z95**5 + 16 * Z95**3 + 3 * Z95) / (96 * freedom**2)
    spread = math.sqrt(pvariance(last) * len(last) / freedom * (1 + 1 / len(last)))
    beyond = abs(now - start) > quantile * spread  # Student's t, by the first terms of its series
    verdict: Verdict = "no change shown" if not beyond else "better" if now > start else "worse"
    text = f"The mean return went from {start:.4g} at the start to {now:.4g} in the last third"
    return Improvement(verdict, f"{text}{_END[verdict]}")


def _compared_means(now: tuple[Sequence[float], int], before: tuple[Sequence[float], int]) -> Verdict:
    """Compare two means by Welch's test, each with its number of independent values."""
    difference = fmean(now[0]) - fmean(before[0])
    spread = math.sqrt(sum(pvariance(values) / (n - 1) for values, n in (now, before)))
    if abs(difference) <= Z95 * spread or difference == 0:
        return "no change shown"
    return "better" if difference > 0 else "worse"


def _of_mean_return(returns: Series) -> Improvement:
    """The mean return of two players says nothing about strength, so there is no verdict."""
    text = f"The mean return is {returns.value[-1]:.4g}"
    if len(returns.x) >= _FEW_UPDATES:
        part = len(returns.x) // 4
        first, last = sum(returns.value[:part]) / part, sum(returns.value[-part:]) / part
        text = f"The mean return went from {first:.4g} in the first quarter to {last:.4g} in the last"
    return Improvement("unknown", f"{text}. Evaluation games would show whether the bot gets better.")
