"""ParallelManager: starts the worker processes, replaces dead ones, and collects their rollouts."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any

from understudy.errors import SettingsError, WorkersFailed
from understudy.machine.priority import ONE_BLAS_THREAD
from understudy.machine.signals import deaf_children
from understudy.models.live import LiveModel
from understudy.parallel.communicator import Plan, State, WorkerCommunicator, WorkerField, nap
from understudy.parallel.player import PlayerSpec
from understudy.parallel.pool import WorkerPool
from understudy.parallel.rollout import Rollout, RolloutShape
from understudy.parallel.saved_matches import whole
from understudy.parallel.shared import Block
from understudy.parallel.synchronizer import ModelSynchronizer
from understudy.parallel.worker import WorkerSpec, run_worker, unmark
from understudy.settings import ParallelSettings

_START_SECONDS = 180.0  # to import the libraries of a game on a busy machine
_STOP_SECONDS = 3.0  # to end when asked; afterwards a worker is terminated, then killed
_MOST_PER_CORE = 32  # workers; each process takes about 60 MB
_LOOK_AFTER_SECONDS = 0.05  # asking the system whether processes live costs more than looking for rollouts


class ParallelManager(WorkerPool):
    """Worker processes on this machine. A dead or silent one is replaced; WorkersFailed if that does not help."""

    def __init__(self, players: PlayerSpec, shape: RolloutShape, settings: ParallelSettings) -> None:
        super().__init__(players, shape, settings)
        self._context = multiprocessing.get_context("spawn")
        self._communicator: WorkerCommunicator | None = None
        self._processes: list[SpawnProcess] = []
        self._snapshots: dict[int, Connection] = {}  # pipes on which workers send their matches
        self._looked_after_at = 0.0
        self._last_wait = 0.0  # seconds spent waiting for the last rollouts

    def start_workers(self, model: LiveModel, generation: int = 0, saved: Sequence[bytes] = ()) -> None:
        """Allocate the shared memory, write the weights to it, and start the processes."""
        settings = self._settings
        slots = settings.max_queue_size
        plan = Plan(settings.workers, slots, self._shape, ModelSynchronizer.capacity(model.network))
        try:
            with deaf_children():  # the resource tracker, which cleans up after all others
                self._communicator = WorkerCommunicator(plan)
        except OSError as error:
            raise WorkersFailed(f"{plan.nbytes:,} bytes of shared memory cannot be allocated: {error}.") from error
        self.reset_workers(generation)
        self.sync_model_if_needed(model)
        self._open.numbers[:, WorkerField.ADMITTED] = 1
        self._saved = saved
        self._processes = [self._start(worker) for worker in range(settings.workers)]

    def collect_experiences(self, stop: threading.Event | None = None) -> list[Rollout]:
        """Wait for a rollout of each worker, and replace workers that died.

        A worker that is being replaced is not waited for while another one plays; its finished rollouts are used.
        """
        self._admit()
        began = time.monotonic()
        while stop is None or not stop.is_set():
            self._look_after_workers()
            ready = [w for w, ring in enumerate(self._open.rings) if ring.ready]
            awaited = [w for w in range(self._settings.workers) if self._plays(w)]
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
        """Free the slots of the collected rollouts."""
        self._open.release_experiences()

    def save_matches(self) -> list[bytes] | None:
        """Request snapshots from all workers. A worker that is in the middle of a rollout discards it."""
        self._open.send_control_command("snapshot")
        return whole([self._snapshot(worker) for worker in range(len(self._processes))])

    def reset_workers(self, generation: int) -> None:
        """Make all workers begin new matches, with the seeds of this generation."""
        self._open.send_control_command("reset", generation=generation)

    def pause_workers(self) -> None:
        """Pause all workers between two decisions."""
        self._open.send_control_command("pause")

    def resume_workers(self) -> None:
        """Resume all paused workers."""
        self._open.send_control_command("resume")

    def report_workers(self, timeout: float = 1.0) -> list[dict[str, Any]]:
        """Request a heartbeat from every worker; returns each worker's state, and whether it `answered` in time."""
        numbers = self._open.numbers
        self._open.send_control_command("report")
        began = time.monotonic()
        while time.monotonic() < began + timeout:
            if (numbers[:, WorkerField.REPORT_GIVEN] == numbers[:, WorkerField.REPORT_ASKED]).all():
                break
            nap(began)
        answered = (numbers[:, WorkerField.REPORT_GIVEN] == numbers[:, WorkerField.REPORT_ASKED]).tolist()
        infos = self._open.get_queue_info()
        return [info | {"answered": did} for info, did in zip(infos, answered, strict=True)]

    def stop_workers(self) -> None:
        """End all workers within 5 seconds, and free the shared memory."""
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
        """As for every pool, and whether all workers are healthy."""
        return super().get_parallel_stats() | {"healthy": self.is_healthy()}

    def is_healthy(self) -> bool:
        """Whether every worker is alive and sent a heartbeat within `timeout_seconds`."""
        return bool(self._processes) and all(self._trouble(w) is None for w in range(len(self._processes)))

    @property
    def segment(self) -> str:
        """The name of the shared memory; empty if there is none."""
        return "" if self._communicator is None else self._communicator.name

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers, in order."""
        return [process.pid or 0 for process in self._processes]

    @property
    def _running(self) -> bool:
        return self._communicator is not None

    def _deliver(self, block: Block) -> None:
        self._open.send_model_weights(block)

    def _worker_facts(self) -> list[dict[str, Any]]:
        return self._open.get_queue_info() if self._running else []

    @property
    def _open(self) -> WorkerCommunicator:
        if self._communicator is None:
            raise WorkersFailed("The workers are not started; call start_workers first.")
        return self._communicator

    def _start(self, worker: int) -> SpawnProcess:
        row = self._open.numbers[worker]
        row[WorkerField.HEARTBEAT], row[WorkerField.STATE] = time.monotonic_ns(), State.STARTING
        incarnation = self._incarnations[worker]
        plan, segment, saved = self._open.plan, self._open.name, self._saved_for(worker)
        spec = WorkerSpec(worker, incarnation, self._players, plan, segment, self._settings, saved)
        receiver, sender = self._context.Pipe(duplex=False)
        if worker in self._snapshots:
            self._snapshots[worker].close()
        self._snapshots[worker] = receiver
        row[WorkerField.SNAPSHOT_GIVEN] = row[
            WorkerField.SNAPSHOT_ASKED
        ]  # requests to its predecessor do not apply to this worker
        process = self._context.Process(target=run_worker, args=(spec, sender), name=f"understudy-worker-{worker}")
        process.daemon = True
        try:
            with _one_blas_thread(), deaf_children():
                process.start()
        except OSError as error:
            raise WorkersFailed(f"Worker {worker} cannot be started: {error}.") from error
        finally:
            sender.close()  # the worker has its own copy: when it dies, the pipe is closed
        return process

    def _snapshot(self, worker: int) -> bytes | None:
        connection, began = self._snapshots[worker], time.monotonic()
        asked = int(self._open.numbers[worker, WorkerField.SNAPSHOT_ASKED])
        while time.monotonic() - began < self._settings.timeout_seconds and self._trouble(worker) is None:
            try:
                if connection.poll(_LOOK_AFTER_SECONDS):
                    number, snapshot = unmark(connection.recv_bytes())
                    if number == asked:  # otherwise a late answer to an earlier request
                        return snapshot or None
            except (EOFError, OSError):  # the worker died
                return None
        return None

    def _plays(self, worker: int) -> bool:
        return bool(self._open.numbers[worker, WorkerField.ADMITTED] == self._incarnations[worker] + 1)

    def _admit(self) -> None:
        """Allow restarted workers to play.

        They must not play earlier: updates that do not wait for their first batch would make it too stale.
        """
        for worker, row in enumerate(self._open.numbers):
            if not self._plays(worker) and row[WorkerField.STATE] == State.WAITING:
                row[WorkerField.ADMITTED] = self._incarnations[worker] + 1

    def _look_after_workers(self) -> None:
        """Replace workers that are dead or silent; checked from time to time."""
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
        starting = row[WorkerField.STATE] == State.STARTING
        limit = max(_START_SECONDS, self._settings.timeout_seconds) if starting else self._settings.timeout_seconds
        silent = (time.monotonic_ns() - int(row[WorkerField.HEARTBEAT])) / 1e9
        return f"has been silent for {silent:.1f} s" if silent > limit else None

    def _replace(self, worker: int, trouble: str) -> None:
        process = self._processes[worker]
        process.kill()
        process.join()
        self._count_death(worker, trouble)
        self._processes[worker] = self._start(worker)
        process.close()


def require_room(settings: ParallelSettings) -> None:
    """Raise SettingsError for more workers than this machine can reasonably hold."""
    cores = os.cpu_count() or 1
    if settings.workers > _MOST_PER_CORE * cores:
        raise SettingsError(
            f"parallel.num_workers is {settings.workers:,}, which is too many for the {cores} cores of this machine: "
            f"at most {_MOST_PER_CORE * cores}. More than one per core is hardly faster."
        )


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
