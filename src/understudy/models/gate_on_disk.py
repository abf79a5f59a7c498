"""The state of the gate on disk: in the ledger, and in the files of the models on stage.

Each change is one transaction. Files are changed after it (`_agree`), repeatedly if needed: the next process that opens
the gate completes what a killed process began.
"""

from __future__ import annotations

import dataclasses
import random
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from understudy.ledger import gate as table
from understudy.ledger.gate import GateLedger
from understudy.models.gate_state import GateState, crowned, required, state_from
from understudy.models.store import ModelStore

Change = Callable[[sqlite3.Connection, GateState | None], GateState | None]


class GateOnDisk:
    """The state of a run's gate, and its changes."""

    def __init__(self, ledger: Path, store: ModelStore, *, chance: random.Random | None = None) -> None:
        self._path = ledger
        self._store = store
        self._chance = chance or random.Random()

    def look(self) -> GateState | None:
        """The state as it is; None if there was never a gate."""
        with GateLedger(self._path) as ledger:
            found = ledger.state()
        return None if found is None else state_from(found)

    def take_in(self) -> None:
        """Make a model that somebody copied over the one on stage the champion; nothing if nobody did."""
        state = self.look() if self._store.stage_changed else None
        head = None if state is None else self._store.take_in_stage(state.champion)
        if head is None:
            return

        def change(db: sqlite3.Connection, state: GateState | None) -> GateState | None:
            state = required(state)
            sentence = (
                f"A model was copied over version {state.champion} by hand; it is champion as version {head.version}."
            )
            table.add_event(db, "by hand", head.version, state.champion, sentence)
            return dataclasses.replace(crowned(state, head.version), line_from=head.version, asked_from=head.version)

        self._commit(change)

    def _change(self, change: Change) -> GateState | None:
        """Change the state in one transaction, then make the files agree with it; a person's file counts first."""
        self.take_in()
        return self._commit(change)

    def _commit(self, change: Change) -> GateState | None:
        with GateLedger(self._path) as ledger, ledger.transaction() as db:
            found = ledger.state()
            before = None if found is None else state_from(found)
            after = change(db, before)
            if after is not None and after != before:
                table.save_state(db, after.as_json(), after.pins())
        if after is not None and not after.agreed:
            after = self._agree(after)
        return after

    def _agree(self, state: GateState) -> GateState:
        """Make the files be as the state wants them. Each step may be done twice."""
        line_from = state.line_from
        if state.restart is not None:
            line_from = self._store.restart(state.champion, state.restart).version
        if state.stage == "line":
            self._store.put_line_on_stage()
        else:
            self._store.put_on_stage(state.champion)
        changes: dict[str, Any] = {"restart": None, "agreed": True, "line_from": line_from}
        if state.restart is not None:
            changes["asked_from"] = line_from
        with GateLedger(self._path) as ledger, ledger.transaction() as db:
            found = ledger.state()
            now = None if found is None else state_from(found)
            if now is None or (now.stage, now.champion, now.restart) != (state.stage, state.champion, state.restart):
                return now or state  # somebody decided again meanwhile, and acts on it
            now = dataclasses.replace(now, **changes)
            table.save_state(db, now.as_json(), now.pins())
        return now
