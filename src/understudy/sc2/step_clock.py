"""Measures the steps of a bot, and how much of a step's time is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

REPORT_SECONDS = 1.0


class StepClock:
    """A context manager around a step: `with clock: ...`; inside it, `clock.left` is the rest of the budget.

    `report` gets the mean duration of a step about once a second. Steps over the budget are counted in `late`.
    """

    def __init__(self, budget: float = 0.04, report: Callable[[float], None] | None = None) -> None:
        self.budget, self.report = budget, report
        self.slowest, self.steps, self.late = 0.0, 0, 0
        self._began = time.perf_counter()
        self._sum, self._count, self._next_report = 0.0, 0, 0.0

    @property
    def left(self) -> float:
        """The remaining seconds of this step's budget; negative once it is exceeded."""
        return self.budget - (time.perf_counter() - self._began)

    def __enter__(self) -> StepClock:
        self._began = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.add(time.perf_counter() - self._began)

    def add(self, seconds: float) -> None:
        """Count a step of this duration."""
        self.steps += 1
        self.late += seconds > self.budget
        self.slowest = max(self.slowest, seconds)
        self._sum, self._count = self._sum + seconds, self._count + 1
        now = time.monotonic()
        if self.report is not None and now >= self._next_report:
            self.report(self._sum / self._count)  # the mean, because one slow step must not pause background work
            self._sum, self._count, self._next_report = 0.0, 0, now + REPORT_SECONDS
