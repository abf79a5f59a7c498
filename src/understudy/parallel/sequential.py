"""The workers of a run in this process, one after the other: what ParallelManager does, without processes."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from understudy.models.live import LiveModel
from understudy.parallel.player import PlayerSpec
from understudy.parallel.rollout import Rollout, RolloutShape
from understudy.parallel.saved_matches import whole
from understudy.parallel.synchronizer import ModelSynchronizer
from understudy.settings import ParallelSettings


class SequentialWorkers:
    """As many players as there would be workers. They play what synchronous worker processes would play."""

    def __init__(self, players: PlayerSpec, shape: RolloutShape, settings: ParallelSettings) -> None:
        self._spec = players
        self._settings = settings
        self._synchronizer = ModelSynchronizer(settings)
        self._rollouts = [Rollout(shape) for _ in range(settings.num_workers)]

    def start_workers(
        self, model: LiveModel, generation: int = 0, saved: Sequence[bytes] = (), *, incarnation: int = 0
    ) -> None:
        """Make the players, which go on with saved matches of this generation if there are any.

        `incarnation` gives them other matches than worker processes had before them.
        """
        workers = zip(range(self._settings.num_workers), saved or repeat(None), strict=False)
        self._players = [self._spec.open(worker, incarnation, matches) for worker, matches in workers]
        self.sync_model_if_needed(model)
        for player in self._players:
            if player.generation != generation:
                player.begin(generation)

    def collect_experiences(self, stop: threading.Event | None = None) -> list[Rollout]:
        """One rollout of each player, in their order; valid until the next call. Nothing once `stop` is set."""

        def go_on() -> bool:
            return stop is None or not stop.is_set()

        played = [p.play(rollout, go_on) for p, rollout in zip(self._players, self._rollouts, strict=True)]
        return self._rollouts if all(played) else []

    def release_experiences(self) -> None:
        """Nothing to do: nobody waits."""

    def sync_model_if_needed(self, model: LiveModel, *, force: bool = False) -> bool:
        """Give the players the model's weights if `sync_interval` decisions were learned from since; True if so."""
        steps = model.trainer.steps
        if not (force or self._synchronizer.should_sync(steps)):
            return False
        block = self._synchronizer.prepare(model)
        for player in self._players:
            self._synchronizer.restore(block, player)
        self._synchronizer.mark_sync_completed(steps, len(block))
        return True

    def save_matches(self) -> list[bytes] | None:
        """Snapshots of all players, in their order; None if the game cannot save its matches."""
        return whole([player.snapshot() for player in self._players])

    def reset_workers(self, generation: int) -> None:
        """Begin all matches anew, with the seeds of this generation."""
        for player in self._players:
            player.begin(generation)

    def pause_workers(self) -> None:
        """Nothing to do: nobody plays unless asked for experiences."""

    def resume_workers(self) -> None:
        """Nothing to do, as for a pause."""

    def stop_workers(self) -> None:
        """Close the games."""
        for player in self._players:
            player.game.close()

    @property
    def pids(self) -> list[int]:
        """No process of its own."""
        return []

    def get_parallel_stats(self) -> dict[str, Any]:
        """How weights reached the players."""
        return {"running": False, "restarts": 0, "workers": [], "sync": self._synchronizer.get_sync_stats()}
