"""The learner's part in the gate: it sets the mode and logs every decision."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from understudy.ledger.gate import GateLedger
from understudy.models.gate import Gate
from understudy.models.gate_report import gate_report
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import GateSettings

_LOOK_SECONDS = 1.0
_TITLES = {"demoted": "Gate: Taken Off", "unplayed": "Gate: Refused"}


class GateMessages:
    """The gate of a run, as its learner uses it. `settings` other than the defaults change the gate of the run."""

    def __init__(
        self,
        run: RunDir,
        store: ModelStore,
        settings: GateSettings,
        say: Callable[[str], None],
        log: Callable[[str, Mapping[str, str]], None],
    ) -> None:
        self._run, self._store, self._settings, self._say, self._log = run, store, settings, say, log
        self._gate = Gate(run.ledger, store)
        self._in_use = False
        self._next_look = 0.0
        self._told: int | None = None  # the number of the last event that was logged
        self._report: dict[str, Any] | None = None

    def look(self) -> dict[str, Any] | None:
        """The report as plain values, at most a second old; None before there is a model."""
        if time.monotonic() < self._next_look:
            return self._report
        if not self._in_use:
            self._in_use = self._use()
        self._gate.take_in()
        self._tell()
        report = gate_report(self._run.ledger)
        self._report = None if report is None else report.as_dict()
        self._next_look = time.monotonic() + _LOOK_SECONDS
        return self._report

    def look_again(self) -> None:
        """The next `look` must read the report again, because something has changed."""
        self._next_look = 0.0

    def _use(self) -> bool:
        if self._store.signature() is None:
            return False
        state = self._gate.look()
        if state is None or self._settings not in (GateSettings(), state.settings):
            state = self._gate.use(self._settings)
        return state is not None

    def _tell(self) -> None:
        with GateLedger(self._run.ledger) as ledger:
            events = ledger.events()
        told = self._told
        self._told = events[-1].number if events else 0
        for event in events:
            if told is not None and event.number > told:
                self._say(f"Gate: {event.sentence}")
                self._log(_TITLES.get(event.what, f"Gate: {event.what.capitalize()}"), {"What": event.sentence})
