"""The gate in one sentence: which version is on stage, since when, and how it did against the other version."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from understudy.models.evidence import interval


@dataclass(frozen=True, slots=True)
class Comparisons:
    """The evidence on two versions: the mean difference with its interval, from -1 to 1."""

    count: int
    mean: float
    low: float
    high: float
    simulated: bool
    """Whether both played the same simulated games; live games are only against the same opponents."""
    results: bool
    """Whether the games have results. Otherwise rewards were compared, and no game was won."""
    ties: bool

    @classmethod
    def of(
        cls, differences: Sequence[float], error: float, *, simulated: bool = False, results: bool = True
    ) -> Self | None:
        """The evidence in these differences; None if there are none."""
        if not differences:
            return None
        mean, (low, high) = statistics.fmean(differences), interval(differences, error)
        ties = any(abs(value) < 1 for value in differences)
        return cls(len(differences), mean, low, high, simulated, results, ties)

    def told(self, who: str, other: str, *, past: bool = False) -> str:
        """In words: the share of the games in which the first did better; without results, by the sums of rewards."""
        if self.count == 1:
            return f"{who} and {other} were compared once, which says little"
        games = "the same {} games" if self.simulated else "{} comparisons against the same opponents"
        games = games.format(self.count)
        verbs = ("beats", "beat") if self.results else ("earns more than", "earned more than")
        mean, low, high = (50 * (1 + value) for value in (self.mean, self.low, self.high))
        return f"{who} {verbs[past]} {other} in {mean:.0f} % of {games}, {low:.0f}-{high:.0f} %"


@dataclass(frozen=True, slots=True)
class Proof:
    """The evidence of a champion against its predecessor."""

    beaten: int
    alone: bool
    """Whether it played all these games; otherwise earlier versions of the line played some."""
    found: Comparisons


def gate_sentence(
    *,
    champion: int,
    since: float,
    on_stage: int,
    candidate: int | None,
    found: Sequence[Comparisons],
    seen: int,
    proof: Proof | None,
    waiting: int = 0,
) -> str:
    """Which version is on stage, and on what evidence.

    `found` is the evidence of the present comparison; `seen` counts its live comparisons, including other machines'.
    `waiting` is the number of games that the line must learn from before the next candidate.
    """
    shown = list(found)
    if on_stage == champion:
        name, first = f"v{candidate}", f"v{champion} is on stage since {_clock(since)}"
    else:
        name = "the line"
        first = f"v{on_stage}, the newest version, is on stage; the champion is v{champion} since {_clock(since)}"
    if proof is not None and (on_stage == champion or not found):
        who = "it" if proof.alone else f"the line up to v{champion}"
        first += f"; {proof.found.told(who, f'v{proof.beaten}', past=True)}"
        shown.append(proof.found)
    note = " Equal results count half." if any(part.ties and part.count > 1 for part in shown) else ""
    if candidate is None or candidate == champion:
        games = "1 more game" if waiting == 1 else f"{waiting} more games"
        then = f" The next candidate comes when the line has learned from {games}." if waiting else ""
        return f"{first}.{note}{then}" if proof is not None or then else f"{first}. Nothing is compared with it now."
    if not found:
        sofar = f"{seen} comparisons on other machines" if seen else "no comparison is complete yet"
        return f"{first}.{note} {_capital(name)} is compared with the champion; {sofar}."
    told = "; ".join(part.told(name if part is found[0] else "it", "the champion") for part in found)
    return f"{first}. {_capital(told)}.{note}"


def _capital(text: str) -> str:
    return text if text.startswith("v") else f"{text[0].upper()}{text[1:]}"


def _clock(at: float) -> str:
    """The time of day, with the date unless it is today."""
    then = time.localtime(at)
    return time.strftime("%H:%M" if time.localtime()[:3] == then[:3] else "%Y-%m-%d %H:%M", then)
