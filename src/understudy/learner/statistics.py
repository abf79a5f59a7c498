"""The learner's statistics, as users read them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy.games.spec import all_work
from understudy.ledger.connection import Ledger
from understudy.run.state import Activity, RunState


@dataclass(slots=True)
class Statistics:
    """The learner's statistics. Totals cover the whole run, restarts included; `errors` covers this process."""

    state: RunState = field(default_factory=lambda: RunState(Activity.STARTING))
    files_processed: int = 0
    batches_trained: int = 0
    total_samples: int = 0
    avg_loss: float | None = None
    last_loss: float | None = None
    total_processing_time: float = 0.0
    errors: int = 0
    last_error: str | None = None
    files_skipped_old: int = 0
    """Games archived without learning, for any reason."""
    skipped: dict[str, int] = field(default_factory=dict)
    """The same by reason, as far as status.json has it."""
    skipped_at: float | None = None
    outliers: list[Mapping[str, Any]] = field(default_factory=list)
    """Features with values far outside their range, in the last batch that had any: feature, value and game."""
    outliers_at: float | None = None
    files_rejected: int = 0
    games_salvaged: int = 0
    active_workers: int = 0
    max_workers: int = 1
    buffer_files: int = 0
    batch_wanted: int = 1
    """Games that the learner waits for before it trains."""
    archive_files: int = 0
    archive_bytes: int = 0
    last_training_time: float | None = None
    model_version: int | None = None
    staleness: float | None = None
    effective_sample_size: float | None = None
    started_at: float = 0.0
    state_since: float | None = None
    loop_seconds: float = 0.0
    """Seconds since the last turn of the loop. The heartbeat is another thread and continues while the loop hangs."""
    work: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_work_figures(), 0))
    """Figures of the background work of games, by the name that get_stats() shows."""
    jobs: dict[str, int] = field(default_factory=dict)
    workers: list[str] = field(default_factory=list)
    worker_deaths: int = 0
    resources: dict[str, float | None] = field(default_factory=dict)
    evaluation: dict[str, Any] | None = None
    gate: dict[str, Any] | None = None
    """Which version is on stage, and the evidence; see models/gate_report.py. None before there is a model."""
    model_trouble: dict[str, str] | None = None
    """`what` and `advice` while the model cannot learn and games are left in the buffer."""

    @classmethod
    def of_run(cls, ledger: Ledger) -> Statistics:
        """Totals of earlier processes, from the ledger."""
        totals = ledger.totals("learner")
        outcomes = ledger.games_by_outcome()
        return cls(
            files_processed=totals.games,
            batches_trained=totals.batches,
            total_samples=totals.steps,
            avg_loss=totals.average_loss,
            last_loss=totals.last_loss,
            total_processing_time=totals.seconds,
            last_training_time=totals.last_at,
            files_skipped_old=outcomes["skipped"],
            files_rejected=outcomes["rejected"],
            model_version=ledger.head(),
        )

    def add_batch(self, games: int, samples: int, loss: float, seconds: float, at: float) -> None:
        """Count one published batch; the average loss is over all batches."""
        self.files_processed += games
        self.total_samples += samples
        self.avg_loss = ((self.avg_loss or 0.0) * self.batches_trained + loss) / (self.batches_trained + 1)
        self.batches_trained += 1
        self.last_loss = loss
        self.total_processing_time += seconds
        self.last_training_time = at

    def add_skipped(self, games: Mapping[str, int], at: float) -> None:
        """Count games that were archived unlearned, by reason."""
        for reason, count in games.items():
            self.skipped[reason] = self.skipped.get(reason, 0) + count
            self.files_skipped_old += count
            self.skipped_at = at

    def add_outliers(self, outliers: Sequence[Mapping[str, Any]], at: float) -> None:
        """Store the outliers of a batch, if it had any."""
        if outliers:
            self.outliers, self.outliers_at = list(outliers), at

    def remember(self, before: Mapping[str, Any]) -> None:
        """Take over values that only an earlier status.json has."""
        self.skipped, self.skipped_at = dict(before.get("skipped") or {}), before.get("skipped_at")
        self.outliers, self.outliers_at = list(before.get("outliers") or []), before.get("outliers_at")
        self.work |= {name: before[name] for name in self.work if isinstance(before.get(name), int)}

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for status.json and get_stats()."""
        values: dict[str, Any] = dataclasses.asdict(self) | {"state": str(self.state)}
        work: dict[str, int] = values.pop("work")
        return values | work | {"models_trained": self.batches_trained}


def _work_figures() -> list[str]:
    return [figure for work in all_work().values() for figure, _ in work.figures.values()]
