"""WorkerPool: the interface of everything that plays matches for self-play: local processes, this process, or Ray.

The loop calls `start_workers` once, then `collect_experiences`, `sync_model_if_needed` and `release_experiences`
repeatedly, and `stop_workers` at the end.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

from understudy.errors import WorkersFailed
from understudy.models.live import LiveModel
from understudy.parallel.player import PlayerSpec
from understudy.parallel.rollout import Rollout, RolloutShape
from understudy.parallel.shared import Block
from understudy.parallel.synchronizer import ModelSynchronizer
from understudy.settings import ParallelSettings

logger = logging.getLogger(__name__)


class WorkerPool(ABC):
    """The `num_workers` workers of one run. The same seed gives the same matches in every kind of pool."""

    def __init__(self, players: PlayerSpec, shape: RolloutShape, settings: ParallelSettings) -> None:
        self._players = players
        self._shape = shape
        self._settings = settings
        self._synchronizer = ModelSynchronizer(settings)
        self._saved: Sequence[bytes] = ()
        self._incarnations = [0] * settings.workers  # how often each worker was replaced
        self._deaths_in_a_row = [0] * settings.workers

    @abstractmethod
    def start_workers(self, model: LiveModel, generation: int = 0, saved: Sequence[bytes] = ()) -> None:
        """Start all workers with the weights of this model; raises WorkersFailed if that is impossible.

        With `saved` matches of this generation, each worker continues its own.
        """

    @abstractmethod
    def collect_experiences(self, stop: threading.Event | None = None) -> list[Rollout]:
        """One rollout of each worker, in the order of workers; an empty list once `stop` is set.

        The rollouts are valid until `release_experiences`. Raises WorkersFailed if a worker died more than
        `max_restarts` times in a row.
        """

    @abstractmethod
    def release_experiences(self) -> None:
        """Allow the workers to overwrite the collected rollouts."""

    def sync_model_if_needed(self, model: LiveModel, *, force: bool = False) -> bool:
        """Send the weights if at least `sync_interval` decisions were learned from since the last time; True if so."""
        steps = model.trainer.steps
        if not (force or self._synchronizer.should_sync(steps)):
            return False
        block = self._synchronizer.prepare(model)
        self._deliver(block)
        self._synchronizer.mark_sync_completed(steps, len(block))
        return True

    @abstractmethod
    def save_matches(self) -> list[bytes] | None:
        """Snapshots of all workers, in order; None if one is missing because the game cannot save or a worker died."""

    @abstractmethod
    def reset_workers(self, generation: int) -> None:
        """Discard all matches and begin new ones, with the seeds of this generation."""

    @abstractmethod
    def pause_workers(self) -> None:
        """Pause all workers; nothing is lost."""

    @abstractmethod
    def resume_workers(self) -> None:
        """Resume all paused workers."""

    @abstractmethod
    def stop_workers(self) -> None:
        """End all workers and free their resources. Rollouts that were not collected are dropped."""

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers on this machine, in order; empty if they have no processes."""
        return []

    def get_parallel_stats(self) -> dict[str, Any]:
        """The state of the workers, the number of replacements, and how weights reached them."""
        workers = self._worker_facts()
        sync = self._synchronizer.get_sync_stats()
        return {"running": self._running, "restarts": sum(self._incarnations), "workers": workers, "sync": sync}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_workers()

    @property
    @abstractmethod
    def _running(self) -> bool:
        """Whether workers besides this process have been started."""

    @abstractmethod
    def _deliver(self, block: Block) -> None:
        """Give the workers these weights, which are valid until the next call."""

    def _worker_facts(self) -> list[dict[str, Any]]:
        """The state of each worker."""
        return []

    def _saved_for(self, worker: int) -> bytes | None:
        """The matches with which a worker starts. A replacement begins new ones."""
        return self._saved[worker] if worker < len(self._saved) and not self._incarnations[worker] else None

    def _count_death(self, worker: int, trouble: str) -> None:
        """Prepare the replacement of this worker; raises WorkersFailed if it died too often in a row."""
        self._deaths_in_a_row[worker] += 1
        if self._deaths_in_a_row[worker] > self._settings.max_restarts:
            failures = self._deaths_in_a_row[worker]
            raise WorkersFailed(f"Worker {worker} {trouble.removesuffix('.')}. Failures in a row: {failures}.")
        logger.warning("Worker %d %s; another one takes its place.", worker, trouble.removesuffix("."))
        self._incarnations[worker] += 1
