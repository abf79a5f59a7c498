"""Simulates whole runs of the gate with different shares of games for the control and the challenger.

    python benchmarks/gate_shares.py             # 200 runs of each kind, about four minutes

The games are simulated: what a version wins depends on how many games it has learned from. The decisions are those of
the gate (models/contest.py, models/gate_assignment.py). A column shows the games that are won, in percent, by all
that plays: a share that is too small sees harm late and promotes late, one that is too large plays the worse side too
often.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import random
import statistics
from collections.abc import Callable, Sequence
from typing import Literal

from understudy.models.contest import Contest, Stage, challenger, line_on_stage, place_in_block
from understudy.models.evidence import Budget, Played, difference
from understudy.models.gate_assignment import REST, games_of_block, is_behind, went_worse
from understudy.settings import GateSettings

SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
GAMES = 1000
_LOOKED_AT = 68

Wins = Callable[[int, int], float]
"""The probability that a version wins: (games it has learned from, games played in the run)."""


def _learns_fast(learned: int, played: int) -> float:
    return 0.3 + 0.5 * (1 - math.exp(-learned / 150))


def _learns_slowly(learned: int, played: int) -> float:
    return 0.4 + 0.3 * (1 - math.exp(-learned / 1000))


def _from_nothing(learned: int, played: int) -> float:
    """Won games are rare until much has been learned."""
    return 0.02 + 0.7 / (1 + math.exp((300 - learned) / 50))


def _gets_worse(learned: int, played: int) -> float:
    return 0.8 if learned == 0 else 0.6


def _small_gain(learned: int, played: int) -> float:
    return 0.5 if learned < 20 else 0.6


def _world_changes(learned: int, played: int) -> float:
    """After 400 games something else is right, and only what was learned since counts."""
    if played < 400:
        return _learns_fast(learned, played)
    return 0.2 + 0.5 * (1 - math.exp(-max(learned - 400, 0) / 150))


def _collapses(learned: int, played: int) -> float:
    return _learns_fast(learned, played)


KINDS: dict[str, Wins] = {
    "learns fast": _learns_fast,
    "learns slowly": _learns_slowly,
    "from nothing": _from_nothing,
    "small gain": _small_gain,
    "gets worse": _gets_worse,
    "world changes": _world_changes,
    "collapses": _collapses,
}
_BAD_FROM, _BAD_UNTIL = 400, 600  # games in which what the line learns is wrong, where it collapses


@dataclasses.dataclass(slots=True)
class Run:
    """One run with its gate. Versions are the number of games they have learned from; −1 is a collapsed one."""

    settings: GateSettings
    wins: Wins
    collapses: bool
    chance: random.Random
    stage: Stage = "line"
    champion: int = 0
    line: int = 0
    bad: bool = False
    bad_champion: bool = False
    candidate: tuple[int, bool] = (0, False)
    asked_from: int = 0
    budget: Budget = dataclasses.field(default_factory=Budget)
    harms: int = 0
    contest: Contest | None = None
    recent: list[float] = dataclasses.field(default_factory=list)
    control: list[float] = dataclasses.field(default_factory=list)
    played: int = 0
    won: float = 0.0
    bad_games: int = 0

    def play(self, games: int) -> None:
        """Play this many games."""
        self.stage = "champion" if self.settings.mode == "strict" else "line"
        while self.played < games:
            self._appoint()
            if self.contest is None:
                self._game(self.stage == "line")
                continue
            size = games_of_block(self.settings, self.stage, self.contest, went_worse(self.recent))
            small = place_in_block(size, self.chance)
            results: tuple[list[Played], list[Played]] = ([], [])
            for place in range(size):
                while self.stage == "line" and is_behind(self.recent, self.control) and self.chance.random() < REST:
                    self._game(False)
                line_plays = (place == small) == (self.stage == "champion")
                results[not line_plays].append(Played(self._game(line_plays)))
            self.contest = self.contest.after(difference(*results))
            self._decide()

    @property
    def _newer(self) -> bool:
        return self.line - self.asked_from >= self.settings.candidate_games

    def _appoint(self) -> None:
        settings = self.settings
        if self.contest is None and self.stage == "line" and self.line > self.champion:
            self.contest = line_on_stage(settings.margin, harms=self.harms)
        if self.contest is None and self.stage == "champion" and self._newer:
            self.contest = challenger(settings.mode, settings.margin, self.budget, self.harms)
            self.candidate, self.asked_from, self.budget = (self.line, self.bad), self.line, self.contest.budget

    def _game(self, line_plays: bool) -> float:
        version, bad = (self.champion, self.bad_champion)
        if line_plays:
            version, bad = (self.line, self.bad) if self.stage == "line" else self.candidate
        won = float(self.chance.random() < (0.1 if bad else self.wins(version, self.played)))
        if line_plays and self.stage == "line":
            self.recent = [won, *self.recent[: _LOOKED_AT - 1]]
        elif self.stage == "line":
            self.control = [won, *self.control[: _LOOKED_AT - 1]]
        self.won += won
        self.bad_games += bad
        self.played += 1
        self.line += 1
        if self.collapses:
            self.bad = _BAD_FROM <= self.played < _BAD_UNTIL or (self.bad and self.stage == "line")
        return won

    def _decide(self) -> None:
        contest = self.contest
        assert contest is not None
        verdict = contest.verdict(self.settings.error, newer=self._newer)
        if verdict is None:
            return
        if verdict == "promote" and self.stage == "line":
            self._crown((self.line, self.bad))
            self.contest = line_on_stage(self.settings.margin, contest)
        elif verdict == "promote" and self.settings.mode == "strict":
            self._crown(self.candidate)
        elif verdict == "promote":
            self.stage, self.contest = "line", None
        else:
            self.contest, self.budget = None, contest.budget.ended(contest.worth.capital)
            if verdict == "harm":
                self.stage, self.harms = "champion", self.harms + 1
                self.line, self.bad, self.asked_from = self.champion, self.bad_champion, self.champion

    def _crown(self, version: tuple[int, bool]) -> None:
        (self.champion, self.bad_champion), self.budget, self.harms, self.contest = version, Budget(), 0, None


def measured(mode: Literal["off", "guard", "strict"], share: float, kind: str, runs: int) -> float:
    """The share of won games, over runs with the same random numbers for each share."""
    settings = GateSettings(mode=mode, control_share=share, challenger_share=share)
    found = []
    for number in range(runs):
        run = Run(settings, KINDS[kind], kind == "collapses", random.Random(number))
        run.play(GAMES)
        found.append(run.won / run.played)
    return 100 * statistics.fmean(found)


def table(mode: Literal["guard", "strict"], kinds: Sequence[str], runs: int) -> None:
    """Print a line for each share."""
    print(f"{mode:<8}" + "".join(f"{kind:>15}" for kind in kinds) + f"{'mean':>10}", flush=True)
    for share in SHARES:
        found = [measured(mode, share, kind, runs) for kind in kinds]
        print(
            f"{share:<8}" + "".join(f"{value:>15.1f}" for value in found) + f"{statistics.fmean(found):>10.1f}",
            flush=True,
        )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="simulated runs of each kind (default: 200)")
    parser.add_argument("--modes", nargs="+", choices=("guard", "strict"), default=("guard", "strict"))
    options = parser.parse_args()
    for mode in options.modes:
        table(mode, list(KINDS), options.runs)


if __name__ == "__main__":
    main()
