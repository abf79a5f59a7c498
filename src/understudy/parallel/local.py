"""ParallelManager: starts the worker processes, keeps them alive, and takes what they play."""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from understudy.errors import WorkersFailed
from understudy.machine.priority import ONE_BLAS_THREAD
from understudy.models.live import LiveModel
from understudy.parallel.communicator import Field, Plan, State, WorkerCommunicator, nap
from understudy.parallel.player import PlayerSpec
from understudy.parallel.rollout import Rollout, RolloutShape
from understudy.parallel.saved_matches import whole
from understudy.parallel.synchronizer import ModelSynchronizer
from understudy.parallel.worker import WorkerSpec, run_worker, unmark
from understudy.settings import ParallelSettings

logger = logging.getLogger(__name__)

_START_SECONDS = 180.0  # to import the libraries of a game, on a busy machine
_STOP_SECONDS = 3.0  # to end when asked; after it a worker is terminated, then killed
_LOOK_AFTER_SECONDS = 0.05  # asking the system whether processes live costs more than looking for rollouts


class ParallelManager:
    """The workers of one run. A dead or silent one is replaced; WorkersFailed when that does not help."""

    def __init__(self, players: PlayerSpec, shape: RolloutShape, settings: ParallelSettings) -> None:
        self._players = players
        self._shape = shape
        self._settings = settings
        self._context = multiprocessing.get_context("spawn")
        self._synchronizer = ModelSynchronizer(settings)
        self._communicator: WorkerCommunicator | None = None
        self._processes: list[SpawnProcess] = []
        self._snapshots: dict[int, Connection] = {}  # where workers send their matches
        self._saved: Sequence[bytes] = ()
        self._started_at = [0.0] * settings.num_workers
        self._incarnations = [0] * settings.num_workers
        self._deaths_in_a_row = [0] * settings.num_workers
        self._restarts = 0
        self._looked_after_at = 0.0
        self._last_wait = 0.0  # seconds, for rollouts

    def start_workers(self, model: LiveModel, generation: int = 0, saved: Sequence[bytes] = ()) -> None:
        """Start all workers with the weights of this model; raises WorkersFailed if that is impossible.

        They go on with saved matches of this generation if there are any.
        """
        settings = self._settings
        slots = settings.max_queue_size
        plan = Plan(settings.num_workers, slots, self._shape, ModelSynchronizer.capacity(model.network))
        try:
            self._communicator = WorkerCommunicator(plan)
        except OSError as error:
            raise WorkersFailed(f"{plan.nbytes:,} bytes of shared memory cannot be had: {error}.") from error
        self.reset_workers(generation)
        self.sync_model_if_needed(model)
        self._open.numbers[:, Field.ADMITTED] = 1
        self._saved = saved
        self._processes = [self._start(worker) for worker in range(settings.num_workers)]

    def collect_experiences(self, stop: threading.Event | None = None) -> list[Rollout]:
        """One rollout of each worker, in their order; valid until `release_experiences`. Nothing once `stop` is set.

        A worker that is being replaced is not waited for, as long as another one plays; what it handed over before is
        taken. Raises WorkersFailed when a worker died more than `max_restarts` times in a row.
        """
        self._admit()
        began = time.monotonic()
        while stop is None or not stop.is_set():
            self._look_after_workers()
            ready = [w for w, ring in enumerate(self._open.rings) if ring.ready]
            awaited = [w for w in range(self._settings.num_workers) if self._plays(w)]
            if ready and set(awaited) <= set(ready):
                for worker in ready:
                    self._deaths_in_a_row[worker] = 0
                self._last_wait = time.monotonic() - began
                return self._open.collect_experiences(ready)
            if not awaited:
                self._admit()
            nap(began, self._last_wait)
        return []

    def release_experiences(self) -> None:
        """Let the workers go on: what was collected is learned from."""
        self._open.release_experiences()

    def sync_model_if_needed(self, model: LiveModel, *, force: bool = False) -> bool:
        """Show the model's weights to the workers if `sync_interval` decisions were learned from since; True if so."""
        steps = model.trainer.steps
        if not (force or self._synchronizer.should_sync(steps)):
            return False
        block = self._synchronizer.prepare(model)
        self._open.send_model_weights(block)
        self._synchronizer.mark_sync_completed(steps, len(block))
        return True

    def save_matches(self) -> list[bytes] | None:
        """Snapshots of what all workers play, in their order; None if one is missing: the game cannot, or it died.

        A worker that is in the middle of a rollout gives it up.
        """
        self._open.send_control_command("snapshot")
        return whole([self._snapshot(worker) for worker in range(len(self._processes))])

    def reset_workers(self, generation: int) -> None:
        """Let all workers give up their matches and begin anew, with the seeds of this generation."""
        self._open.send_control_command("reset", generation=generation)

    def pause_workers(self) -> None:
        """Let all workers stand still; nothing is lost."""
        self._open.send_control_command("pause")

    def resume_workers(self) -> None:
        """Let paused workers go on."""
        self._open.send_control_command("resume")

    def report_workers(self, timeout: float = 1.0) -> list[dict[str, Any]]:
        """Ask every worker for a sign of life; what is known of each, and whether it has `answered` in time."""
        numbers = self._open.numbers
        self._open.send_control_command("report")
        began = time.monotonic()
        while time.monotonic() < began + timeout:
            if (numbers[:, Field.REPORT_GIVEN] == numbers[:, Field.REPORT_ASKED]).all():
                break
            nap(began)
        answered = (numbers[:, Field.REPORT_GIVEN] == numbers[:, Field.REPORT_ASKED]).tolist()
        infos = self._open.get_queue_info()
        return [info | {"answered": did} for info, did in zip(infos, answered, strict=True)]

    def stop_workers(self) -> None:
        """End all workers, within 5 seconds, and let go of the shared memory. What was not collected is dropped."""
        if self._communicator is None:
            return
        self._communicator.send_control_command("stop")
        deadline = time.monotonic() + _STOP_SECONDS
        for process in self._processes:
            process.join(max(deadline - time.monotonic(), 0.01))
        for end in (SpawnProcess.terminate, SpawnProcess.kill):
            late = [process for process in self._processes if process.is_alive()]
            for process in late:
                end(process)
            for process in late:
                process.join(0.5)
        for process in self._processes:
            process.close()
        for connection in self._snapshots.values():
            connection.close()
        self._processes, self._snapshots = [], {}
        self._communicator.cleanup()
        self._communicator = None

    def get_parallel_stats(self) -> dict[str, Any]:
        """What the workers did and do, and how weights reached them."""
        running = self._communicator is not None
        workers = self._open.get_queue_info() if running else []
        return {
            "running": running,
            "healthy": self.is_healthy(),
            "restarts": self._restarts,
            "workers": workers,
            "sync": self._synchronizer.get_sync_stats(),
        }

    def is_healthy(self) -> bool:
        """Whether every worker is alive and gave a sign of life within `timeout_seconds`."""
        return bool(self._processes) and all(self._trouble(w) is None for w in range(len(self._processes)))

    @property
    def segment(self) -> str:
        """The name of the shared memory; empty when there is none."""
        return "" if self._communicator is None else self._communicator.name

    @property
    def pids(self) -> list[int]:
        """The processes of the workers, in their order."""
        return [process.pid or 0 for process in self._processes]

    def __enter__(self) -> ParallelManager:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_workers()

    @property
    def _open(self) -> WorkerCommunicator:
        if self._communicator is None:
            raise WorkersFailed("The workers are not started; call start_workers first.")
        return self._communicator

    def _start(self, worker: int) -> SpawnProcess:
        row = self._open.numbers[worker]
        row[Field.HEARTBEAT], row[Field.STATE] = time.monotonic_ns(), State.STARTING
        self._started_at[worker] = time.monotonic()
        incarnation = self._incarnations[worker]
        saved = self._saved[worker] if self._saved and not incarnation else None
        spec = WorkerSpec(worker, incarnation, self._players, self._open.plan, self._open.name, self._settings, saved)
        receiver, sender = self._context.Pipe(duplex=False)
        if worker in self._snapshots:
            self._snapshots[worker].close()
        self._snapshots[worker] = receiver
        row[Field.SNAPSHOT_GIVEN] = row[Field.SNAPSHOT_ASKED]  # what its predecessor was asked is no business of it
        process = self._context.Process(target=run_worker, args=(spec, sender), name=f"understudy-worker-{worker}")
        process.daemon = True
        try:
            with _one_blas_thread():
                process.start()
        except OSError as error:
            raise WorkersFailed(f"Worker {worker} cannot be started: {error}.") from error
        finally:
            sender.close()  # the worker has its own: when it dies, the pipe ends
        return process

    def _snapshot(self, worker: int) -> bytes | None:
        connection, began = self._snapshots[worker], time.monotonic()
        asked = int(self._open.numbers[worker, Field.SNAPSHOT_ASKED])
        while time.monotonic() - began < self._settings.timeout_seconds and self._trouble(worker) is None:
            try:
                if connection.poll(_LOOK_AFTER_SECONDS):
                    number, snapshot = unmark(connection.recv_bytes())
                    if number == asked:  # an older one came after its time
                        return snapshot or None
            except (EOFError, OSError):  # it died
                return None
        return None

    def _plays(self, worker: int) -> bool:
        return bool(self._open.numbers[worker, Field.ADMITTED] == self._incarnations[worker] + 1)

    def _admit(self) -> None:
        """Count on the workers that have started anew.

        They may not play before: updates that do not wait for their first batch would make it staler than allowed.
        """
        for worker, row in enumerate(self._open.numbers):
            if not self._plays(worker) and row[Field.STATE] == State.WAITING:
                row[Field.ADMITTED] = self._incarnations[worker] + 1

    def _look_after_workers(self) -> None:
        """Replace workers that are dead or silent, looked at now and then."""
        now = time.monotonic()
        if now - self._looked_after_at < _LOOK_AFTER_SECONDS:
            return
        self._looked_after_at = now
        for worker in range(len(self._processes)):
            trouble = self._trouble(worker)
            if trouble is not None:
                self._replace(worker, trouble)

    def _trouble(self, worker: int) -> str | None:
        process = self._processes[worker]
        if not process.is_alive():
            return f"ended with code {process.exitcode}"
        row = self._open.numbers[worker]
        starting = row[Field.STATE] == State.STARTING
        limit = max(_START_SECONDS, self._settings.timeout_seconds) if starting else self._settings.timeout_seconds
        silent = (time.monotonic_ns() - int(row[Field.HEARTBEAT])) / 1e9
        return f"has been silent for {silent:.1f} s" if silent > limit else None

    def _replace(self, worker: int, trouble: str) -> None:
        process = self._processes[worker]
        process.kill()
        process.join()
        self._deaths_in_a_row[worker] += 1
        if self._deaths_in_a_row[worker] > self._settings.max_restarts:
            raise WorkersFailed(f"Worker {worker} {trouble}, {self._deaths_in_a_row[worker]} times in a row.")
        logger.warning("Worker %d %s; another one takes its place.", worker, trouble)
        self._restarts += 1
        self._incarnations[worker] += 1
        self._processes[worker] = self._start(worker)
        process.close()


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """The environment that a worker inherits: it must choose its threads before it imports NumPy."""
    before = {name: os.environ.get(name) for name in ONE_BLAS_THREAD}
    os.environ.update(ONE_BLAS_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
