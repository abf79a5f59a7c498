"""The table of a check: a row for each task and learner, a number for each seed, and a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence

from understudy.check.measure import TaskOutcome
from understudy.check.tasks import Task

_HEAD = ("task", "learner", "goal", "steps to goal", "end of training", "greedy", "seconds", "verdict")


def table(tasks: Sequence[Task], outcomes: Sequence[TaskOutcome], ours: str) -> tuple[list[str], bool]:
    """The lines of the table, and whether all our runs reached their targets."""
    cells: list[tuple[str, ...]] = [_HEAD]
    passed = True
    for task in tasks:
        same = {other.name for other in tasks if other.env == task.env}  # peers learn an environment once
        learners = dict.fromkeys(o.learner for o in outcomes if o.task == task.name)
        for learner in sorted(learners, key=lambda name: name != ours):
            rows = [o for o in outcomes if o.task == task.name and o.learner == learner]
            text, good = "", True
            if learner == ours:
                peers = [o for o in outcomes if o.task in same and o.learner != ours]
                text, good = verdict(task, rows, peers)
            passed &= good
            cells.append(_row(task, learner, sorted(rows, key=lambda o: o.seed), text))
    widths = [max(len(row[column]) for row in cells) for column in range(len(_HEAD))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    return lines, passed and len(cells) > 1


def verdict(task: Task, rows: Sequence[TaskOutcome], peers: Sequence[TaskOutcome]) -> tuple[str, bool]:
    """The verdict on our runs of a task, and whether they reached their target."""
    solved = sum(row.solved(task) for row in rows)
    text, good = f"{solved} of {len(rows)} solved", solved == len(rows)
    best = best_peer(task, peers)
    if task.compared and best is not None:
        ratio = mean_steps(task, rows) / best
        text, good = f"{text}, {ratio:.2f} × SB3's steps", good and ratio <= 1
    return text, good


def best_peer(task: Task, peers: Sequence[TaskOutcome]) -> float | None:
    """The smallest mean number of steps that a peer needed to reach the goal; None if no peer reached it."""
    learners = {peer.learner for peer in peers if peer.reached is not None}
    means = [mean_steps(task, [peer for peer in peers if peer.learner == learner]) for learner in learners]
    return min(means, default=None)


def mean_steps(task: Task, rows: Sequence[TaskOutcome]) -> float:
    """The mean number of steps to the goal. A run that did not reach it counts with all its steps."""
    return sum(task.steps if row.reached is None else row.reached for row in rows) / len(rows)


def _row(task: Task, learner: str, rows: Sequence[TaskOutcome], text: str) -> tuple[str, ...]:
    goal, greedy = f"{task.goal:g}", [_number(row.greedy) for row in rows]
    if task.marks:
        goal = " ".join(f"{least:g}@{games}" for games, least in task.marks)
        greedy = [" ".join(_number(row.marks.get(games, math.nan)) for games, _ in task.marks) for row in rows]
    reached = ["-" if row.reached is None else f"{row.reached:,}" for row in rows]
    ends, errors = [_number(row.last) for row in rows], " ".join(row.error for row in rows if row.error)
    seconds = f"{sum(row.seconds for row in rows):.0f}"
    columns = (task.name, learner, goal, " / ".join(reached), " / ".join(ends), " / ".join(greedy), seconds)
    return (*columns, " ".join(filter(None, (text, errors))))


def _number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"
