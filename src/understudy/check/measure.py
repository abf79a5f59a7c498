"""The measurements of a training run, the same for every learner."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from understudy.check.tasks import Task

_SAY_SECONDS = 5.0
FRESH_SEED = 1_000_003
"""Added to the seed of a run for evaluation games, so that none of them occurred in training."""


@dataclass(slots=True)
class TaskOutcome:
    """The result of one learner on one task with one seed."""

    task: str
    learner: str
    seed: int
    steps: int = 0
    games: int = 0
    seconds: float = 0.0
    reached: int | None = None
    """Decisions until the mean return of the last training games reached the goal; None if it never did."""
    best: float = float("-inf")
    """The highest mean return over a window of as many training games."""
    last: float = float("nan")
    """The mean return of the last training games."""
    greedy: float = float("nan")
    """The mean return of the greedy policy in new games after training."""
    marks: dict[int, float] = field(default_factory=dict)
    """The mean return of the greedy policy in new games, after given numbers of training games."""
    error: str = ""

    def solved(self, task: Task) -> bool:
        """Whether the outcome meets the goal of the task."""
        if task.marks:
            return all(self.marks.get(games, float("-inf")) >= least for games, least in task.marks)
        return self.reached is not None and self.greedy >= task.goal


class Watch:
    """Follows one training run: counts games, notes when the goal is reached, reports progress, and stops it."""

    def __init__(
        self, task: Task, learner: str, seed: int, stopped: Callable[[], bool], say: Callable[[str], None]
    ) -> None:
        self.outcome = TaskOutcome(task.name, learner, seed)
        self.stopped = stopped
        self._task = task
        self._say = say
        self._returns: deque[float] = deque(maxlen=task.window)
        self._began = time.monotonic()
        self._said_at = self._began
        self.say(f"begins, {task.steps:,} steps at most")

    def say(self, text: str) -> None:
        """Print a message about this run."""
        self._say(f"{self._task.name}, {self.outcome.learner}, seed {self.outcome.seed}: {text}")

    def game(self, steps: int, result: float) -> None:
        """Note the return of a training game; `steps` is the total number of decisions at its end."""
        out = self.outcome
        out.games += 1
        self._returns.append(result)
        if len(self._returns) == self._task.window:
            out.last = sum(self._returns) / len(self._returns)
            out.best = max(out.best, out.last)
            if out.reached is None and out.last >= self._task.goal:
                out.reached = steps
                self.say(f"reached {self._task.goal:g} after {steps:,} steps")

    def progress(self, steps: int) -> None:
        """Note the number of decisions so far, and print it if the last report is old enough."""
        self.outcome.steps = steps
        now = time.monotonic()
        self.outcome.seconds = now - self._began
        if now - self._said_at >= _SAY_SECONDS:
            self._said_at = now
            mean = sum(self._returns) / len(self._returns) if self._returns else float("nan")
            self.say(
                f"{steps:>9,} steps, {self.outcome.games:>6,} games, mean return {mean:.4g}, {now - self._began:.0f} s"
            )

    def mark(self, result: float) -> None:
        """Note the greedy policy's mean return after the games so far."""
        self.outcome.marks[self.outcome.games] = result
        self.say(f"{result:.3f} in new games after {self.outcome.games:,} games")

    def due(self) -> bool:
        """Whether it is time to evaluate the greedy policy."""
        due = any(games == self.outcome.games for games, _ in self._task.marks)
        return due and self.outcome.games not in self.outcome.marks

    def end(self, evaluate: Callable[[], float]) -> TaskOutcome:
        """Evaluate the trained policy, unless training was interrupted."""
        if self.stopped():
            self.outcome.error = "interrupted"
        else:
            self.say(f"trained for {self.outcome.steps:,} steps; now evaluating in {self._task.fresh:,} new games")
            self.outcome.greedy = evaluate()
            self.outcome.seconds = time.monotonic() - self._began
            self.say(f"done: mean return {self.outcome.greedy:.4g} in new games, {self.outcome.seconds:.0f} s")
        return self.outcome
