"""The stability check: CartPole is trained far beyond the point where it is solved, and must stay solved."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from understudy.check.jobs import run_all, stopped
from understudy.check.suite import require_defaults, write_json
from understudy.run.log import show

GAME, SOLVED, LEAST, GOOD, MOST_BELOW = "gym:CartPole-v1", 490.0, 400.0, 475.0, 0.01
_SAY_SECONDS = 10.0


class StabilityRun(NamedTuple):
    """A run with one seed."""

    seed: int
    decisions: int


@dataclass(slots=True)
class Steadiness:
    """How a run went after the mean return over 100 games first reached 490."""

    seed: int
    decisions: int = 0
    solved_at: int | None = None
    lowest: float = float("inf")
    """The lowest mean return over 100 games since then."""
    below: int = 0
    """Decisions since then at which that mean was below 475."""
    seconds: float = 0.0
    error: str = ""

    def note(self, decisions: int, mean: float) -> None:
        """Note the mean return of the last hundred games, at this total number of decisions."""
        if self.solved_at is not None:
            self.lowest = min(self.lowest, mean)
            self.below += decisions - self.decisions if mean < GOOD else 0
        elif mean >= SOLVED:
            self.solved_at = decisions
        self.decisions = decisions

    @property
    def share_below(self) -> float:
        """The share of the decisions since it was solved that were made below 475."""
        since = self.decisions - self.solved_at if self.solved_at is not None else 0
        return self.below / since if since else 0.0

    @property
    def steady(self) -> bool:
        """Whether the run stayed within the limits."""
        return self.solved_at is not None and self.lowest >= LEAST and self.share_below <= MOST_BELOW


def check(seeds: Sequence[int], decisions: int, *, at_once: int = 1, out: Path | None = None) -> bool:
    """Train every seed for `decisions` decisions, print the table and write the file; True if all stayed solved."""
    require_defaults()
    outcomes: list[Steadiness] = []
    show(f"{len(seeds)} runs of {decisions:,} decisions, {at_once} at a time.")

    def done(run: StabilityRun, result: Steadiness | str) -> None:
        outcomes.append(Steadiness(run.seed, error=result) if isinstance(result, str) else result)
        show(_line(outcomes[-1]))
        if out is not None:
            write_json(out, [dataclasses.asdict(o) | {"share_below": o.share_below} for o in outcomes])

    try:
        run_all(one, [StabilityRun(seed, decisions) for seed in seeds], at_once, done)
    finally:
        steady = sum(outcome.steady for outcome in outcomes)
        show("\n".join(["", *(_line(outcome) for outcome in sorted(outcomes, key=lambda o: o.seed))]))
        show(
            f"{steady} of {len(outcomes)} seeds stayed solved: after first reaching {SOLVED:g}, the mean over 100 "
            f"games was never below {LEAST:g}, and below {GOOD:g} for at most {MOST_BELOW:.0%} of the time."
        )
    return steady == len(seeds)


def one(run: StabilityRun) -> Steadiness:
    """Train one seed in this process."""
    from understudy.parallel.loop import TrainingLoopManager  # noqa: PLC0415
    from understudy.parallel.loop_stats import LoopStats  # noqa: PLC0415
    from understudy.run.lock import StopRequest  # noqa: PLC0415 - parent processes do not need it
    from understudy.settings import Settings  # noqa: PLC0415

    outcome, request, began = Steadiness(run.seed), StopRequest(), time.monotonic()
    said_at = began

    def on_update(stats: LoopStats, _: object) -> None:
        nonlocal said_at
        if len(stats.returns) == stats.returns.maxlen:
            outcome.note(stats.decisions, stats.mean_return)
        if time.monotonic() - said_at >= _SAY_SECONDS:
            said_at = time.monotonic()
            show(f"seed {run.seed}: {stats.decisions:,} decisions, mean return {stats.mean_return:.1f}")
        if stopped():
            request.stop()

    loop = TrainingLoopManager(GAME, Settings(), seed=run.seed, on_update=on_update)
    loop.run(request, decisions=run.decisions)
    outcome.seconds = time.monotonic() - began
    return outcome


def _line(o: Steadiness) -> str:
    if o.error:
        return f"seed {o.seed}: FAILED, {o.error}"
    if o.solved_at is None:
        return f"seed {o.seed}: never reached {SOLVED:g} in {o.decisions:,} decisions, {o.seconds:.0f} s"
    return (
        f"seed {o.seed}: {SOLVED:g} after {o.solved_at:,} of {o.decisions:,} decisions, lowest since then "
        f"{o.lowest:.1f}, below {GOOD:g} for {o.share_below:.2%} of them, {o.seconds:.0f} s"
        f"{'' if o.steady else ': NOT stable'}"
    )
