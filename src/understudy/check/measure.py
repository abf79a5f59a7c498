"""The measurements of a training run, the same for every learner."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from understudy.check.tasks import Task

_SAY_SECONDS = 5.0
FRESH_SEED = 1_000_003
"""Added to the seed of a run for the games of an evaluation, so that they are none that were trained on."""


@dataclass(slots=True)
class TaskOutcome:
    """How one learner did with one task and one seed."""

    task: str
    learner: str
    seed: int
    steps: int = 0
    games: int = 0
    seconds: float = 0.0
    reached: int | None = None
    """Decisions until the mean return of the last training games reached the goal; None if it never did."""
    best: float = float("-inf")
    """The highest mean return of as many training games in a row."""
    last: float = float("nan")
    """The mean return of the last training games."""
    greedy: float = float("nan")
    """The mean return of the greedy policy in fresh games after training."""
    marks: dict[int, float] = field(default_factory=dict)
    """The same after some number of training games."""
    error: str = ""

    def solved(self, task: Task) -> bool:
        """Whether it does what the task asks for."""
        if task.marks:
            return all(self.marks.get(games, float("-inf")) >= least for games, least in task.marks)
        return self.reached is not None and self.greedy >= task.goal


class Watch:
    """Follows one training run: counts, notes when the goal is reached, says how far it is, and when to stop."""

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
        """Say something of this run."""
        self._say(f"{self._task.name}, {self.outcome.learner}, seed {self.outcome.seed}: {text}")

    def game(self, steps: int, result: float) -> None:
        """Note the return of a training game that ended when `steps` decisions had been made in all."""
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
        """Note the decisions so far; say it if it is time to."""
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
        """Note what the greedy policy reaches after the games so far."""
        self.outcome.marks[self.outcome.games] = result
        self.say(f"{result:.3f} in fresh games after {self.outcome.games:,} games")

    def due(self) -> bool:
        """Whether the greedy policy is to be evaluated now."""
        due = any(games == self.outcome.games for games, _ in self._task.marks)
        return due and self.outcome.games not in self.outcome.marks

    def end(self, evaluate: Callable[[], float]) -> TaskOutcome:
        """Evaluate what training came to, unless it was interrupted."""
        if self.stopped():
            self.outcome.error = "interrupted"
        else:
            self.say(f"trained for {self.outcome.steps:,} steps, now plays {self._task.fresh:,} fresh games")
            self.outcome.greedy = evaluate()
            self.outcome.seconds = time.monotonic() - self._began
            self.say(f"ends with {self.outcome.greedy:.4g} in fresh games, {self.outcome.seconds:.0f} s")
        return self.outcome
