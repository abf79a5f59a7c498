"""The general check: every task and seed, beside its peers; prints a table and writes a JSON file."""

from __future__ import annotations

import dataclasses
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from understudy.check.jobs import run_all, stopped
from understudy.check.ladder import linear_reinforce, linear_win_rate
from understudy.check.measure import FRESH_SEED, TaskOutcome, Watch
from understudy.check.table import table
from understudy.check.tasks import LADDER, Task
from understudy.errors import SettingsError
from understudy.files.atomic import write_atomically
from understudy.run.log import show
from understudy.settings import given_settings

OURS, REINFORCE = "Understudy", "linear REINFORCE"


class SuiteRun(NamedTuple):
    """One learner, one task, one seed."""

    task: Task
    learner: str
    seed: int
    stop_at_goal: bool = False


def check(
    tasks: Sequence[Task],
    seeds: Sequence[int],
    *,
    ours: bool = True,
    peers: bool = True,
    at_once: int = 1,
    stop_at_goal: bool = False,
    out: Path | None = None,
) -> bool:
    """Run everything, print the table and write the file; True if every task is solved with every seed, fast enough."""
    require_defaults()
    runs, outcomes, began = planned(tasks, seeds, ours, peers, stop_at_goal), list[TaskOutcome](), time.monotonic()
    show(f"{len(runs)} runs, {at_once} at a time.")

    def done(run: SuiteRun, result: TaskOutcome | str) -> None:
        if isinstance(result, str):
            result = TaskOutcome(run.task.name, run.learner, run.seed, error=result)
            show(f"{run.task.name}, {run.learner}, seed {run.seed}: FAILED, {result.error}")
        outcomes.append(result)
        if out is not None:
            write_results(out, tasks, outcomes)

    try:
        run_all(one, runs, at_once, done)
    finally:
        rows, passed = table(tasks, outcomes, OURS)
        show("\n".join(["", *rows, f"{time.monotonic() - began:.0f} s in all."]))
        if out is not None and outcomes:
            show(f"All figures are in {out}.")
    return passed


def planned(tasks: Sequence[Task], seeds: Sequence[int], ours: bool, peers: bool, stop_at_goal: bool) -> list[SuiteRun]:
    """The runs of a check. Peers learn each environment once, even if Understudy learns it in two ways."""
    runs: list[SuiteRun] = []
    learned: set[str] = set()
    for task in tasks:
        learners = [OURS] if ours else []
        if peers and task.env not in learned:
            from understudy.check.peer import peers_of  # noqa: PLC0415 - needs the extra `bench`

            learned.add(task.env)
            learners += [*peers_of(task), *([REINFORCE] if task.env == LADDER else [])]
        runs += [SuiteRun(task, learner, seed, stop_at_goal) for learner in learners for seed in seeds]
    return runs


def one(run: SuiteRun) -> TaskOutcome:
    """Do one run in this process."""
    watch = Watch(run.task, run.learner, run.seed, stopped, show)
    if run.learner == REINFORCE:
        return _reinforce(run, watch)
    if run.learner != OURS:
        from understudy.check import peer  # noqa: PLC0415 - needs the extra `bench`

        return peer.train(run.task, run.learner, run.seed, watch)
    from understudy.check import runs  # noqa: PLC0415 - parent processes do not need it

    learn = runs.live if run.task.way == "live" else runs.self_play
    return learn(run.task, run.seed, watch, stop_at_goal=run.stop_at_goal)


def require_defaults() -> None:
    """Raise SettingsError if a file or a variable changes settings: the check measures the defaults."""
    changed = [f"{section}.{name}" for section, values in given_settings().items() for name in values]
    if changed:
        raise SettingsError(
            "The check measures the default settings, but understudy.toml or an environment variable sets "
            f"{', '.join(changed)}."
        )


def write_results(path: Path, tasks: Sequence[Task], outcomes: Sequence[TaskOutcome]) -> None:
    """Write tasks and outcomes as JSON."""
    write_json(
        path,
        {
            "tasks": [dataclasses.asdict(task) for task in tasks],
            "runs": [dataclasses.asdict(outcome) for outcome in outcomes],
        },
    )


def write_json(path: Path, content: object) -> None:
    """Write JSON to a file; numbers that are not finite become null."""
    text = json.dumps(_plain(content), indent=1, allow_nan=False) + "\n"
    write_atomically(path, lambda stream: stream.write(text.encode()))


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _reinforce(run: SuiteRun, watch: Watch) -> TaskOutcome:
    for games, _ in run.task.marks:
        watch.outcome.games = games
        watch.mark(linear_win_rate(linear_reinforce(run.seed, games), run.seed + FRESH_SEED, run.task.fresh))
    watch.progress(run.task.steps)
    return watch.end(lambda: watch.outcome.marks[watch.outcome.games])
