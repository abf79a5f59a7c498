"""The workers of a run as Ray actors, on this machine or on all nodes of a cluster.

Weights go to the object store once per node, and rollouts come back through it without a copy. Workers start where
resources are free, also on nodes that join later. A lost worker costs the rollout it was playing.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from understudy.errors import SettingsError, WorkersFailed
from understudy.extras import how_to_install
from understudy.models.live import LiveModel
from understudy.parallel.player import PlayerSpec
from understudy.parallel.pool import WorkerPool
from understudy.parallel.rollout import Rollout, RolloutShape
from understudy.parallel.saved_matches import whole
from understudy.parallel.shared import Block
from understudy.settings import ParallelSettings

try:
    import ray

    from understudy.parallel.ray_cluster import CONTROL, cause, join_cluster, kill, ray_errors, reason
    from understudy.parallel.ray_files import SentFolder, module_folders
    from understudy.parallel.ray_player import RayPlayer
except ImportError as error:
    raise SettingsError(f"parallel.backend is ray, which needs Ray. {how_to_install('ray')}") from error

logger = logging.getLogger(__name__)

_WAIT_SECONDS = 0.1  # between two checks whether to stop
_LOOK_SECONDS = 1.0  # between two checks for free resources, and for workers that do not answer
_START_SECONDS = 120.0  # to import the libraries of a game on a busy machine
_ROOM_SECONDS = 20.0  # longest time without any worker or resources for one


@dataclass(slots=True)
class _Slot:
    """One actor and its pending answers."""

    actor: Any
    report: Any
    """The pending heartbeat."""
    started: bool = False
    seen: float = field(default_factory=time.monotonic)
    asked: float = field(default_factory=time.monotonic)
    playing: Any = None
    rollout: Rollout | None = None
    facts: dict[str, Any] = field(default_factory=dict)


class RayWorkers(WorkerPool):
    """Up to `num_workers` actors. A lost one is replaced; WorkersFailed if that does not help."""

    def __init__(self, players: PlayerSpec, shape: RolloutShape, settings: ParallelSettings) -> None:
        super().__init__(players, shape, settings)
        self._incarnations, self._deaths_in_a_row = [], []  # they grow with the cluster
        self._slots: dict[int, _Slot] = {}
        self._started_ray = False
        self._folder = SentFolder(players)
        self._looked_at = self._room_at = 0.0
        self.losses: Counter[str] = Counter()
        """The number of lost workers, by cause."""

    def start_workers(self, model: LiveModel, generation: int = 0, saved: Sequence[bytes] = ()) -> None:
        """Join the cluster, or start Ray here, and start an actor wherever resources are free."""
        if join_cluster(self._settings.address):
            self._started_ray = True
        with ray_errors():
            self.reset_workers(generation)
            self.sync_model_if_needed(model)
            self._saved = saved
            self._room_at = time.monotonic()
            while not self._fill():
                if time.monotonic() > self._room_at + _ROOM_SECONDS:
                    raise WorkersFailed(f"The Ray cluster has no free resources for a worker: {self._needs()}.")
                time.sleep(_WAIT_SECONDS)
            wanted = self._settings.num_workers
            if len(self._slots) < wanted:
                logger.warning(
                    "The Ray cluster has resources for %d of %d workers; the others start when there are more.",
                    len(self._slots),
                    wanted,
                )
            for slot in self._slots.values():
                self._play(slot)

    def collect_experiences(self, stop: threading.Event | None = None) -> list[Rollout]:
        """Wait for a rollout of each worker that plays; workers that are being replaced are not waited for."""
        with ray_errors():
            self._admit()
            self._listen()
            while stop is None or not stop.is_set():
                playing = [slot for slot in self._slots.values() if slot.playing is not None]
                if playing:
                    self._room_at = time.monotonic()
                    self._take(playing)
                else:
                    self._wait_for_room()
                self._look_after_workers()
                played = {worker: slot for worker, slot in sorted(self._slots.items()) if slot.playing is not None}
                if played and all(slot.rollout is not None for slot in played.values()):
                    return self._hand_over(played)
        return []

    def release_experiences(self) -> None:
        """Let synchronous workers continue, now that the newest weights are available."""
        if not self._settings.max_staleness:
            with ray_errors():
                self._admit()

    def save_matches(self) -> list[bytes] | None:
        """Request snapshots from all workers."""
        if sorted(self._slots) != list(range(len(self._incarnations))):
            return None
        refs = [self._slots[worker].actor.snapshot.remote() for worker in sorted(self._slots)]
        try:
            return whole(ray.get(refs, timeout=self._settings.timeout_seconds))
        except ray.exceptions.RayError:
            return None

    def reset_workers(self, generation: int) -> None:
        """Make the next rollouts begin new matches, with the seeds of this generation."""
        self._generation = generation

    def pause_workers(self) -> None:
        """Pause all workers before their next decision."""
        for slot in self._slots.values():
            slot.actor.pause.remote()

    def resume_workers(self) -> None:
        """Resume all paused workers."""
        for slot in self._slots.values():
            slot.actor.resume.remote()
            slot.seen = time.monotonic()

    def report_workers(self, timeout: float = 1.0) -> list[dict[str, Any]]:
        """Request a heartbeat from every worker; returns each worker's state, and whether it `answered` in time."""
        asked = {worker: slot.actor.report.remote() for worker, slot in self._slots.items()}
        ready, _ = ray.wait(list(asked.values()), num_returns=len(asked), timeout=timeout) if asked else ([], [])
        for worker, ref in asked.items():
            if ref in ready:
                with contextlib.suppress(ray.exceptions.RayError):
                    self._slots[worker].facts = ray.get(ref)
        return [fact | {"answered": asked.get(fact["worker"]) in ready} for fact in self._worker_facts()]

    def stop_workers(self) -> None:
        """End all actors, and Ray if it was started here."""
        for slot in self._slots.values():
            kill(slot.actor)
        self._slots = {}
        if self._started_ray:
            self._started_ray = False
            ray.shutdown()

    def get_parallel_stats(self) -> dict[str, Any]:
        """As for every pool, plus the number of lost workers by cause."""
        return super().get_parallel_stats() | {"losses": dict(self.losses)}

    @property
    def _running(self) -> bool:
        return bool(self._slots)

    def _deliver(self, block: Block) -> None:
        with ray_errors():
            self._weights = ray.put(block)

    def _needs(self) -> str:
        more = f" and 1 {self._settings.worker_resource}" if self._settings.worker_resource else ""
        return f"each needs {self._settings.worker_cpus:g} CPU{more}"

    def _room(self) -> int:
        """How many more workers the cluster can hold. Ray may not count actors yet that are still being placed."""
        free = ray.available_resources()
        room = int(free.get("CPU", 0.0) / self._settings.worker_cpus + 1e-6)
        if self._settings.worker_resource:
            room = min(room, int(free.get(self._settings.worker_resource, 0.0)))
        return room - sum(not slot.started for slot in self._slots.values())

    def _fill(self) -> int:
        """Start workers where resources are free; returns the present number of workers."""
        wanted = self._settings.num_workers
        room = self._room() if not wanted or len(self._slots) < wanted else 0
        for _ in range(room):
            worker = next(w for w in range(len(self._slots) + 1) if w not in self._slots)
            if wanted and worker >= wanted:
                break
            while worker >= len(self._incarnations):
                self._incarnations.append(0)
                self._deaths_in_a_row.append(0)
            self._slots[worker] = self._start(worker)
        return len(self._slots)

    def _start(self, worker: int) -> _Slot:
        settings = self._settings
        options: dict[str, Any] = {"num_cpus": settings.worker_cpus, "scheduling_strategy": "SPREAD"}
        if settings.worker_resource:
            options["resources"] = {settings.worker_resource: 1}
        actor_class = ray.remote(concurrency_groups={CONTROL: 1}, **options)(RayPlayer)
        incarnation = self._incarnations[worker]
        saved, folder = self._saved_for(worker), self._folder
        actor = actor_class.remote(
            self._players,
            self._shape,
            settings,
            worker,
            incarnation,
            saved,
            module_folders(),
            folder.folder,
            folder.files(),
        )
        return _Slot(actor, actor.report.remote())

    def _play(self, slot: _Slot) -> None:
        slot.playing = slot.actor.play.remote(self._weights, self._generation, self._folder.files())
        slot.rollout = None
        slot.seen = time.monotonic()

    def _admit(self) -> None:
        """Let all started workers that are idle play, with the newest weights, so that none is too stale."""
        for slot in self._slots.values():
            if slot.playing is None and slot.started:
                self._play(slot)

    def _listen(self) -> None:
        """Restart the clocks for silence, because nobody listened during an update."""
        for slot in self._slots.values():
            if slot.started:
                slot.seen = time.monotonic()

    def _take(self, playing: Sequence[_Slot]) -> None:
        """Collect the available rollouts, and replace workers that will not deliver one."""
        awaited = [slot for slot in playing if slot.rollout is None]
        ready, _ = ray.wait([slot.playing for slot in awaited], num_returns=len(awaited), timeout=_WAIT_SECONDS)
        done = set(ready)
        for worker, slot in list(self._slots.items()):
            if slot.rollout is not None or slot.playing not in done:
                continue
            try:
                slot.rollout = Rollout(self._shape, ray.get(slot.playing))
                slot.started = True
            except ray.exceptions.RayError as error:
                self._replace(worker, cause(error), reason(error))
            else:
                self._deaths_in_a_row[worker] = 0

    def _hand_over(self, played: dict[int, _Slot]) -> list[Rollout]:
        rollouts = []
        for slot in played.values():
            assert slot.rollout is not None
            rollouts.append(slot.rollout)
            slot.playing = slot.rollout = None
        if self._settings.max_staleness:
            for slot in played.values():
                self._play(slot)  # it plays while this batch is learned from, so its next rollout is one update old
        return rollouts

    def _wait_for_room(self) -> None:
        self._admit()
        starting = any(not slot.started for slot in self._slots.values())
        if not starting and time.monotonic() > self._room_at + _ROOM_SECONDS:
            raise WorkersFailed(f"The Ray cluster no longer has free resources for a worker: {self._needs()}.")
        time.sleep(_WAIT_SECONDS)

    def _look_after_workers(self) -> None:
        """From time to time, start workers where resources are free, and replace those that do not answer."""
        now = time.monotonic()
        if now < self._looked_at + _LOOK_SECONDS and all(slot.started for slot in self._slots.values()):
            return
        if now >= self._looked_at + _LOOK_SECONDS:
            self._looked_at = now
            self._fill()
        for worker, slot in list(self._slots.items()):
            self._look_after(worker, slot, now)

    def _look_after(self, worker: int, slot: _Slot, now: float) -> None:
        settings = self._settings
        if slot.report is not None and ray.wait([slot.report], timeout=0)[0]:
            try:
                facts = ray.get(slot.report)
            except ray.exceptions.RayError as error:
                if slot.rollout is None:
                    self._replace(worker, cause(error), reason(error))
                else:
                    slot.report = None  # its rollout is available; it is replaced after the rollout was collected
                return
            if facts["steps"] != slot.facts.get("steps"):
                slot.seen = now
            slot.facts, slot.report, slot.started = facts, None, True
        elif slot.report is None and now > slot.asked + min(settings.timeout_seconds / 4, 5.0):
            slot.asked, slot.report = now, slot.actor.report.remote()
        silent, waits = now - slot.seen, slot.playing is not None and slot.rollout is None
        if not slot.started and silent > max(_START_SECONDS, settings.timeout_seconds):
            self._replace(worker, "not started", f"it has not started for {silent:.0f} s")
        elif slot.started and waits and silent > settings.timeout_seconds:
            self._replace(worker, "silent", f"it made no decision for {silent:.1f} s")

    def _replace(self, worker: int, why: str, trouble: str) -> None:
        """Replace a lost worker: at once or, if its node has left, when resources are free."""
        slot = self._slots.pop(worker)
        kill(slot.actor)
        self.losses[why] += 1
        brief = f"was lost ({why}: {trouble})"
        node = slot.facts.get("node")
        if node and not any(one["NodeID"] == node and one["Alive"] for one in ray.nodes()):
            self._incarnations[worker] += 1
            logger.warning("Worker %d %s; its node has left the cluster.", worker, brief)
            return
        self._count_death(worker, brief)
        self._slots[worker] = self._start(worker)

    def _worker_facts(self) -> list[dict[str, Any]]:
        now = time.monotonic()
        return [
            {
                "worker": worker,
                "state": _state(slot),
                "waiting": int(slot.rollout is not None),
                "slots": 1,
                "silent_seconds": now - slot.seen,
                "decisions": slot.facts.get("decisions", 0),
                "games": slot.facts.get("games", 0),
                "waited_seconds": 0.0,
                "version": slot.facts.get("version", 0),
                "node": slot.facts.get("node", ""),
            }
            for worker, slot in sorted(self._slots.items())
        ]


def _state(slot: _Slot) -> str:
    if not slot.started:
        return "starting"
    if slot.facts.get("paused"):
        return "paused"
    return "playing" if slot.playing is not None and slot.rollout is None else "waiting"
