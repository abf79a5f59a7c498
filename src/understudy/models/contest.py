"""The contest between the champion and the learner's line: the effect of each comparison, and the decision.

Pure values and functions; `gate.py` stores them and acts on the verdict.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from understudy.models.evidence import Budget, SequentialTest

Mode = Literal["off", "guard", "strict"]
Stage = Literal["line", "champion"]
"""Who plays most games. The other one plays a share of them: the champion as control, the line as challenger."""
Verdict = Literal["harm", "promote", "drop"]

_LOOSE = 4.5  # multiple of the error level at which a challenger is dropped, a cheap mistake
_TIGHT = 0.2  # share of the error level at which the line becomes champion, which is not urgent
_SUSPICION = 1.0  # evidence of harm from which on the control plays every second game
_LEAST_CAPITAL = 0.02  # share of its stake: a challenger whose test has lost more capital than that is not better
_MOST_COMPARISONS = 300  # comparisons after which an undecided challenger is replaced by a newer one
_PATIENCE = 25  # comparisons after which a challenger is judged by the growth of its evidence; then twice as many
_ON_COURSE = 4  # multiple of these comparisons within which the decision must be expected
_SIMULATED = 0.1  # the share of each error level for simulated games; live games have the rest
_LIVE_SAYS = 5  # live comparisons from which on their mean can contradict simulated games


@dataclass(frozen=True, slots=True)
class SimulatedEvidence:
    """The two tests of a contest, on games that an evaluator played. Live games are never mixed with them."""

    harm: SequentialTest = field(default_factory=SequentialTest.fixed)
    worth: SequentialTest = field(default_factory=SequentialTest.fixed)
    total: float = 0.0

    @property
    def seen(self) -> int:
        """The number of comparisons so far."""
        return self.worth.seen

    @property
    def mean(self) -> float:
        """The mean of the comparisons so far."""
        return self.total / self.seen if self.seen else 0.0

    def after(self, comparison: float) -> SimulatedEvidence:
        """The evidence after one more comparison (line or challenger minus champion, in the same game)."""
        return SimulatedEvidence(self.harm.after(-comparison), self.worth.after(comparison), self.total + comparison)


@dataclass(frozen=True, slots=True)
class Contest:
    """The comparisons of one champion with one line or challenger.

    `harm` tests "the line is not worse". `worth` tests "the challenger is not better" (strict), or "the line is worse
    by more than the margin" (guard).
    """

    mode: Mode
    stage: Stage
    harm: SequentialTest
    worth: SequentialTest
    budget: Budget = field(default_factory=Budget)
    stake: float = 1.0
    total: float = 0.0
    harms: int = 0
    """How often the line was taken off since the last promotion."""
    simulated: SimulatedEvidence = field(default_factory=SimulatedEvidence)

    @property
    def seen(self) -> int:
        """The number of comparisons so far."""
        return self.worth.seen

    @property
    def mean(self) -> float:
        """The mean of the comparisons so far: positive if the line did better."""
        return self.total / self.seen if self.seen else 0.0

    @property
    def suspected(self) -> bool:
        """Whether there is some evidence of harm, but not enough, or the line was taken off before."""
        return self.harm.capital >= _SUSPICION or self.harms > 0

    def after(self, comparison: float) -> Contest:
        """The contest after one more comparison (line or challenger minus champion)."""
        return dataclasses.replace(
            self,
            harm=self.harm.after(-comparison),
            worth=self.worth.after(comparison),
            total=self.total + comparison,
        )

    def after_simulated(self, comparison: float) -> Contest:
        """The contest after one more comparison in simulated games."""
        return dataclasses.replace(self, simulated=self.simulated.after(comparison))

    @property
    def least_mean(self) -> float:
        """The mean that the comparisons must reach, in addition to the evidence.

        Not being shown to be worse is not enough to replace a champion: the line must also have done at least as well.
        A line that returns after harm replaces nobody, so half of the margin below is enough.
        """
        return 0.0 if self.stage == "line" else self.worth.margin / 2

    def levels(self, error: float) -> tuple[float, float]:
        """The error levels of harm and of promotion. Harm is tested at the looser level.

        A line that returns after harm is not promoted, and is tested further: a loose level is enough the first time.
        Each time it is taken off again, it needs twice the evidence. The error level bounds how often a good line is
        ever taken off; a line that was taken off and is watched after its return is tested at the loose level.
        """
        if self.stage == "line":
            return (_LOOSE if self.harms else 1.0) * error, _TIGHT * error
        return _LOOSE * error, error if self.mode == "strict" else _LOOSE * error / 2 ** max(self.harms - 1, 0)

    def live_levels(self, error: float) -> tuple[float, float]:
        """The share of the levels for live games."""
        for_harm, for_promotion = self.levels(error)
        return (1 - _SIMULATED) * for_harm, (1 - _SIMULATED) * for_promotion

    def simulated_levels(self, error: float) -> tuple[float, float]:
        """The share of the levels for simulated games."""
        for_harm, for_promotion = self.levels(error)
        return _SIMULATED * for_harm, _SIMULATED * for_promotion

    def verdict(self, error: float, *, newer: bool = True) -> Verdict | None:
        """The decision that the evidence allows, or None. `newer`: a newer candidate is ready to replace it.

        Live and simulated games can decide separately, each with its share of the error level. If they disagree, live
        games count: a winner in a simulator may lose on the ladder.
        """
        for_harm, for_promotion = self.live_levels(error)
        if self.harm.refutes(for_harm):
            return "harm"
        if self.worth.refutes(for_promotion) and self.mean >= self.least_mean:
            return "promote"
        if (simulated := self._simulated_verdict(error)) is not None:
            return simulated
        hopeless = self.worth.capital < _LEAST_CAPITAL * self.stake
        if self.stage == "champion" and (hopeless or (newer and self._slow(error))):
            return "drop"
        return None

    def _slow(self, error: float) -> bool:
        """Whether its evidence grows so slowly that a newer candidate, which has learned more, should get the games.

        The decision must be expected within four times the patience, which doubles with each candidate. So if no
        candidate is much better, one of them is eventually tested to the end.
        """
        patience = _PATIENCE * 2 ** (self.budget.candidates - 1)
        if self.seen >= _MOST_COMPARISONS:
            return True
        if self.mode != "strict" or self.seen < patience:
            return False
        return bool(self.expected(error) > _ON_COURSE * patience)

    def expected(self, error: float) -> float:
        """How many comparisons a challenger needs in total, live or simulated, if its evidence keeps growing."""
        live = comparisons_needed(self.worth, self.stake, self.live_levels(error)[1])
        stake = _simulated_stake(self.budget) if self.mode == "strict" else 1.0
        return min(live, comparisons_needed(self.simulated.worth, stake, self.simulated_levels(error)[1]))

    def _simulated_verdict(self, error: float) -> Verdict | None:
        for_harm, for_promotion = self.simulated_levels(error)
        found = self.simulated
        if found.harm.refutes(for_harm):
            return "harm"
        objection = self.harm.capital >= _SUSPICION and self.seen > 0
        objection |= self.seen >= _LIVE_SAYS and self.mean < self.least_mean
        if found.worth.refutes(for_promotion) and found.mean >= self.least_mean and not objection:
            return "promote"
        return None

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self)


def comparisons_needed(test: SequentialTest, stake: float, error: float) -> float:
    """The total number of comparisons for a test with this initial stake, if its capital keeps growing at this rate."""
    growth = math.log(max(test.capital / stake, 1e-9))
    return test.seen * -math.log(error * stake) / growth if growth > 0 else math.inf


def contest_from(values: Mapping[str, Any]) -> Contest:
    """The contest from plain values."""
    made = dict(values)
    made.pop("squares", None)  # of older versions
    for name in ("harm", "worth"):
        made[name] = _test_from(made[name])
    made["budget"] = Budget(**made["budget"])
    if (simulated := made.pop("simulated", None)) is not None:
        harm, worth = _test_from(simulated["harm"]), _test_from(simulated["worth"])
        made["simulated"] = SimulatedEvidence(harm, worth, simulated["total"])
    return Contest(**made)


def _test_from(values: Mapping[str, Any]) -> SequentialTest:
    return SequentialTest(**{**values, "accounts": tuple(values["accounts"])})


def line_on_stage(margin: float, before: Contest | None = None, harms: int = 0) -> Contest:
    """Guard: the line plays, the champion is its control. The tests of harm continue from champion to champion."""
    moving = SequentialTest.moving()
    harm = SequentialTest.fixed() if harms else moving
    simulated_harm = moving
    if before is not None:
        harm, simulated_harm = before.harm, before.simulated.harm
    worth = SequentialTest.moving(margin=-margin)
    return Contest("guard", "line", harm, worth, harms=harms, simulated=SimulatedEvidence(simulated_harm, worth))


def challenger(mode: Mode, margin: float, budget: Budget | None = None, harms: int = 0) -> Contest:
    """The champion plays, and a challenger must be shown to be better (strict) or not worse (guard, after harm)."""
    budget = budget or Budget()
    strict = mode == "strict"
    stake = budget.stake if strict else 1.0
    worth = SequentialTest.fixed(stake=stake, margin=0.0 if strict else -margin)
    budget = budget.began() if strict else budget
    part = _simulated_stake(budget) if strict else 1.0
    simulated = SimulatedEvidence(worth=SequentialTest.fixed(stake=part, margin=0.0 if strict else -margin))
    return Contest(mode, "champion", SequentialTest.fixed(), worth, budget, stake, harms=harms, simulated=simulated)


def _simulated_stake(budget: Budget) -> float:
    """Simulated games divide their level among all candidates: 1/2, 1/6, 1/12 … of it."""
    return 1 / (budget.candidates * (budget.candidates + 1))


def block_size(share: float) -> int:
    """The size of a block in which the side with the smaller share plays exactly one game."""
    return max(round(1.0 / share), 2)


def place_in_block(size: int, chance: random.Random) -> int:
    """The position in a block for the smaller share, uniformly drawn, so that no side benefits from the order."""
    return chance.randrange(size)
