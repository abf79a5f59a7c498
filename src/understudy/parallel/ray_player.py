"""The Ray actor: plays rollouts with the weights that it receives, and answers requests during play."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import ray
from numpy.typing import NDArray

from understudy.parallel.player import PlayerSpec
from understudy.parallel.ray_cluster import CONTROL
from understudy.parallel.ray_files import Files, ReceivedFolder, find_modules_in
from understudy.parallel.rollout import Rollout, RolloutShape
from understudy.parallel.shared import Block
from understudy.parallel.synchronizer import ModelSynchronizer
from understudy.settings import ParallelSettings


class RayPlayer:
    """One worker. `play` and `snapshot` run in one thread, the other methods concurrently in another one."""

    def __init__(
        self,
        players: PlayerSpec,
        shape: RolloutShape,
        settings: ParallelSettings,
        worker: int,
        incarnation: int,
        saved: bytes | None,
        folders: Sequence[str],
        versions: str,
        files: Files,
    ) -> None:
        find_modules_in(folders)
        self._folder = ReceivedFolder(players, versions, files)
        self._player = self._folder.players.open(worker, incarnation, saved)
        self._synchronizer = ModelSynchronizer(settings)
        self._memory = np.zeros(shape.nbytes, np.uint8)
        self._rollout = Rollout(shape, self._memory)
        self._steps = self._games = self._decisions = 0
        self._go = threading.Event()
        self._go.set()

    def play(self, block: Block, generation: int, files: Files) -> NDArray[np.uint8]:
        """Play the next rollout and return its memory; a new generation begins new matches."""
        self._folder.update(files)
        self._synchronizer.restore(block, self._player)
        if self._player.generation != generation:
            self._player.begin(generation)
        self._player.play(self._rollout, self._step)
        self._decisions += self._rollout.decisions
        self._games += self._rollout["games"]
        return self._memory

    def snapshot(self) -> bytes | None:
        """A snapshot of the matches, after the rollout in progress."""
        return self._player.snapshot()

    @ray.method(concurrency_group=CONTROL)
    def report(self) -> dict[str, Any]:
        """A heartbeat. `steps` grows while the worker plays."""
        return {
            "node": ray.get_runtime_context().get_node_id(),
            "pid": os.getpid(),
            "steps": self._steps,
            "decisions": self._decisions,
            "games": self._games,
            "version": self._player.version,
            "paused": not self._go.is_set(),
        }

    @ray.method(concurrency_group=CONTROL)
    def pause(self) -> None:
        """Pause before the next decision."""
        self._go.clear()

    @ray.method(concurrency_group=CONTROL)
    def resume(self) -> None:
        """Continue after a pause."""
        self._go.set()

    def _step(self) -> bool:
        self._steps += 1
        self._go.wait()
        return True
