"""The gate: which version plays the next game, and what its result means for the version on stage.

`off`     the newest version of the learner's line plays.
`guard`   it plays, and the champion plays a share of the games as control. If the line is shown to be worse, the
          champion goes on stage. The line restarts from the champion, and returns once a few games show that it is not
          worse. If the line is shown not to be worse, its newest version becomes the champion.
`strict`  the champion plays, and a candidate plays a share of the games as challenger until it is shown to be better.

Every process of a run (bots, learner, commands) uses the same state (`gate_on_disk.py`). One transaction records a
result and the decision that follows from it.
"""

from __future__ import annotations

import dataclasses
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from understudy.ledger import gate as table
from understudy.ledger.gate import GateLedger
from understudy.models.evidence import Played, difference
from understudy.models.gate_assignment import Assignment, Role, assigned
from understudy.models.gate_blocks import PlayedBlock, take_block
from understudy.models.gate_decisions import decided, with_contest
from understudy.models.gate_on_disk import GateOnDisk
from understudy.models.gate_state import (
    GateState,
    appointed,
    crowned,
    first_state,
    in_mode,
    refused_unplayed,
    required,
    state_from,
    taken_off,
    wants_candidate,
)
from understudy.settings import GateSettings

_LINES: tuple[Role, ...] = ("line", "challenger")  # the side of a comparison that wants to be champion
_BEGINNING_SECONDS = 60.0  # a bot needs some time between its assignment and its journal


@dataclass(frozen=True, slots=True)
class SimulatedPair:
    """The two versions that may play simulated games for a contest."""

    contest: int
    candidate: int
    champion: int


Check = Callable[[int, int], str | None]
"""Checks (version, champion); returns a reason to refuse the version before it plays, or None."""


class Gate(GateOnDisk):
    """The gate of a run, as used by one process."""

    def use(self, settings: GateSettings) -> GateState | None:
        """Use these settings from now on; None while there is no model."""

        def change(db: sqlite3.Connection, state: GateState | None) -> GateState | None:
            head = table.head_of(db)
            if head is None:
                return None
            if state is None:
                sentence = f"Version {head} is the first champion; the mode is {settings.mode}."
                table.add_event(db, "began", head, head, sentence)
                return first_state(head, settings)
            if state.settings.mode != settings.mode:
                table.add_event(db, "mode", None, state.champion, f"The mode of the gate is now {settings.mode}.")
                state = in_mode(state, settings, head)
            return dataclasses.replace(state, settings=settings)

        return self._change(change)

    def unfinished(self) -> list[str]:
        """The games without a result, except those that have just begun."""
        now = time.time()
        with GateLedger(self._path) as ledger:
            return ledger.unfinished(now - _BEGINNING_SECONDS, now + _BEGINNING_SECONDS)

    def assign(self, game: str, opponent: str, *, appoint: bool = True) -> Assignment:
        """The version that plays this game against this opponent. `appoint`: the newest may become the challenger."""
        part = Assignment("line")

        def change(db: sqlite3.Connection, state: GateState | None) -> GateState | None:
            nonlocal part
            if state is None or state.settings.mode == "off":
                return state
            head = table.head_of(db) or state.champion
            if appoint:
                state = appointed(state, head, table.games_learned_since(db, state.asked_from))
            part, state = assigned(db, state, head, game, opponent, self._chance)
            return state

        self._change(change)
        return part

    def record(self, game: str, played: Played) -> None:
        """Record the result of a game. A game that was already recorded, or is not compared, changes nothing."""

        def change(db: sqlite3.Connection, state: GateState | None) -> GateState | None:
            score = None if played.cut and not table.has_results(db) else played.score
            block = table.finish_game(db, game, score, played.reward)
            complete = None if block is None else table.complete_block(db, block)
            if state is None or block is None or complete is None:
                return state
            contest, games = complete
            ours = [Played(score, reward) for role, score, reward in games if role in _LINES]
            theirs = [Played(score, reward) for role, score, reward in games if role not in _LINES]
            found = difference(ours, theirs)
            table.close_block(db, block, found)
            if state.contest is None or contest != state.number:  # that contest is over
                return state
            state = dataclasses.replace(state, contest=state.contest.after(found))
            return decided(db, state, self._store)

        self._change(change)

    def record_block(self, contest: int, block: PlayedBlock, champion: int, candidate: int) -> bool:
        """Record a block that these versions played elsewhere; False if it is known, or that contest is over."""
        taken = False

        def change(db: sqlite3.Connection, state: GateState | None) -> GateState | None:
            nonlocal taken
            if state is None or state.contest is None or contest != state.number:
                return state
            found = take_block(db, state, block, champion, candidate)
            if found is None:
                return state
            taken = True
            return decided(db, dataclasses.replace(state, contest=state.contest.after(found)), self._store)

        self._change(change)
        return taken

    def to_simulate(self) -> SimulatedPair | None:
        """The comparison that simulated games can inform; None if nothing is compared."""
        found: SimulatedPair | None = None

        def change(db: sqlite3.Connection, state: GateState | None) -> GateState | None:
            nonlocal found
            if state is None or state.settings.mode == "off":
                return state
            head = table.head_of(db) or state.champion
            state = with_contest(state, head)
            candidate = head if state.stage == "line" else state.challenger
            if state.contest is not None and candidate not in (None, state.champion, state.line_from):
                assert candidate is not None
                found = SimulatedPair(state.number, candidate, state.champion)
            return state

        self._change(change)
        return found

    def record_simulated(self, played: SimulatedPair, first: int, differences: Sequence[float]) -> None:
        """Record simulated games that both played: candidate minus champion. A game counts once."""

        def change(db: sqlite3.Connection, state: GateState | None) -> GateState | None:
            new = table.add_simulated(db, played.contest, played.candidate, played.champion, first, differences)
            for found in new:
                if state is None or state.contest is None or played.contest != state.number:
                    break  # that contest is over
                state = dataclasses.replace(state, contest=state.contest.after_simulated(found))
                state = decided(db, state, self._store, played.candidate)
            return state

        self._change(change)

    def appoint(self, check: Check | None = None) -> int | None:
        """Make the newest version the challenger if one is wanted and it has learned enough; returns the challenger.

        `check(version, champion)` checks it first, and may return a reason to refuse it.
        """
        found = self._candidate() if check is not None else None
        refusal = None if found is None or check is None else check(*found)

        def change(db: sqlite3.Connection, state: GateState | None) -> GateState | None:
            if state is None:
                return None
            head = table.head_of(db) or state.champion
            learned = table.games_learned_since(db, state.asked_from)
            if refusal is not None and found == (head, state.champion) and wants_candidate(state, learned):
                sentence = f"Candidate {head} was refused before it played a game: {refusal}."
                return refused_unplayed(state, head, table.add_event(db, "unplayed", head, state.champion, sentence))
            if check is not None and found != (head, state.champion):
                return state  # a newer version was published meanwhile and is checked next time
            return appointed(state, head, learned)

        state = self._change(change)
        return None if state is None else state.challenger

    def _candidate(self) -> tuple[int, int] | None:
        """(version, champion) if the newest version would become the challenger now."""
        with GateLedger(self._path) as ledger:
            found = ledger.state()
            if found is None:
                return None
            state, head = state_from(found), ledger.head()
            with ledger.transaction() as db:
                learned = table.games_learned_since(db, state.asked_from)
        return (head, state.champion) if head is not None and wants_candidate(state, learned) else None

    # ---- by hand ----------------------------------------------------------------------------------------------------

    def promote(self, version: int, by: str) -> GateState:
        """Make a version the champion, by request."""
        self._store.load_version(version)

        def change(db: sqlite3.Connection, state: GateState | None) -> GateState | None:
            state = required(state)
            sentence = f"Version {version} was made champion by {by}, in place of version {state.champion}."
            table.add_event(db, "promoted", version, state.champion, sentence)
            return crowned(state, version)

        return required(self._change(change))

    def demote(self, by: str) -> GateState:
        """Take the line off stage, by request; it restarts from the champion."""

        def change(db: sqlite3.Connection, state: GateState | None) -> GateState | None:
            state = required(state)
            head = table.head_of(db)
            sentence = f"The line (version {head}) was taken off by {by}; it restarts from version {state.champion}."
            return taken_off(state, table.add_event(db, "demoted", head, state.champion, sentence))

        return required(self._change(change))

    def pin(self, version: int, by: str) -> None:
        """Keep a version permanently."""
        self._store.load_version(version)

        def change(db: sqlite3.Connection, state: GateState | None) -> GateState | None:
            table.pin(db, [version])
            table.add_event(
                db,
                "pinned",
                version,
                None if state is None else state.champion,
                f"Version {version} was pinned by {by}.",
            )
            return state

        self._change(change)

    def unpin(self, version: int, by: str) -> bool:
        """Allow a version to be pruned that somebody pinned; False if it was not pinned."""
        was_pinned = False

        def change(db: sqlite3.Connection, state: GateState | None) -> GateState | None:
            nonlocal was_pinned
            was_pinned = table.unpin(db, version)
            if was_pinned:
                champion = None if state is None else state.champion
                table.add_event(db, "unpinned", version, champion, f"Version {version} was unpinned by {by}.")
            return state

        self._change(change)
        return was_pinned

    def went_back(self, version: int, head: int, by: str) -> None:
        """Record a rollback to a version: published again as `head`, it is the champion."""

        def change(db: sqlite3.Connection, state: GateState | None) -> GateState | None:
            if state is None or state.settings.mode == "off":
                return state
            sentence = f"Rolled back to version {version} by {by}; it is champion as version {head}."
            table.add_event(db, "rolled back", head, state.champion, sentence)
            return dataclasses.replace(crowned(state, head), line_from=head, asked_from=head)

        self._change(change)

    def share(self, known: GateState, state: GateState, sentence: str) -> GateState | None:
        """Go on with the state that several machines have agreed on, and with what its evidence decides.

        None, and nothing happens, if the state here is no longer `known`.
        """
        taken = False

        def change(db: sqlite3.Connection, now: GateState | None) -> GateState | None:
            nonlocal taken
            if now != known:
                return now
            taken = True
            if sentence:
                table.add_event(db, "shared", state.champion, known.champion, sentence)
            return state if state.contest is None else decided(db, state, self._store)

        after = self._change(change)
        return after if taken else None
