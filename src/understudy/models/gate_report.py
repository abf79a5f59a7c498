"""The gate as people and pages see it: who is on stage, who wants to be, the evidence and the last decisions."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from understudy.ledger.gate import Event, GateLedger
from understudy.models.contest import Mode
from understudy.models.evidence import interval
from understudy.models.gate_state import GateState, state_from

_SHOWN_COMPARISONS = 1000  # the newest, of which an interval is computed
HARM = ("demoted", "refused")  # the events that say that the line was worse


@dataclass(frozen=True, slots=True)
class OpponentEvidence:
    """What the comparisons against one opponent showed, in points per game."""

    opponent: str
    comparisons: int
    mean: float


@dataclass(frozen=True, slots=True)
class GateReport:
    """The state of the gate with its evidence. `low` and `high` are a 95 % interval of the mean difference."""

    mode: Mode
    on_stage: int
    """The version that bots play with, apart from the games of a comparison."""
    champion: int
    since: float
    candidate: int | None
    """What is compared with the champion: the newest version of the line, or the challenger."""
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

    @property
    def last_harm(self) -> Event | None:
        """The last time the line was taken off or refused, unless it has been on stage again since."""
        for event in reversed(self.events):
            if event.what in HARM:
                return event
            if event.what in ("promoted", "returned", "rolled back", "mode"):
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
        found, head = ledger.state(), ledger.head()
        if found is None or head is None:
            return None
        state = state_from(found)
        differences = ledger.differences(state.number, _SHOWN_COMPARISONS) if state.contest else []
        simulated = ledger.simulated(state.number, _SHOWN_COMPARISONS) if state.contest else []
        return _report(state, head, differences, simulated, ledger.pins(), ledger.events(50))


def _report(
    state: GateState,
    head: int,
    differences: list[tuple[str, float]],
    simulated: list[float],
    pins: dict[int, str],
    events: list[Event],
) -> GateReport:
    newest_plays = state.settings.mode == "off" or state.stage == "line"
    candidate = None if state.contest is None else head if state.stage == "line" else state.challenger
    low, high = interval([value for _, value in differences], state.settings.error) if differences else (None, None)
    simulated_low, simulated_high = interval(simulated, state.settings.error) if simulated else (None, None)
    contest = state.contest
    levels = (1.0, 1.0) if contest is None else contest.live_levels(state.settings.error)
    by_opponent: dict[str, list[float]] = defaultdict(list)
    for opponent, value in differences:
        by_opponent[opponent].append(value)
    report = GateReport(
        mode=state.settings.mode,
        on_stage=head if newest_plays else state.champion,
        champion=state.champion,
        since=state.since,
        candidate=candidate,
        comparisons=0 if contest is None else contest.seen,
        mean=contest.mean if contest is not None and contest.seen else None,
        low=low,
        high=high,
        harm=0.0 if contest is None else contest.harm.capital,
        harm_needed=1 / levels[0],
        worth=0.0 if contest is None else contest.worth.capital,
        worth_needed=1 / levels[1],
        simulated=len(simulated),
        simulated_mean=statistics.fmean(simulated) if simulated else None,
        simulated_low=simulated_low,
        simulated_high=simulated_high,
        opponents=tuple(
            OpponentEvidence(opponent, len(values), statistics.fmean(values))
            for opponent, values in sorted(by_opponent.items())
        ),
        pins=pins,
        events=tuple(events),
        sentence="",
    )
    return _with_sentence(report)


def _with_sentence(report: GateReport) -> GateReport:
    values = {name: getattr(report, name) for name in report.__slots__}
    return GateReport(**values | {"sentence": _sentence(report)})


def _sentence(report: GateReport) -> str:
    if report.mode == "off":
        return f"The gate is off: the newest version, v{report.on_stage}, plays."
    clock = time.strftime("%Y-%m-%d %H:%M", time.localtime(report.since))
    if report.on_stage == report.champion:
        stage = f"v{report.champion} is on stage, as champion since {clock}"
    else:
        stage = f"v{report.on_stage}, the newest version, is on stage; the champion is v{report.champion} since {clock}"
    if report.candidate is None or report.candidate == report.champion:
        return f"{stage}. Nothing is compared with it now."
    name = f"v{report.candidate}" if report.candidate != report.on_stage else "it"
    found = []
    if report.mean is not None and report.low is not None and report.high is not None:
        span = f"95 % interval {report.low:+.2f} to {report.high:+.2f}"
        found.append(
            f"In {report.comparisons} comparisons against the same opponents {name} scored {report.mean:+.2f} points "
            f"per game more than the champion ({span})"
        )
    if report.simulated_mean is not None and report.simulated_low is not None and report.simulated_high is not None:
        span = f"{report.simulated_low:+.2f} to {report.simulated_high:+.2f}"
        found.append(f"in {report.simulated} simulated games {report.simulated_mean:+.2f} ({span})")
    if not found:
        return f"{stage}. {name[0].upper()}{name[1:]} is compared with the champion; no comparison is complete yet."
    text = "; ".join(found)
    return f"{stage}. {text[0].upper()}{text[1:]}."
