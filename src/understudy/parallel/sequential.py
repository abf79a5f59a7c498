"""SequentialWorkers: the workers of a run in this process, one after the other."""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Sequence
from itertools import repeat

from understudy.errors import GameFailed
from understudy.models.live import LiveModel
from understudy.parallel.player import Player, PlayerSpec
from understudy.parallel.pool import WorkerPool
from understudy.parallel.rollout import Rollout, RolloutShape
from understudy.parallel.saved_matches import whole
from understudy.parallel.shared import Block
from understudy.settings import ParallelSettings

logger = logging.getLogger(__name__)


class SequentialWorkers(WorkerPool):
    """As many players as there would be worker processes, which play the same as synchronous worker processes would.

    A player whose game fails is replaced, like a worker process. With another `incarnation`, the players play other
    matches than earlier worker processes did.
    """

    def __init__(
        self, players: PlayerSpec, shape: RolloutShape, settings: ParallelSettings, *, incarnation: int = 0
    ) -> None:
        super().__init__(players, shape, settings)
        self._incarnation = incarnation
        self._rollouts = [Rollout(shape) for _ in range(settings.workers)]
        self._opened: list[Player] = []

    def start_workers(self, model: LiveModel, generation: int = 0, saved: Sequence[bytes] = ()) -> None:
        """Open the players."""
        workers = zip(range(self._settings.workers), saved or repeat(None), strict=False)
        self._opened = [self._players.open(worker, self._incarnation, matches) for worker, matches in workers]
        self.sync_model_if_needed(model)
        for player in self._opened:
            if player.generation != generation:
                player.begin(generation)

    def collect_experiences(self, stop: threading.Event | None = None) -> list[Rollout]:
        """Play one rollout with each player."""

        def go_on() -> bool:
            return stop is None or not stop.is_set()

        played = [self._play(*pair, go_on) for pair in enumerate(self._rollouts)]
        return self._rollouts if all(played) else []

    def _play(self, worker: int, rollout: Rollout, go_on: Callable[[], bool]) -> bool:
        while True:
            try:
                played = self._opened[worker].play(rollout, go_on)
            except GameFailed as error:
                self._replace(worker, error)
            else:
                self._deaths_in_a_row[worker] = 0
                return played

    def _replace(self, worker: int, error: GameFailed) -> None:
        """A new player with new matches, as for a worker process that died."""
        failed = self._opened[worker]
        if error.__cause__ is not None:
            logger.warning("The game failed:", exc_info=error.__cause__)
        self._count_death(worker, f"failed: {error}")
        with contextlib.suppress(Exception):  # the game's code has already failed
            failed.game.close()
        player = self._opened[worker] = self._players.open(worker, failed.incarnation + 1)
        self._synchronizer.restore(self._block, player)
        player.begin(failed.generation)

    def release_experiences(self) -> None:
        """Nothing to do: no worker waits."""

    def save_matches(self) -> list[bytes] | None:
        """Snapshots of all players, in order; None if the game cannot save its matches."""
        return whole([player.snapshot() for player in self._opened])

    def reset_workers(self, generation: int) -> None:
        """Begin new matches, with the seeds of this generation."""
        for player in self._opened:
            player.begin(generation)

    def pause_workers(self) -> None:
        """Nothing to do: players play only while experiences are collected."""

    def resume_workers(self) -> None:
        """Nothing to do, as for a pause."""

    def stop_workers(self) -> None:
        """Close the games."""
        for player in self._opened:
            player.game.close()

    @property
    def _running(self) -> bool:
        return False

    def _deliver(self, block: Block) -> None:
        self._block = block
        for player in self._opened:
            self._synchronizer.restore(block, player)
