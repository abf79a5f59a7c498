"""One trial: a self-play run with its own settings, in slices; after each slice its model is evaluated."""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from understudy.models.state import read_model
from understudy.models.store import ModelStore
from understudy.parallel.loop import TrainingLoopManager
from understudy.rundir import RunDir
from understudy.settings import Settings
from understudy.tune.judge import Referee


@dataclass(frozen=True, slots=True)
class TrialPlan:
    """What all trials have in common. It is sent to other machines, so it contains no file names."""

    game: str
    settings: Settings
    base: bytes
    """The model with which every trial begins, as the bytes of a file."""
    slices: int
    decisions: int
    """Decisions per slice."""
    games: int
    """Evaluation games after each slice."""
    seed: int


def train(plan: TrialPlan, config: Mapping[str, Any], begun: bytes, done: int) -> Iterator[tuple[int, float, bytes]]:
    """Continue training from `begun` after `done` slices; yields (slices, score, model) after each further one."""
    settings = dataclasses.replace(
        plan.settings,
        training=dataclasses.replace(plan.settings.training, **config),
        parallel=dataclasses.replace(plan.settings.parallel, enabled=False, num_workers=1),
    )
    referee = Referee(plan.game)
    with tempfile.TemporaryDirectory(prefix="understudy-trial-", ignore_cleanup_errors=True) as folder:
        run = RunDir.at(folder)
        run.create()
        base, model = run.root / "base.npz", run.root / "begun.npz"
        base.write_bytes(plan.base)
        model.write_bytes(begun)
        store = ModelStore(run.model, run.ledger, keep=2)
        store.create(read_model(model))
        loop = TrainingLoopManager(
            plan.game, settings, {"network": {}, "training": dict(config)}, store=store, seed=plan.seed + done
        )
        for number in range(done + 1, plan.slices + 1):
            loop.run(decisions=(number - done) * plan.decisions)
            yield number, referee.score(store.newest, base, plan.games), Path(store.newest).read_bytes()
