"""TrainingLoopManager: play → update → weights to the workers → now and then a published version, and again.

With `parallel.enabled` worker processes play; without it, or when they keep dying, the same workers play in here.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from understudy.errors import NonFiniteError, WorkersFailed
from understudy.games.game import open_game
from understudy.learner.control import PAUSED
from understudy.learner.heartbeat import heartbeat
from understudy.learner.run_lock import StopRequest
from understudy.learning.trainer import UpdateStats
from understudy.machine.load_log import LoadLog
from understudy.machine.resources import Sensor, as_dict
from understudy.models.live import Interface, LiveModel, open_model
from understudy.models.store import ModelStore
from understudy.parallel.local import ParallelManager
from understudy.parallel.player import PlayerSpec
from understudy.parallel.rollout import Rollout, RolloutShape, as_batch
from understudy.parallel.saved_matches import MatchKeeper
from understudy.parallel.sequential import SequentialWorkers
from understudy.settings import NetworkSettings, Settings, TrainingSettings
from understudy.status import write_status

if TYPE_CHECKING:
    from understudy.parallel.ray_pool import RayWorkers

    Workers = ParallelManager | SequentialWorkers | RayWorkers

logger = logging.getLogger(__name__)

_STATUS_SECONDS = 1.0
_PAUSE_SECONDS = 0.5  # between two looks at whether a pause is over
_MOST_REFUSED = 10  # updates in a row
_FEW_GAMES = 20  # say little about how long games are


@dataclass(slots=True)
class LoopStats:
    """What a run of the loop did so far."""

    mode: str = "sequential"
    updates: int = 0
    decisions: int = 0
    games: int = 0
    seconds: float = 0.0
    staleness: float = 0.0
    """Updates between the weights that played the last batch and those that learned from it: the mean over it."""
    max_staleness: int = 0
    effective_sample_size: float = 1.0
    restarts: int = 0
    refused_updates: int = 0
    returns: deque[float] = field(default_factory=lambda: deque(maxlen=100))
    last: UpdateStats | None = None

    @property
    def mean_return(self) -> float:
        """The mean return of the last hundred games, as the first player sees it; NaN before there is one."""
        return sum(self.returns) / len(self.returns) if self.returns else float("nan")

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for status.json."""
        plain = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in ("returns", "last")}
        return plain | {"mean_return": self.mean_return if self.returns else None}


class TrainingLoopManager:
    """Trains one model by self-play. With a store, it goes on from what is published there, and publishes.

    `given` says, by section, which settings of network and training a published model must take over; None means those
    that differ from the defaults. What it does not say, a new model has as the game recommends.
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
        on_update: Callable[[LoopStats, Sequence[Rollout]], None] | None = None,
    ) -> None:
        self.settings = settings
        self.stats = LoopStats()
        self._store = store
        self._status = status
        self._loads = None if loads is None else LoadLog(loads)
        self._sensor = Sensor()
        self._on_update = on_update
        matches = settings.parallel.games_per_worker
        opened = open_game(game, matches)
        try:
            shape = RolloutShape.of(opened, settings.parallel)
            game_name, recommended = opened.name, opened.model_settings()
            interface = Interface(opened.state_dim, opened.actions, opened.features_hash, opened.features)
        finally:
            opened.close()
        if given is None:
            defaults = Settings()
            given = {
                name: _changes(getattr(settings, name), getattr(defaults, name)) for name in ("network", "training")
            }
        own = recommended if store is None or not store.model.exists() else {}
        advised, training = dict(own.get("network", {})), {**own.get("training", {}), **given["training"]}
        if "policy" in advised and given["network"].get("policy", advised["policy"]) != advised["policy"]:
            advised = {}  # it is advice for another kind of network
        network = advised | dict(given["network"])
        self.model: LiveModel = open_model(store, interface, None, network, training, seed=seed, publish=True)
        self._shape = dataclasses.replace(shape, reach=self.model.network.reach)
        self.model.network.use_threads(settings.parallel.learner_threads)
        model = self.model.base
        offset = settings.parallel.worker_seed_offset
        self._players = PlayerSpec(game, matches, model.spec, model.training.normalize_states, seed, offset)
        of = {"game": game_name, "seed": seed, "seed_offset": offset, "matches": matches}
        self._matches = MatchKeeper(store, settings.parallel.num_workers, of)
        self._generation = 0
        self._game_lengths: deque[int] = deque(maxlen=100)
        self._short_memory: str | None = None
        self._published_at = self.model.trainer.updates
        self._published = (0, 0, 0.0)  # games, decisions and seconds of this loop that a version has told of
        self._started_at = time.time()
        self._said: dict[str, Any] = {}  # what the heart beats with; it is replaced, never changed
        self._said_at = 0.0
        self._pids: list[int] = []
        self.workers: Workers | None = None
        """Who plays; None before the first run."""

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
        self.model.trainer.compile()
        began = time.monotonic()
        limits = (("updates", updates), ("decisions", decisions), ("seconds", seconds))
        given = [(name, limit) for name, limit in limits if limit is not None]

        def over() -> bool:
            return request.event.is_set() or any(getattr(self.stats, name) >= limit for name, limit in given)

        self._say("starting", None)
        self._beat()
        with heartbeat(self._beat):
            self.workers = self._start()
            try:
                self._train(request, began, over)
                if self._store is None or self.model.trainer.updates != self._published_at:
                    self._checkpoint(self.workers)
            finally:
                self.workers.stop_workers()
                self._publish()
                self._say("stopped", None)
        self._beat()
        return self.stats

    def _train(self, request: StopRequest, began: float, over: Callable[[], bool]) -> None:
        assert self.workers is not None
        while not request.event.is_set():
            if request.paused_by:
                began += self._stand_still(self.workers, request)
                continue
            # Worker processes keep what they are at during a pause. In this process it would be lost: it is finished.
            heeded = request.event if self.stats.mode == "sequential" else request.attention
            try:
                rollouts = self.workers.collect_experiences(heeded)
            except WorkersFailed as error:
                self.workers = self._fall_back(self.workers, error)
                continue
            if rollouts:
                self._learn(self.workers, rollouts, began, over)
            self.stats.seconds = time.monotonic() - began
            if time.monotonic() - self._said_at >= _STATUS_SECONDS:
                self._say("running", self.workers)
            if over():
                break

    def _stand_still(self, workers: Workers, request: StopRequest) -> float:
        """Pause until somebody resumes, or asks for the end; how long that was, in seconds."""
        began, by = time.monotonic(), request.paused_by
        logger.info("Paused by %s; nothing is lost.", by)
        workers.pause_workers()
        while request.paused_by and not request.event.is_set():
            self._say(f"{PAUSED} of {by}", workers)
            request.event.wait(_PAUSE_SECONDS)
        workers.resume_workers()
        logger.info("It goes on.")
        self._say("running", workers)
        return time.monotonic() - began

    def perform_ppo_update(self, rollouts: Sequence[Rollout]) -> UpdateStats | None:
        """One update of the model from these rollouts; None if it was refused, and the model is as before."""
        version = self.model.trainer.updates
        try:
            update = self.model.trainer.update_batch(as_batch(rollouts, version))
        except NonFiniteError as error:
            self.stats.refused_updates += 1
            if self.stats.refused_updates >= _MOST_REFUSED:
                raise
            logger.warning("%s", error)
            return None
        stats = self.stats
        ages = [version - rollout["version"] for rollout in rollouts]
        stats.refused_updates = 0
        stats.updates += 1
        stats.decisions += update.total_steps
        stats.games += update.games
        stats.staleness = sum(ages) / len(ages)
        stats.max_staleness = max(stats.max_staleness, *ages)
        stats.effective_sample_size = update.effective_sample_size
        stats.last = update
        for rollout in rollouts:
            returns, lengths = rollout.results()
            stats.returns.extend(returns.tolist())
            self._game_lengths.extend(lengths.tolist())
        self._look_at_memory()
        return update

    def _look_at_memory(self) -> None:
        """Say, once, if games are longer than the network looks back."""
        if self._short_memory is None and len(self._game_lengths) >= _FEW_GAMES:
            self._short_memory = self.model.network.short_memory(sum(self._game_lengths) / len(self._game_lengths))
            if self._short_memory is not None:
                logger.warning("%s", self._short_memory)

    def _learn(self, workers: Workers, rollouts: Sequence[Rollout], began: float, over: Callable[[], bool]) -> None:
        learned = self.perform_ppo_update(rollouts)
        self.stats.seconds = time.monotonic() - began
        if self._on_update is not None and learned is not None:
            self._on_update(self.stats, rollouts)
        updates = self.model.trainer.updates
        checkpoint = learned is not None and (updates % self.settings.parallel.checkpoint_updates == 0 or over())
        if checkpoint:  # synchronous workers wait between two rollouts now
            self._checkpoint(workers)
        workers.sync_model_if_needed(self.model, force=checkpoint)
        self.stats.restarts = workers.get_parallel_stats()["restarts"]
        workers.release_experiences()

    def _checkpoint(self, workers: Workers) -> None:
        """Publish what is new; a synchronous run saves its matches first, so that it can go on from there exactly."""
        if self._synchronous:
            self._matches.save(self.model, self._generation, workers.save_matches)
        self._publish()

    @property
    def _synchronous(self) -> bool:
        return self.stats.mode == "sequential" or self.settings.parallel.max_staleness == 0

    def _start(self) -> Workers:
        self.stats.mode = "parallel" if self.settings.parallel.enabled else "sequential"
        saved = self._matches.find(self.model) if self._synchronous and self.model.trainer.updates else None
        self._generation = self.model.trainer.updates if saved is None else saved.generation
        players = () if saved is None else saved.players
        if self.settings.parallel.enabled:
            manager = self._worker_processes()
            try:
                manager.start_workers(self.model, self._generation, players)
            except WorkersFailed as error:
                return self._fall_back(manager, error)
            return manager
        workers = SequentialWorkers(self._players, self._shape, self.settings.parallel)
        workers.start_workers(self.model, self._generation, players)
        return workers

    def _worker_processes(self) -> ParallelManager | RayWorkers:
        if self.settings.parallel.backend == "local":
            return ParallelManager(self._players, self._shape, self.settings.parallel)
        from understudy.parallel.ray_pool import RayWorkers  # noqa: PLC0415 - the door to Ray

        return RayWorkers(self._players, self._shape, self.settings.parallel)

    def _fall_back(self, failed: Workers, error: WorkersFailed) -> SequentialWorkers:
        """Go on in this process, with matches that no worker has begun."""
        logger.warning("%s The run goes on sequentially, in this process.", error)
        failed.stop_workers()
        self.stats.mode = "sequential"
        self._generation = self.model.trainer.updates
        workers = SequentialWorkers(self._players, self._shape, self.settings.parallel)
        workers.start_workers(self.model, self._generation, incarnation=-1 % 2**32)
        return workers

    def _publish(self) -> None:
        """Publish what was learned since the last version."""
        if self._store is None or self.model.trainer.updates == self._published_at:
            return
        stats = self.stats
        done = stats.games, stats.decisions, stats.seconds
        games, steps, seconds = (now - before for now, before in zip(done, self._published, strict=True))
        last = {} if stats.last is None else self.model.facts(stats.last)
        facts = last | stats.as_dict() | {"games": games, "total_steps": steps, "seconds": seconds}
        self.model.publish(self._store, publisher="selfplay", stats=facts)
        self._matches.prune(self.model.version)
        self._published_at, self._published = self.model.trainer.updates, done

    def _say(self, state: str, workers: Workers | None) -> None:
        """Note what the next heartbeats tell. The thread of the heart touches neither figures nor workers."""
        self._said_at = time.monotonic()
        known = [] if workers is None else workers.get_parallel_stats()["workers"]
        self._pids = [] if workers is None else workers.pids
        self._said = {
            "state": state,
            "started_at": self._started_at,
            "model_version": self.model.version,
            "selfplay": self.stats.as_dict(),
            "active_workers": sum(worker["state"] == "playing" for worker in known),
            "max_workers": self.settings.parallel.num_workers if self.stats.mode == "parallel" else 0,
            "workers": [f"worker {worker['worker']}: {worker['state']}" for worker in known],
        }

    def _beat(self) -> None:
        if self._status is None:
            return
        said = self._said
        resources = as_dict(self._sensor.read(self._pids))
        try:
            write_status(self._status, said | {"resources": resources})
            if self._loads is not None and said["state"] != "stopped":
                self._loads.note(resources, said["active_workers"])
        except OSError as error:
            logger.debug("The status was not written: %s", error)  # publishing says what is wrong with the disk


def _changes(settings: NetworkSettings | TrainingSettings, default: object) -> Mapping[str, Any]:
    values = {f.name: getattr(settings, f.name) for f in dataclasses.fields(settings)}
    return {name: value for name, value in values.items() if value != getattr(default, name)}
