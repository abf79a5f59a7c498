"""The effects of evidence: the state after a verdict, with the event that explains it in the ledger."""

from __future__ import annotations

import dataclasses
import sqlite3

from understudy.ledger import gate as table
from understudy.models.contest import Contest, Verdict, line_on_stage
from understudy.models.gate_state import GateState, begin, crowned, taken_off, told
from understudy.models.store import ModelStore


def with_contest(state: GateState, head: int) -> GateState:
    """The state with a contest, if the line is on stage and no longer has the champion's weights."""
    if state.stage != "line" or head == state.line_from or state.contest is not None:
        return state
    return begin(state, line_on_stage(state.settings.margin, harms=state.harms))


def decided(db: sqlite3.Connection, state: GateState, store: ModelStore, simulated: int | None = None) -> GateState:
    """The state after the verdict on its contest. `simulated` is the version that has just played simulated games."""
    contest = state.contest
    assert contest is not None
    newer = table.games_learned_since(db, state.asked_from) >= state.settings.candidate_games
    verdict = contest.verdict(state.settings.error, newer=newer)
    if verdict is None:
        return state
    if state.stage == "line":
        return _decided_on_line(db, state, store, contest, verdict, simulated)
    return _decided_on_challenger(db, state, contest, verdict)


def _decided_on_challenger(db: sqlite3.Connection, state: GateState, contest: Contest, verdict: Verdict) -> GateState:
    version = state.challenger
    words = told(state, contest, verdict)
    if verdict == "promote" and state.settings.mode == "strict":
        assert version is not None
        table.add_event(db, "promoted", version, state.champion, f"Version {version} is on stage: {words}")
        return crowned(state, version)
    ended = dataclasses.replace(
        state, contest=None, challenger=None, budget=contest.budget.ended(contest.worth.capital)
    )
    if verdict == "promote":
        table.add_event(db, "returned", version, state.champion, f"The line is on stage again: {words}")
        return dataclasses.replace(ended, stage="line", agreed=False)
    if verdict == "harm":
        sentence = f"Candidate {version} was refused, and the line restarts from the champion: {words}"
        return taken_off(ended, table.add_event(db, "refused", version, state.champion, sentence))
    table.add_event(db, "dropped", version, state.champion, f"Candidate {version} gives way to a newer one: {words}")
    return ended


def _decided_on_line(
    db: sqlite3.Connection,
    state: GateState,
    store: ModelStore,
    contest: Contest,
    verdict: Verdict,
    simulated: int | None,
) -> GateState:
    head = table.head_of(db)
    played = simulated or table.last_version_of(db, state.number, "line") or head
    words = told(state, contest, verdict)
    if verdict == "harm":
        sentence = f"The line (version {played}) was taken off the stage: {words}"
        return taken_off(state, table.add_event(db, "demoted", played, state.champion, sentence))
    version = played if played is not None and store.version_path(played).exists() else head
    assert version is not None
    table.add_event(db, "promoted", version, state.champion, f"Version {version} is champion: {words}")
    return begin(crowned(state, version), line_on_stage(state.settings.margin, contest))
