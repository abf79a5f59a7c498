"""Does shogi training work? From an untrained network to one that beats simple players without search.

Training is by self-play alone. `understudy shogi-check` runs it; docs/shogi.md has the results.
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
from understudy.games.shogi.players import GreedyPlayer, RandomPlayer, ShogiPlayer
from understudy.games.shogi.score import ContestScore
from understudy.machine.resources import processor_seconds
from understudy.models.store import ModelStore
from understudy.parallel.loop import TrainingLoopManager
from understudy.parallel.loop_stats import LoopStats
from understudy.parallel.rollout import Rollout
from understudy.run.lock import StopRequest
from understudy.rundir import RunDir
from understudy.settings import ParallelSettings, Settings

GOALS = {"random": 0.95, "greedy": 0.7}
"""The share of games to win against each rival."""
_MAKERS: dict[str, Callable[[np.random.Generator], ShogiPlayer]] = {"random": RandomPlayer, "greedy": GreedyPlayer}
_ON_THE_WAY = 40  # games of a measurement during training
_CORES = 2  # a minute of training is one minute of CPU time on each of this many cores
_FINAL_SEED = 1_000_000


@dataclass(frozen=True, slots=True)
class Point:
    """A measurement: when, after how much training, and the share of games won against each rival."""

    seconds: float
    cpu_seconds: float
    """CPU time of all processes of the run."""
    decisions: int
    games: int
    won: dict[str, float]


def measure(loop: TrainingLoopManager, games: int, seed: int) -> dict[str, ContestScore]:
    """Measure the present policy, without search, against each rival."""
    network = loop.model.network
    return {name: contest(network, OneByOne(make), games, seed) for name, make in _MAKERS.items()}


class LearnCheck:
    """One training run from an untrained model, measured on the way and at its end."""

    def __init__(self, run: RunDir, minutes: float, workers: int, seed: int, say: Callable[[str], None]) -> None:
        self._say = say
        self._minutes = minutes
        self._limit = 60 * minutes * _CORES
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
        self._every = max(self._limit / 15, 60.0)
        self._next = self._every

    def run(self, games: int = 200) -> bool:
        """Train, then play this many games against each rival; True if the goals were reached."""
        self._say(
            f"Training from an untrained model in {self._run.root}, at most {self._minutes:g} minutes on {_CORES} "
            f"cores; now and then {_ON_THE_WAY} games against each rival measure progress."
        )
        self._begin()
        self.loop.run(self._request)
        self._say(f"Training has ended. Playing {games} games against each rival ...")
        reached = True
        for name, score in measure(self.loop, games, _FINAL_SEED).items():
            won = score.wins / score.games
            reached &= won >= GOALS[name]
            self._say(f"without search against {name}: won {won:.1%} (goal {GOALS[name]:.0%}); {score}")
        return reached

    def _on_update(self, stats: LoopStats, _rollouts: Sequence[Rollout]) -> None:
        used = self._used()
        if used >= self._limit:
            self._request.stop()
        elif used < self._next:
            return
        self._next = used + self._every
        began = time.process_time()
        scores = measure(self.loop, _ON_THE_WAY, len(self.points))
        self._measuring += time.process_time() - began
        won = {name: score.wins / score.games for name, score in scores.items()}
        self.points.append(Point(time.monotonic() - self._began, used, stats.decisions, stats.games, won))
        shares = ", ".join(f"{share:.0%} against {name}" for name, share in won.items())
        self._say(
            f"{used / 60 / _CORES:5.1f} min  {stats.decisions:>9,} decisions  {stats.games:>6,} games: won {shares}"
        )

    def _begin(self) -> None:
        self._began, self._measuring = time.monotonic(), 0.0
        self._spent_before = time.process_time()

    def _used(self) -> float:
        """CPU time of the training in seconds; without psutil, the wall time on two cores."""
        pids = self.loop.workers.pids if self.loop.workers is not None else []
        used = processor_seconds(pids)
        if used is None:
            return _CORES * (time.monotonic() - self._began)
        return used - self._spent_before - self._measuring


def write_curve(points: Sequence[Point], folder: Path) -> Path | None:
    """Save the measurements as JSON and, if matplotlib is installed, as a picture; returns the picture's path."""
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
