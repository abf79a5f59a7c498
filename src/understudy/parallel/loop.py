"""TrainingLoopManager: play, update, send weights to the workers, publish a version from time to time, repeat.

With `parallel.enabled`, worker processes play; without it, or if they keep dying, the same workers play in this
process.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from understudy.errors import NonFiniteError, WorkersFailed
from understudy.learning.update_stats import UpdateStats
from understudy.models.store import ModelStore
from understudy.parallel.first_model import open_start
from understudy.parallel.local import ParallelManager, require_room
from understudy.parallel.loop_stats import LoopStats
from understudy.parallel.loop_status import LoopStatus
from understudy.parallel.pool import WorkerPool
from understudy.parallel.rollout import Rollout, as_batch
from understudy.parallel.saved_matches import MatchKeeper
from understudy.parallel.sequential import SequentialWorkers
from understudy.run.heartbeat import heartbeat
from understudy.run.lock import StopRequest
from understudy.run.state import Activity, RunState
from understudy.run.update_log import UpdateLog
from understudy.settings import Settings

logger = logging.getLogger(__name__)

_STATUS_SECONDS = 1.0
_PAUSE_SECONDS = 0.5  # between two checks whether a pause is over
_MOST_REFUSED = 10  # updates in a row
_FEW_GAMES = 20  # with fewer, the mean length of games is too uncertain
_FALL_BACK = -1 % 2**32  # other matches than those of dead workers


class TrainingLoopManager:
    """Trains one model by self-play. With a store, it continues from the published model, and publishes.

    `given` lists, by section, the settings of network and training that override a published model; None means those
    that differ from the defaults. All other settings of a new model are those that the game recommends.
    """

    def __init__(
        self,
        game: str,
        settings: Settings,
        given: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        store: ModelStore | None = None,
        seed: int = 0,
        status: Path | None = None,
        loads: Path | None = None,
        updates: Path | None = None,
        on_update: Callable[[LoopStats, Sequence[Rollout]], None] | None = None,
    ) -> None:
        self.settings = settings
        self.stats = LoopStats()
        self._store = store
        self._on_update = on_update
        if settings.parallel.enabled and settings.parallel.backend == "local":
            require_room(settings.parallel)
        start = open_start(game, settings, given, store, seed)
        self.model = start.model
        self._players, self._shape = start.players, start.shape
        self._backend = settings.parallel.backend
        self._matches = MatchKeeper(store, None if self._elastic else settings.parallel.workers, start.identity)
        self._status = LoopStatus(status, loads)
        self._updates = UpdateLog(updates, self.model.trainer.updates)
        self._generation = 0
        self._short_memory: str | None = None
        self._published_at = self.model.trainer.updates
        self._published = (0, 0, 0.0)  # games, decisions and seconds of this loop that published versions have reported
        self.workers: WorkerPool | None = None
        """The pool that plays; None before the first run."""

    def run(
        self,
        request: StopRequest | None = None,
        *,
        updates: int | None = None,
        decisions: int | None = None,
        seconds: float | None = None,
    ) -> LoopStats:
        """Train until asked to stop or until one of the limits of this run is reached; then publish what is new."""
        request = request or StopRequest()
        self.model.network.compile()
        began = time.monotonic()
        limits = (("updates", updates), ("decisions", decisions), ("seconds", seconds))
        given = [(name, limit) for name, limit in limits if limit is not None]

        def over() -> bool:
            return request.event.is_set() or any(getattr(self.stats, name) >= limit for name, limit in given)

        self._note(Activity.STARTING)
        self._status.beat()
        with heartbeat(self._status.beat):
            self.workers = self._start()
            try:
                self._train(request, began, over)
                if self._store is None or self.model.trainer.updates != self._published_at:
                    self._checkpoint(self.workers)
            finally:
                self._updates.flush()
                self.workers.stop_workers()
                self._publish()
                self._note(Activity.STOPPED)
        self._status.beat()
        return self.stats

    @property
    def two_players(self) -> bool:
        """Whether the game has two players, so that returns are those of the first player."""
        return self._shape.two_players

    @property
    def _elastic(self) -> bool:
        """Whether the number of workers changes with a cluster."""
        parallel = self.settings.parallel
        return parallel.enabled and parallel.backend == "ray" and not parallel.num_workers

    def _start(self, *, new: bool = False) -> WorkerPool:
        """Start the workers, with the matches saved with the published version if they can be continued."""
        self.stats.mode = "parallel" if self.settings.parallel.enabled else "sequential"
        saved = None
        if not new and self._synchronous and self.model.trainer.updates:
            saved = self._matches.find(self.model)
        self._generation = self.model.trainer.updates if saved is None else saved.generation
        pool = self._new_pool()
        try:
            pool.start_workers(self.model, self._generation, () if saved is None else saved.players)
        except WorkersFailed as error:
            return self._fall_back(pool, error)
        return pool

    def _new_pool(self) -> WorkerPool:
        parallel = self.settings.parallel
        if not parallel.enabled:
            return SequentialWorkers(self._players, self._shape, parallel)
        if self._backend == "local":
            return ParallelManager(self._players, self._shape, parallel)
        from understudy.parallel.ray_pool import RayWorkers  # noqa: PLC0415 - the door to Ray

        return RayWorkers(self._players, self._shape, parallel)

    def _fall_back(self, failed: WorkerPool, error: WorkersFailed) -> WorkerPool:
        """Continue with processes on this machine if Ray failed, else in this process; with new matches."""
        failed.stop_workers()
        if self._backend == "ray":
            self._backend = "local"
            logger.warning("%s The run continues with worker processes of this machine.", error)
            return self._start(new=True)
        logger.warning("%s The run continues sequentially, in this process.", error)
        self.stats.mode = "sequential"
        self._generation = self.model.trainer.updates
        pool = SequentialWorkers(self._players, self._shape, self.settings.parallel, incarnation=_FALL_BACK)
        pool.start_workers(self.model, self._generation)
        return pool

    def _train(self, request: StopRequest, began: float, over: Callable[[], bool]) -> None:
        """Play and learn alternately until the end."""
        assert self.workers is not None
        while not request.event.is_set():
            if request.paused_by:
                began += self._stand_still(self.workers, request)
                continue
            try:
                rollouts = self.workers.collect_experiences(self._interruption(request))
            except WorkersFailed as error:
                if self.stats.mode == "sequential":
                    raise
                self.workers = self._fall_back(self.workers, error)
                continue
            if rollouts:
                self._learn(self.workers, rollouts, began, over)
            self.stats.seconds = time.monotonic() - began
            if self._status.age >= _STATUS_SECONDS:
                self._note(Activity.RUNNING, self.workers)
            if over():
                break

    def _interruption(self, request: StopRequest) -> threading.Event:
        """The condition that interrupts the collection of rollouts.

        Worker processes keep an unfinished rollout during a pause. In this process it would be lost, so it is finished
        first.
        """
        return request.event if self.stats.mode == "sequential" else request.attention

    def _learn(self, pool: WorkerPool, rollouts: Sequence[Rollout], began: float, over: Callable[[], bool]) -> None:
        """Make one update, and send the new weights to the workers."""
        learned = self.perform_ppo_update(rollouts)
        self.stats.seconds = time.monotonic() - began
        if learned is not None:
            self._log_update(learned)
        if self._on_update is not None and learned is not None:
            self._on_update(self.stats, rollouts)
        updates = self.model.trainer.updates
        checkpoint = learned is not None and (updates % self.settings.parallel.checkpoint_updates == 0 or over())
        if checkpoint:  # synchronous workers are now waiting between two rollouts
            self._checkpoint(pool)
        pool.sync_model_if_needed(self.model, force=checkpoint)
        self.stats.restarts = pool.get_parallel_stats()["restarts"]
        pool.release_experiences()

    def _log_update(self, learned: UpdateStats) -> None:
        stats, trainer = self.stats, self.model.trainer
        values = self.model.facts(learned) | {"mean_return": stats.mean_return, "staleness": stats.staleness}
        values["players"] = 2 if self.two_players else 1
        self._updates.note(trainer.updates, self.model.version, stats.games, stats.decisions, values)

    def perform_ppo_update(self, rollouts: Sequence[Rollout]) -> UpdateStats | None:
        """One update of the model from these rollouts; None if it was refused and the model is unchanged."""
        version = self.model.trainer.updates
        try:
            update = self.model.trainer.update_batch(as_batch(rollouts, version))
        except NonFiniteError as error:
            self.stats.refused_updates += 1
            if self.stats.refused_updates >= _MOST_REFUSED:
                raise
            logger.warning("%s", error)
            return None
        self.stats.add_update(update, rollouts, version)
        self._check_memory()
        return update

    def _check_memory(self) -> None:
        """Warn once if games are longer than the network looks back."""
        lengths = self.stats.lengths
        if self._short_memory is None and len(lengths) >= _FEW_GAMES:
            self._short_memory = self.model.network.short_memory(sum(lengths) / len(lengths))
            if self._short_memory is not None:
                logger.warning("%s", self._short_memory)

    def _checkpoint(self, pool: WorkerPool) -> None:
        """Publish new training. A synchronous run first saves its matches, so that it can be resumed exactly."""
        if self._synchronous:
            self._matches.save(self.model, self._generation, pool.save_matches)
        self._publish()

    @property
    def _synchronous(self) -> bool:
        return self.stats.mode == "sequential" or self.settings.parallel.max_staleness == 0

    def _publish(self) -> None:
        """Publish the training since the last version."""
        if self._store is None or self.model.trainer.updates == self._published_at:
            return
        stats = self.stats
        done = stats.games, stats.decisions, stats.seconds
        games, steps, seconds = (now - before for now, before in zip(done, self._published, strict=True))
        last = {} if stats.last is None else self.model.facts(stats.last)
        facts = last | stats.as_dict() | {"games": games, "total_steps": steps, "seconds": seconds}
        facts["game"] = self._players.game  # `understudy evaluate` plays this game
        self.model.publish(self._store, publisher="selfplay", stats=facts)
        self._matches.prune(self.model.version)
        self._published_at, self._published = self.model.trainer.updates, done

    def _stand_still(self, pool: WorkerPool, request: StopRequest) -> float:
        """Pause until somebody resumes or stops the run; returns the duration in seconds."""
        began, by = time.monotonic(), request.paused_by
        logger.info("Paused by %s; nothing is lost.", by)
        pool.pause_workers()
        while request.paused_by and not request.event.is_set():
            self._note(Activity.PAUSED, pool, by)
            request.event.wait(_PAUSE_SECONDS)
        pool.resume_workers()
        logger.info("Resumed.")
        self._note(Activity.RUNNING, pool)
        return time.monotonic() - began

    def _note(self, activity: Activity, pool: WorkerPool | None = None, detail: str = "") -> None:
        """Set the state for the next heartbeats."""
        self._status.note(
            RunState(activity, detail),
            pool,
            model_version=self.model.version,
            selfplay=self.stats.as_dict() | {"game": self._players.game},
            max_workers=self.settings.parallel.workers if self.stats.mode == "parallel" else 0,
        )
