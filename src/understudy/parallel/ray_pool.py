"""The workers of a run as actors of Ray: on this machine, or on the machines of a cluster that Ray has joined.

Rollouts and weights travel through Ray's object store; what is played is what any other worker plays.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import SettingsError, WorkersFailed
from understudy.models.live import LiveModel
from understudy.parallel.player import PlayerSpec
from understudy.parallel.rollout import Rollout, RolloutShape
from understudy.parallel.saved_matches import whole
from understudy.parallel.shared import Block
from understudy.parallel.synchronizer import ModelSynchronizer
from understudy.settings import ParallelSettings

try:
    import ray
except ImportError as error:
    raise SettingsError("parallel.backend is ray, which needs Ray: pip install 'understudy[ray]'.") from error

_WAIT_SECONDS = 0.1  # between two looks at whether to stop


class RayPlayer:
    """What an actor does: play a rollout with the weights it is given."""

    def __init__(
        self,
        players: PlayerSpec,
        shape: RolloutShape,
        settings: ParallelSettings,
        worker: int,
        incarnation: int,
        saved: bytes | None,
    ) -> None:
        self._player = players.open(worker, incarnation, saved)
        self._synchronizer = ModelSynchronizer(settings)
        self._memory = np.zeros(shape.nbytes, np.uint8)
        self._rollout = Rollout(shape, self._memory)

    def play(self, block: Block, generation: int) -> NDArray[np.uint8]:
        """The memory of the next rollout; matches begin anew when the generation is another one."""
        self._synchronizer.restore(block, self._player)
        if self._player.generation != generation:
            self._player.begin(generation)
        self._player.play(self._rollout)
        return self._memory

    def snapshot(self) -> bytes | None:
        """Where the matches are, after the rollout under way."""
        return self._player.snapshot()


class RayWorkers:
    """As many actors as there are workers. One that died is replaced; WorkersFailed when that does not help."""

    def __init__(self, players: PlayerSpec, shape: RolloutShape, settings: ParallelSettings) -> None:
        self._players = players
        self._shape = shape
        self._settings = settings
        self._synchronizer = ModelSynchronizer(settings)
        self._actors: list[Any] = []
        self._playing: list[Any] = []  # for each worker, what its rollout under way will be
        self._incarnations = [0] * settings.num_workers
        self._deaths_in_a_row = [0] * settings.num_workers
        self._started_ray = False

    def start_workers(self, model: LiveModel, generation: int = 0, saved: Sequence[bytes] = ()) -> None:
        """Join the cluster that `ray.init` was told of, or start Ray here, and make the actors.

        They go on with saved matches of this generation if there are any.
        """
        if not ray.is_initialized():
            try:
                ray.init(include_dashboard=False, log_to_driver=False)
            except (RuntimeError, OSError, ValueError) as error:
                raise WorkersFailed(f"Ray cannot be started: {error}.") from error
            self._started_ray = True
        self.reset_workers(generation)
        self.sync_model_if_needed(model)
        self._saved = saved
        self._actors = [self._actor(worker) for worker in range(self._settings.num_workers)]
        self._play_on()

    def collect_experiences(self, stop: threading.Event | None = None) -> list[Rollout]:
        """One rollout of each worker, in their order. Nothing once `stop` is set."""
        rollouts: list[Rollout] = []
        while len(rollouts) < len(self._actors):
            if stop is not None and stop.is_set():
                return []
            worker = len(rollouts)
            if not ray.wait([self._playing[worker]], timeout=_WAIT_SECONDS)[0]:
                continue
            try:
                memory = ray.get(self._playing[worker])
            except ray.exceptions.RayActorError as error:
                self._replace(worker, error)
                continue
            self._deaths_in_a_row[worker] = 0
            rollouts.append(Rollout(self._shape, memory))
        if self._settings.max_staleness:
            self._play_on()  # while this batch is learned from: what comes is one update old
        return rollouts

    def release_experiences(self) -> None:
        """Let synchronous workers go on: the newest weights are out."""
        if not self._settings.max_staleness:
            self._play_on()

    def sync_model_if_needed(self, model: LiveModel, *, force: bool = False) -> bool:
        """Put the model's weights where actors find them, if they are due; True if so."""
        steps = model.trainer.steps
        if not (force or self._synchronizer.should_sync(steps)):
            return False
        block = self._synchronizer.prepare(model)
        self._weights = ray.put(block)
        self._synchronizer.mark_sync_completed(steps, len(block))
        return True

    def save_matches(self) -> list[bytes] | None:
        """Snapshots of all actors, in their order; None if one is missing: the game cannot, or it died."""
        try:
            return whole(ray.get([actor.snapshot.remote() for actor in self._actors]))
        except ray.exceptions.RayActorError:
            return None

    def reset_workers(self, generation: int) -> None:
        """Let the next rollouts begin their matches anew, with the seeds of this generation."""
        self._generation = generation

    def pause_workers(self) -> None:
        """Nothing to do: actors finish what they are at, and get nothing new before it is collected."""

    def resume_workers(self) -> None:
        """Nothing to do, as for a pause."""

    def stop_workers(self) -> None:
        """End all actors, and Ray if it was started here. What was not collected is dropped."""
        for actor in self._actors:
            ray.kill(actor)
        self._actors, self._playing = [], []
        if self._started_ray:
            self._started_ray = False
            ray.shutdown()

    @property
    def pids(self) -> list[int]:
        """No process of its own that could be told from others."""
        return []

    def get_parallel_stats(self) -> dict[str, Any]:
        """How many actors were replaced, and how weights reached them."""
        running = bool(self._actors)
        restarts = sum(self._incarnations)
        return {"running": running, "restarts": restarts, "workers": [], "sync": self._synchronizer.get_sync_stats()}

    def _actor(self, worker: int) -> Any:
        incarnation = self._incarnations[worker]
        saved = self._saved[worker] if self._saved and not incarnation else None
        arguments = (self._players, self._shape, self._settings, worker, incarnation, saved)
        return ray.remote(num_cpus=1)(RayPlayer).remote(*arguments)

    def _play(self, worker: int) -> Any:
        return self._actors[worker].play.remote(self._weights, self._generation)

    def _play_on(self) -> None:
        self._playing = [self._play(worker) for worker in range(len(self._actors))]

    def _replace(self, worker: int, error: Exception) -> None:
        self._deaths_in_a_row[worker] += 1
        if self._deaths_in_a_row[worker] > self._settings.max_restarts:
            raise WorkersFailed(f"Worker {worker} died {self._deaths_in_a_row[worker]} times in a row: {error}")
        self._incarnations[worker] += 1
        self._actors[worker] = self._actor(worker)
        self._playing[worker] = self._play(worker)
