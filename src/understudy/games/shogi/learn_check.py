"""Does it learn? From an untrained network to one that beats simple players without search, by self-play alone.

`understudy shogi-check` runs it; docs/shogi.md has what it gave.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from understudy.games.shogi.contest import contest
from understudy.games.shogi.league import OneByOne, ShogiLeague
from understudy.games.shogi.players import ContestScore, GreedyPlayer, RandomPlayer, ShogiPlayer
from understudy.models.store import ModelStore
from understudy.parallel.loop import TrainingLoopManager
from understudy.parallel.loop_stats import LoopStats
from understudy.parallel.rollout import Rollout
from understudy.run.lock import StopRequest
from understudy.rundir import RunDir
from understudy.settings import ParallelSettings, Settings

GOALS = {"random": 0.95, "greedy": 0.7}
"""The share of games to be won against each."""
_MAKERS: dict[str, Callable[[np.random.Generator], ShogiPlayer]] = {"random": RandomPlayer, "greedy": GreedyPlayer}
_ON_THE_WAY = 40  # games of a measurement during training
_LAST_RATE = 0.1  # the learning rate falls to this share of its beginning, in proportion to the time
_IN_A_ROW = 3  # training ends early when this many measurements in a row are halfway from goal to perfect
_FINAL_SEED = 1_000_000


@dataclass(frozen=True, slots=True)
class Point:
    """A measurement: when, after what, and the share of games won against each rival."""

    seconds: float
    cpu_seconds: float
    """Of the learner's process."""
    decisions: int
    games: int
    won: dict[str, float]


def measure(loop: TrainingLoopManager, games: int, seed: int) -> dict[str, ContestScore]:
    """The policy as it is now, without search, against each rival."""
    network = loop.model.network
    return {name: contest(network, OneByOne(make), games, seed) for name, make in _MAKERS.items()}


class LearnCheck:
    """One training run from nothing, measured on the way and at its end."""

    def __init__(self, run: RunDir, minutes: float, workers: int, seed: int, say: Callable[[str], None]) -> None:
        self._say = say
        self._limit = 60 * minutes
        self._run = run
        self._request = StopRequest()
        self.points: list[Point] = []
        run.create()
        parallel = {**ShogiLeague.settings["parallel"], "enabled": workers > 0, "num_workers": max(workers, 1)}
        self.loop = TrainingLoopManager(
            f"shogi:{run.versions}",
            Settings(parallel=ParallelSettings(**parallel)),
            store=ModelStore(run.model, run.ledger),
            seed=seed,
            status=run.status,
            updates=run.updates,
            loads=run.loads,
            on_update=self._on_update,
        )
        self._every = max(self._limit / 15, 30.0)
        self._next = self._every

    def run(self, games: int) -> dict[str, ContestScore]:
        """Train, then play this many games against each rival."""
        self._say(
            f"Training from nothing in {self._run.root}, {self._limit / 60:g} minutes at most; "
            f"every {self._every:.0f} s {_ON_THE_WAY} games against each rival."
        )
        self._began = time.monotonic()
        self.loop.run(self._request, seconds=self._limit)
        self._say(f"Trained. Now {games} games against each rival ...")
        return measure(self.loop, games, _FINAL_SEED)

    def _on_update(self, stats: LoopStats, _rollouts: Sequence[Rollout]) -> None:
        seconds = time.monotonic() - self._began
        trainer = self.loop.model.trainer
        left = max(1 - seconds / self._limit, 0.0)
        trainer.adam.learning_rate = trainer.settings.learning_rate * (_LAST_RATE + (1 - _LAST_RATE) * left)
        if seconds < self._next:
            return
        self._next = seconds + self._every
        scores = measure(self.loop, _ON_THE_WAY, len(self.points))
        won = {name: score.wins / score.games for name, score in scores.items()}
        self.points.append(Point(seconds, time.process_time(), stats.decisions, stats.games, won))
        shares = ", ".join(f"{share:.0%} against {name}" for name, share in won.items())
        self._say(f"{seconds:5.0f} s  {stats.decisions:>9,} decisions  {stats.games:>6,} games: won {shares}")
        last = self.points[-_IN_A_ROW:]
        if len(last) == _IN_A_ROW and all(p.won[name] >= (1 + goal) / 2 for p in last for name, goal in GOALS.items()):
            self._request.stop()


def write_curve(points: Sequence[Point], folder: Path) -> Path | None:
    """Save the measurements as JSON, and as a picture, whose path is returned, if matplotlib is installed."""
    folder.mkdir(parents=True, exist_ok=True)
    values = json.dumps([dataclasses.asdict(point) for point in points], indent=1)
    (folder / "shogi_learning.json").write_text(values, encoding="utf-8")
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - an optional door
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError:
        return None
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.add_subplot()
    for (name, goal), colour in zip(GOALS.items(), ("tab:blue", "tab:orange"), strict=True):
        axes.plot([p.decisions for p in points], [100 * p.won[name] for p in points], "o-", color=colour, label=name)
        axes.axhline(100 * goal, color=colour, linestyle=":", linewidth=1)
    axes.set(
        xlabel="decisions learned from", ylabel="games won, %", ylim=(-2, 102), title="Shogi policy without search"
    )
    axes.legend(title="against", loc="lower right")
    axes.grid(alpha=0.3)
    path = folder / "shogi_learning.png"
    FigureCanvasAgg(figure).print_png(str(path))  # type: ignore[no-untyped-call]
    return path
