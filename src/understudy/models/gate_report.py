"""The gate for people and pages: which version is on stage, the candidate, the evidence and the latest decisions."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from understudy.ledger.gate import Event, GateLedger
from understudy.ledger.gate_proof import compared_by_results, contest_won
from understudy.models.contest import Contest, Mode
from understudy.models.gate_assignment import is_behind, last_games
from understudy.models.gate_sentence import Comparisons, Proof, gate_sentence
from understudy.models.gate_state import GateState, state_from
from understudy.models.gate_warnings import uninformative_games

_SHOWN_COMPARISONS = 1000  # the newest ones, from which an interval is computed
_WARY = " The champion plays most games now, because the line's last games went worse than its own."
HARM = ("demoted", "refused")  # the events that mean that the line was worse


@dataclass(frozen=True, slots=True)
class OpponentEvidence:
    """The result of the comparisons against one opponent, in points per game."""

    opponent: str
    comparisons: int
    mean: float


@dataclass(frozen=True, slots=True)
class GateReport:
    """The state of the gate with its evidence. `low` and `high` are a 95 % interval of the mean difference."""

    mode: Mode
    on_stage: int
    """The version that bots play with, outside the games of a comparison."""
    champion: int
    since: float
    candidate: int | None
    """The version that is compared with the champion: the newest of the line, or the challenger."""
    comparisons: int
    mean: float | None
    low: float | None
    high: float | None
    harm: float
    """Evidence that the candidate is worse; `harm_needed` is enough."""
    harm_needed: float
    worth: float
    """Evidence that it is better (strict) or not worse by more than the margin (guard)."""
    worth_needed: float
    simulated: int
    """Comparisons in simulated games, with their mean and its interval."""
    simulated_mean: float | None
    simulated_low: float | None
    simulated_high: float | None
    opponents: tuple[OpponentEvidence, ...]
    pins: dict[int, str]
    events: tuple[Event, ...]
    sentence: str
    expected: int | None = None
    """How many more comparisons decide for the challenger if its evidence keeps growing; None if it does not grow."""
    blind: str | None = None
    """Why its newest games cannot decide anything; None if they can."""

    @property
    def last_harm(self) -> Event | None:
        """The last time that the line was taken off or refused, unless it has returned to the stage since."""
        for event in reversed(self.events):
            if event.what in HARM:
                return event
            if event.what in ("promoted", "returned", "rolled back", "by hand", "mode"):
                return None
        return None

    def as_dict(self) -> dict[str, Any]:
        """Plain values."""
        harm = self.last_harm
        return asdict(self) | {"last_harm": None if harm is None else asdict(harm)}


def gate_report(ledger_path: Path) -> GateReport | None:
    """The report of a run; None if it has no gate."""
    if not ledger_path.exists():
        return None
    with GateLedger(ledger_path, read_only=True) as ledger:
        return report_of(ledger)


def report_of(ledger: GateLedger) -> GateReport | None:
    """The report, from an open ledger."""
    found, head = ledger.state(), ledger.head()
    if found is None or head is None:
        return None
    state = state_from(found)
    differences = ledger.differences(state.number, _SHOWN_COMPARISONS) if state.contest else []
    simulated = ledger.simulated(state.number, _SHOWN_COMPARISONS) if state.contest else []
    error, live = state.settings.error, [value for _, value in differences]
    evidence = (
        Comparisons.of(live, error, results=compared_by_results(ledger, state.number)) if live else None,
        Comparisons.of(simulated, error, simulated=True),
    )
    waiting = _waiting(ledger, state)
    proof = _proof(ledger, state)
    report = _report(state, head, differences, evidence, proof, ledger.pins(), ledger.events(50), waiting)
    if report.mode == "off":
        return report
    wary = _WARY if state.stage == "line" and is_behind(*last_games(ledger.query)) else ""
    return dataclasses.replace(report, sentence=report.sentence + wary, blind=uninformative_games(ledger))


def _waiting(ledger: GateLedger, state: GateState) -> int:
    """The number of games that the line must learn from before the next candidate; 0 if none is expected."""
    if state.stage == "line" or state.contest is not None or state.settings.mode == "off":
        return 0
    learned = ledger.query("SELECT coalesce(sum(games), 0) FROM versions WHERE version > ?", (state.asked_from,))
    return max(state.settings.candidate_games - int(learned[0][0]), 1)


def _expected(contest: Contest | None, error: float) -> int | None:
    if contest is None or contest.stage == "line":
        return None
    more = contest.expected(error) - contest.seen
    return round(more) if 0 < more < math.inf else None


def _proof(ledger: GateLedger, state: GateState) -> Proof | None:
    """The champion's evidence against its predecessor, from live or simulated games, whichever are more."""
    won = contest_won(ledger, state.champion)
    if won is None:
        return None
    error = state.settings.error
    live = [value for _, value in ledger.differences(won.number, _SHOWN_COMPARISONS)]
    simulated = ledger.simulated(won.number, _SHOWN_COMPARISONS)
    if len(simulated) > len(live):
        found = Comparisons.of(simulated, error, simulated=True)
    else:
        found = Comparisons.of(live, error, results=compared_by_results(ledger, won.number))
    return None if found is None else Proof(won.beaten, won.alone, found)


def _report(
    state: GateState,
    head: int,
    differences: list[tuple[str, float]],
    evidence: tuple[Comparisons | None, Comparisons | None],
    proof: Proof | None,
    pins: dict[int, str],
    events: list[Event],
    waiting: int,
) -> GateReport:
    newest_plays = state.settings.mode == "off" or state.stage == "line"
    candidate = None if state.contest is None else head if state.stage == "line" else state.challenger
    contest = state.contest
    live, simulated = evidence
    on_stage = head if newest_plays else state.champion
    levels = (1.0, 1.0) if contest is None else contest.live_levels(state.settings.error)
    by_opponent: dict[str, list[float]] = defaultdict(list)
    for opponent, value in differences:
        by_opponent[opponent].append(value)
    sentence = gate_sentence(
        champion=state.champion,
        since=state.since,
        on_stage=on_stage,
        candidate=candidate,
        found=[part for part in evidence if part is not None],
        seen=0 if contest is None else contest.seen,
        proof=proof,
        waiting=waiting,
    )
    return GateReport(
        mode=state.settings.mode,
        on_stage=on_stage,
        champion=state.champion,
        since=state.since,
        candidate=candidate,
        comparisons=0 if contest is None else contest.seen,
        mean=contest.mean if contest is not None and contest.seen else None,
        low=None if live is None else live.low,
        high=None if live is None else live.high,
        harm=0.0 if contest is None else contest.harm.capital,
        harm_needed=1 / levels[0],
        worth=0.0 if contest is None else contest.worth.capital,
        worth_needed=1 / levels[1],
        simulated=0 if simulated is None else simulated.count,
        simulated_mean=None if simulated is None else simulated.mean,
        simulated_low=None if simulated is None else simulated.low,
        simulated_high=None if simulated is None else simulated.high,
        opponents=tuple(
            OpponentEvidence(opponent, len(values), statistics.fmean(values))
            for opponent, values in sorted(by_opponent.items())
        ),
        pins=pins,
        events=tuple(events),
        expected=_expected(contest, state.settings.error),
        sentence=f"The gate is off: the newest version, v{on_stage}, plays."
        if state.settings.mode == "off"
        else sentence,
    )
