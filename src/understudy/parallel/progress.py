"""The progress lines of `understudy selfplay`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from understudy.parallel.loop import TrainingLoopManager
from understudy.parallel.loop_stats import LoopStats
from understudy.parallel.rollout import Rollout
from understudy.run.log import show

_EVERY_SECONDS = 5.0


def say(text: str) -> None:
    """Print a line."""
    show(f"[SELFPLAY] {text}")


class Progress:
    """One line every few seconds."""

    def __init__(self, game: str, model: Path) -> None:
        self._game = game
        self._model = model
        self._said_at = time.monotonic()
        self._returns = "mean return"

    def begin(self, loop: TrainingLoopManager) -> None:
        """Print what will run."""
        if loop.two_players:
            self._returns = "first player's mean return"
        parallel = loop.settings.parallel
        workers = parallel.workers
        where = f"{workers} worker processes" if parallel.enabled else "this process"
        matches = f"{parallel.games_per_worker * workers} matches at once"
        if parallel.enabled and parallel.backend == "ray":
            where = f"{parallel.num_workers or 'all'} workers on Ray"
            matches = f"{parallel.games_per_worker} matches per worker"
        say(f"Self-play of {self._game}: {matches} in {where}; Ctrl-C stops it.")
        say(f"{self._model} is at version {loop.model.version}, after {loop.model.trainer.updates} updates.")

    def on_update(self, stats: LoopStats, _rollouts: Sequence[Rollout]) -> None:
        """Print progress, at most every few seconds."""
        if time.monotonic() - self._said_at >= _EVERY_SECONDS:
            self._said_at = time.monotonic()
            say(self._line(stats))

    def end(self, loop: TrainingLoopManager) -> None:
        """Print the result."""
        say(self._line(loop.stats))
        losses = {} if loop.workers is None else loop.workers.get_parallel_stats().get("losses", {})
        if losses:
            causes = ", ".join(f"{cause} {number}" for cause, number in sorted(losses.items()))
            say(f"Workers were lost and replaced: {causes}. Each loss cost the current rollout.")
        say(f"{self._model} is at version {loop.model.version}, after {loop.model.trainer.updates} updates.")

    def _line(self, stats: LoopStats) -> str:
        speed = stats.decisions / stats.seconds if stats.seconds else 0.0
        line = (
            f"{stats.updates:>6} updates  {stats.decisions:>10,} decisions ({speed:,.0f}/s)  {stats.games:>8,} games  "
            f"{self._returns} {f'{stats.mean_return:8.2f}' if stats.returns else '       -'}  "
            f"staleness {stats.staleness:.1f} (effective sample {stats.effective_sample_size:.0%})"
        )
        return line if stats.mode == "parallel" else f"{line}  sequential"
