"""The state of the gate, and how each decision changes it. Pure functions; `gate.py` stores the state."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from understudy.errors import RunDirError
from understudy.models.contest import Contest, Stage, Verdict, challenger, contest_from
from understudy.models.evidence import Budget
from understudy.settings import GateSettings

_FORMER_CHAMPIONS = 3  # former champions that stay pinned
_UNPLAYED = 3  # candidates refused in a row before they played, after which the line restarts from the champion


@dataclass(frozen=True, slots=True)
class GateState:
    """Which version is on stage, and what is being compared. It is stored in the ledger as JSON."""

    settings: GateSettings
    champion: int
    since: float
    stage: Stage
    line_from: int
    """The version from which the line last started, with the champion's weights."""
    asked_from: int
    """Games learned from after this version count towards the next candidate."""
    contest: Contest | None = None
    number: int = 0
    """The number of the contest."""
    challenger: int | None = None
    budget: Budget = field(default_factory=Budget)
    former: tuple[int, ...] = ()
    restart: int | None = None
    """The event after which the line must restart from the champion, until that is done."""
    harms: int = 0
    """How often the line was taken off since the last promotion."""
    agreed: bool = False
    """Whether the files agree with this state."""
    unplayed: int = 0
    """How many candidates in a row were refused before they played a game."""
    first: int = 0
    """The version with which the run began; 0 if the gate began later and it is not known."""

    def pins(self) -> dict[int, str]:
        """The versions that must not be pruned."""
        pins = {self.first: "first version"} if self.first else {}
        pins |= dict.fromkeys(self.former[-_FORMER_CHAMPIONS:], "former champion")
        if self.challenger is not None:
            pins[self.challenger] = "challenger"
        return pins | {self.champion: "champion"}

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return values | {
            "settings": dataclasses.asdict(self.settings),
            "contest": None if self.contest is None else self.contest.as_json(),
            "budget": dataclasses.asdict(self.budget),
        }


def state_from(values: Mapping[str, Any]) -> GateState:
    """The state from plain values."""
    made = dict(values)
    made["settings"] = GateSettings(**made["settings"])
    made["contest"] = None if made["contest"] is None else contest_from(made["contest"])
    made["budget"] = Budget(**made["budget"])
    made["former"] = tuple(made["former"])
    return GateState(**made)


def first_state(head: int, settings: GateSettings) -> GateState:
    """The state of a run without a gate so far: its newest version is the first champion."""
    stage: Stage = "champion" if settings.mode == "strict" else "line"
    return GateState(settings, head, time.time(), stage, head, head, first=head)


def in_mode(state: GateState, settings: GateSettings, head: int) -> GateState:
    """The state after a change of mode. The version that was on stage without a gate becomes the first champion."""
    stage: Stage = "champion" if settings.mode == "strict" else "line"
    state = dataclasses.replace(
        state, stage=stage, contest=None, challenger=None, budget=Budget(), restart=None, agreed=False
    )
    if state.settings.mode == "off":
        return dataclasses.replace(crowned(state, head), line_from=head, asked_from=head)
    return state


def begin(state: GateState, contest: Contest) -> GateState:
    """The state with another contest."""
    return dataclasses.replace(state, contest=contest, number=state.number + 1)


def wants_candidate(state: GateState, learned: int) -> bool:
    """Whether a challenger is wanted and `learned` games are enough for one."""
    wanted = state.stage == "champion" and state.contest is None and state.settings.mode != "off"
    return wanted and state.restart is None and learned >= state.settings.candidate_games


def refused_unplayed(state: GateState, head: int, event: int) -> GateState:
    """The state after recorded games led to a refusal of the newest version; after several, the line restarts."""
    state = dataclasses.replace(state, asked_from=head, unplayed=state.unplayed + 1)
    if state.unplayed < _UNPLAYED:
        return state
    return dataclasses.replace(taken_off(state, event), unplayed=0)


def appointed(state: GateState, head: int, learned: int) -> GateState:
    """The state with the newest version as challenger, if one is wanted and `learned` games are enough."""
    if not wants_candidate(state, learned):
        return state
    state = dataclasses.replace(state, unplayed=0)
    contest = challenger(state.settings.mode, state.settings.margin, state.budget, state.harms)
    return dataclasses.replace(begin(state, contest), challenger=head, asked_from=head, budget=contest.budget)


def crowned(state: GateState, version: int) -> GateState:
    """The state with another champion; the comparison with the previous one ends."""
    if version == state.champion:
        return state
    line_from = version if state.stage == "line" else state.line_from
    return dataclasses.replace(
        state,
        champion=version,
        since=time.time(),
        former=(*state.former, state.champion)[-_FORMER_CHAMPIONS:],
        line_from=line_from,
        contest=None,
        challenger=None,
        budget=Budget(),
        harms=0,
        agreed=False,
    )


def taken_off(state: GateState, event: int) -> GateState:
    """The state after harm: the champion is on stage, and the line restarts from it."""
    return dataclasses.replace(
        state,
        stage="champion",
        contest=None,
        challenger=None,
        restart=event,
        harms=state.harms + 1,
        agreed=False,
    )


def required(state: GateState | None) -> GateState:
    """The state of a gate that is in use; RunDirError if there is none."""
    if state is None or state.settings.mode == "off":
        raise RunDirError("There is no gate in this run: gate.mode is off, so the newest version plays.")
    return state


def told(state: GateState, contest: Contest, verdict: Verdict) -> str:
    """The evidence that led to a decision, in words."""
    name = "harm" if verdict == "harm" else "worth"
    test, needed = getattr(contest, name), 1 / contest.live_levels(state.settings.error)[verdict != "harm"]
    seen, mean, games = contest.seen, contest.mean, "against the same opponents"
    simulated = contest.simulated
    if test.capital < needed and verdict != "drop":
        test, needed = getattr(simulated, name), 1 / contest.simulated_levels(state.settings.error)[verdict != "harm"]
        seen, mean, games = simulated.seen, simulated.mean, "in the same simulated games"
    return (
        f"it did better than version {state.champion} in {50 * (1 + mean):.0f} % of {seen} comparisons {games} "
        f"(evidence {test.capital:.3g}, {needed:.3g} is enough)."
    )
