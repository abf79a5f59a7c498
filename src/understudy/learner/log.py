"""What the learner writes to its log and terminal while it works."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Mapping

from understudy.learner.reports import load
from understudy.learner.statistics import Statistics
from understudy.ledger.connection import Ledger
from understudy.run.log import append_entry, say
from understudy.run.state import RunState
from understudy.rundir import RunDir

logger = logging.getLogger(__name__)

_STATE_LOG_SECONDS = 60.0
_LOGGED_REJECTIONS = 5  # of one pass: a thousand bad files must not displace everything else in the log


class LearnerLog:
    """The log of one run, and the terminal if `verbose`."""

    def __init__(self, run: RunDir, *, verbose: bool) -> None:
        self._run = run
        self._verbose = verbose
        self._state_logged_at: dict[RunState, float] = {}

    def say(self, text: str) -> None:
        """Print a line on the terminal."""
        if self._verbose:
            say(text)

    def entry(self, title: str, facts: Mapping[str, str]) -> None:
        """Write an entry; an error here must not stop the learner."""
        try:
            append_entry(self._run.log, title, facts, time.time())
        except OSError as error:
            logger.debug("Not logged: %s (%s)", title, error)

    def state(self, state: RunState, stats: Statistics) -> None:
        """Log a state. A state that changes often, as on a busy machine, is logged at most once a minute."""
        now = time.monotonic()
        if now < self._state_logged_at.get(state, -math.inf) + _STATE_LOG_SECONDS:
            return
        self._state_logged_at[state] = now
        facts = {"Workers": f"{stats.active_workers}/{stats.max_workers}", "Load": load(stats.resources)}
        append_entry(self._run.log, f"State: {state}", facts, time.time())

    def skipped(self, facts: Mapping[str, str]) -> None:
        """Report games that were archived without learning."""
        self.say(f"Not learned from: {'; '.join(facts.values())}.")
        self.entry("Games Skipped", facts)

    def rejections(self, ledger: Ledger, count: int) -> None:
        """Log the latest files that could not be used."""
        for name, reason in ledger.rejections(newest=min(count, _LOGGED_REJECTIONS)):
            self.entry("File Rejected", {"File": name, "Reason": reason})
        if count > _LOGGED_REJECTIONS:
            self.entry("Files Rejected", {"And": f"{count - _LOGGED_REJECTIONS} more; see {self._run.rejected}"})
