"""Simulates the gate's statistics: how often it is wrong, how soon it is right, and what pairing by opponent saves.

    python benchmarks/gate.py            # everything, 1,000 runs, about four minutes
    python benchmarks/gate.py --runs 200 # quicker, less exact

The rules are those of understudy/models/contest.py; only the games are simulated. Exits with 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from understudy.models.contest import challenger, line_on_stage
from understudy.models.evidence import SequentialTest

ERROR = 0.05
MARGIN = 0.1
NEVER = 10**9


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure and its target."""

    what: str
    value: float
    target: float | None = None
    at_most: bool = True

    @property
    def reached(self) -> bool:
        """Whether the target is met."""
        if self.target is None:
            return True
        return self.value <= self.target if self.at_most else self.value >= self.target


def won(chance: random.Random, probability: float) -> float:
    """A game: 1 or 0."""
    return float(chance.random() < probability)


def pairs(chance: random.Random, champion: float, candidate: float) -> Iterator[float]:
    """Comparisons of independent games, with these probabilities to win."""
    while True:
        yield won(chance, candidate) - won(chance, champion)


def head_to_head(chance: random.Random, candidate: float) -> Iterator[float]:
    """Comparisons of games that the two play against each other."""
    while True:
        yield 2 * won(chance, candidate) - 1


def blocks(chance: random.Random, champion: float, line: float, size: int) -> Iterator[float]:
    """Comparisons of blocks with one game of the champion and the others of the line."""
    while True:
        yield sum(won(chance, line) for _ in range(size - 1)) / (size - 1) - won(chance, champion)


def strict_run(comparisons: Iterator[float], most: int) -> int:
    """How many comparisons pass until a candidate is promoted; NEVER if none is. Another follows a dropped one."""
    contest = challenger("strict", MARGIN)
    for number in range(1, most + 1):
        contest = contest.after(next(comparisons))
        verdict = contest.verdict(ERROR)
        if verdict == "promote":
            return number
        if verdict is not None:
            contest = challenger("strict", MARGIN, contest.budget.ended(contest.worth.capital))
    return NEVER


def guard_run(comparisons: Iterator[float], most: int) -> int:
    """How many comparisons pass until the line is taken off; NEVER if it stays. It may become champion on the way."""
    contest = line_on_stage(MARGIN)
    for number in range(1, most + 1):
        contest = contest.after(next(comparisons))
        verdict = contest.verdict(ERROR)
        if verdict == "harm":
            return number
        if verdict == "promote":
            contest = line_on_stage(MARGIN, contest)
    return NEVER


def simulated_run(chance: random.Random, mode: str, rate: float, most: int) -> int:
    """The same with a live block and a simulated game in turn, of equal models; NEVER if nothing wrong is decided."""
    live, simulated = blocks(chance, rate, rate, 5), pairs(chance, rate, rate)
    contest = line_on_stage(MARGIN) if mode == "guard" else challenger("strict", MARGIN)
    for number in range(1, most + 1):
        contest = contest.after(next(live)) if number % 2 else contest.after_simulated(next(simulated))
        verdict = contest.verdict(ERROR)
        if verdict == ("harm" if mode == "guard" else "promote"):
            return number
        if verdict == "promote":
            contest = line_on_stage(MARGIN, contest)
        elif verdict is not None:
            contest = challenger("strict", MARGIN, contest.budget.ended(contest.worth.capital))
    return NEVER


def exact_median(rate: float) -> int:
    """In how many games against the champion a candidate that wins this share is recognised; the median, exactly.

    Follows the probabilities of all numbers of wins with which nothing is decided yet.
    """
    contests, open_cases, promoted = {0: challenger("strict", MARGIN)}, {0: 1.0}, 0.0
    number = 0
    while promoted < 0.5:
        number += 1
        contests = {won: contests[max(won - 1, 0)].after(1.0 if won else -1.0) for won in range(number + 1)}
        reached = {won: open_cases.get(won - 1, 0.0) * rate + open_cases.get(won, 0.0) * (1 - rate) for won in contests}
        verdicts = {won: contest.verdict(ERROR, newer=False) for won, contest in contests.items()}
        promoted += sum(reached[won] for won, verdict in verdicts.items() if verdict == "promote")
        open_cases = {won: reached[won] for won, verdict in verdicts.items() if verdict is None}
    return number


def ladder(chance: random.Random, lost: bool) -> tuple[list[float], list[float]]:
    """Sixty nearly binary opponents; the candidate gains 0.5, up to 1, against 30 % of them.

    Any of them, or (`lost`) only such as the champion loses to: then the candidate is better by 0.15 on average.
    """
    champion = [chance.choice((0.05, 0.95)) for _ in range(60)]
    chosen = [number for number, p in enumerate(champion) if p < 0.5 or not lost]
    chance.shuffle(chosen)
    candidate = list(champion)
    for number in chosen[:18]:
        candidate[number] = min(candidate[number] + 0.5, 1.0)
    return champion, candidate


def ladder_games(chance: random.Random, *, paired: bool, lost: bool) -> Iterator[float]:
    """Champion and candidate play against the same opponent or, if not `paired`, each against its own."""
    champion, candidate = ladder(chance, lost)
    while True:
        number = chance.randrange(60)
        other = number if paired else chance.randrange(60)
        yield won(chance, candidate[number]) - won(chance, champion[other])


def until_refuted(comparisons: Iterator[float], most: int) -> int:
    """How many comparisons a fixed test of one candidate needs, without ever giving up."""
    test = SequentialTest.fixed(stake=0.9)
    for number in range(1, most + 1):
        test = test.after(next(comparisons))
        if test.refutes(ERROR):
            return number
    return NEVER


def figures(runs: int) -> Iterator[Figure]:
    """Every simulation, one after the other."""
    chance = random.Random(1)

    def share(run: Callable[[], int]) -> float:
        return sum(run() < NEVER for _ in range(runs)) / runs

    def median(run: Callable[[], int], count: int = runs) -> float:
        return statistics.median(run() for _ in range(count))

    for rate in (0.5, 0.8):
        value = share(lambda rate=rate: strict_run(pairs(chance, rate, rate), 1500))  # type: ignore[misc]
        yield Figure(f"strict, equal models that win {rate:.0%}: runs that ever promote", value, ERROR)
    for rate in (0.5, 0.8):
        value = share(lambda rate=rate: guard_run(blocks(chance, rate, rate, 5), 1500))  # type: ignore[misc]
        yield Figure(f"guard, equal models that win {rate:.0%}: runs that ever demote", value, ERROR)
    for mode, wrong in (("strict", "promote"), ("guard", "demote")):
        value = share(lambda mode=mode: simulated_run(chance, mode, 0.5, 1500))  # type: ignore[misc]
        yield Figure(f"{mode}, equal models, live and simulated games: runs that ever {wrong}", value, ERROR)
    for rate, most in ((0.7, 40), (0.6, 170)):
        yield Figure(f"a candidate that wins {rate:.0%} head to head: median games, exact", exact_median(rate), most)
        value = median(lambda rate=rate: strict_run(head_to_head(chance, rate), 5000))  # type: ignore[misc]
        yield Figure(f"the same, and newer ones that win {rate:.0%} take its place where they may", value)
    for lost, which in ((False, "any"), (True, "lost")):
        found, single = (
            [until_refuted(ladder_games(chance, paired=paired, lost=lost), 5000) for _ in range(runs)]
            for paired in (True, False)
        )
        within = sum(number < NEVER for number in found) / runs
        pairs_needed, unpaired = statistics.median(found), statistics.median(single)
        yield Figure(f"ladder, 30 % of {which} opponents: found, paired by opponent", within, 0.9, at_most=False)
        yield Figure(f"ladder, 30 % of {which} opponents: median pairs", pairs_needed, unpaired / 2)
    for line, most_games in ((0.9, None), (0.85, None), (0.75, None), (0.55, None), (0.15, 60)):
        value = median(lambda line=line: guard_run(blocks(chance, 0.95, line, 2), 1500), min(runs, 200))  # type: ignore[misc]
        what = f"guard, line falls from 95 % to {line:.0%}, every second game a control"
        yield Figure(f"{what}: median games of the line", value, most_games)


def main() -> int:
    """Print a table of all figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000, help="simulated runs of each kind (default: 1000)")
    options = parser.parse_args()
    missed = 0
    for figure in figures(options.runs):
        sign = "at most" if figure.at_most else "at least"
        state = "ok" if figure.reached else "MISSED"
        missed += not figure.reached
        asked = "" if figure.target is None else f"  {sign} {figure.target:<6.3g} {state}"
        print(f"{figure.what:<82} {figure.value:>8.3g}{asked}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
