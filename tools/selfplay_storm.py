"""Kills self-play workers at random during a run, and checks the result."""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from understudy.parallel.local import ParallelManager
from understudy.parallel.loop import TrainingLoopManager
from understudy.parallel.loop_stats import LoopStats
from understudy.parallel.rollout import Rollout, follow_on
from understudy.run.lock import StopRequest
from understudy.settings import ParallelSettings, Settings

PLAYING = 0.75  # share of kills that wait for an update first, however slow the machine starts processes
ALLOWED = 1  # updates that a rollout may be old


class Storm:
    """Watches the chain of rollouts, and kills between them."""

    def __init__(self, kills: int, seed: int) -> None:
        self.request = StopRequest()
        self.faults: list[str] = []
        self.left = kills
        self.segments: set[str] = set()
        self.pids: set[int] = set()
        self.games = 0
        self._updated = threading.Event()
        self._killed: set[int] = set()
        self._rng = random.Random(seed)
        self._last: dict[int, tuple[int, int, Rollout]] = {}

    def on_update(self, stats: LoopStats, rollouts: Sequence[Rollout]) -> None:
        """Check that no rollout is missing, doubled or out of order."""
        for rollout in rollouts:
            worker, incarnation, number = rollout["worker"], rollout["incarnation"], rollout["number"]
            before = self._last.get(worker)
            fresh = before is None or incarnation > before[0]
            if not (number == 0 if fresh else before and follow_on(before[2], rollout)):
                self.faults.append(f"worker {worker}: rollout {incarnation}.{number} after {before and before[:2]}")
            self._last[worker] = (incarnation, number, rollout.copy())
            self.games += rollout["games"]
        if stats.games != self.games:
            self.faults.append(f"{stats.games} games learned from, {self.games} delivered")
        if stats.max_staleness > ALLOWED:
            self.faults.append(f"update {stats.updates}: staleness {stats.max_staleness}")
        self._updated.set()
        if not self.left:
            self.request.stop()

    def left_behind(self) -> list[str]:
        """Shared memory and processes of the run that are still there."""
        segments = [f"shared memory {name}" for name in self.segments if Path("/dev/shm", name).exists()]
        return segments + [f"process {pid}" for pid in self.pids if Path("/proc", str(pid)).exists()]

    def kill(self, loop: TrainingLoopManager) -> None:
        """Kill one worker after the other, at random moments: most while games are played, some while they start."""
        while self.left and not self.request.event.is_set():
            if self._rng.random() < PLAYING:
                self._updated.clear()
                self._updated.wait(timeout=30)
            time.sleep(self._rng.uniform(0.0, 0.5))
            if isinstance(loop.workers, ParallelManager) and loop.workers.pids:
                self.segments.add(loop.workers.segment)
                self.pids.update(loop.workers.pids)
                victim = self._rng.choice(loop.workers.pids)
                if victim in self._killed:  # it is dead, and about to be replaced
                    continue
                with contextlib.suppress(ProcessLookupError):  # it has just been replaced
                    os.kill(victim, signal.SIGKILL)
                    self._killed.add(victim)
                    self.left -= 1


def main() -> int:
    """Run the storm and say what it left behind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    storm = Storm(options.kills, options.seed)
    # Every death here is ours: no number of them ends the parallel mode.
    parallel = ParallelSettings(
        enabled=True, games_per_worker=16, batch_size=512, max_staleness=ALLOWED, max_restarts=options.kills
    )
    loop = TrainingLoopManager("tictactoe", Settings(parallel=parallel), on_update=storm.on_update)
    threading.Thread(target=storm.kill, args=(loop,), daemon=True).start()
    began = time.monotonic()
    stats = loop.run(storm.request)
    faults = storm.faults + storm.left_behind()
    print(
        f"{options.kills} kills in {time.monotonic() - began:.0f} s: {stats.restarts} workers replaced, "
        f"{stats.updates} updates, {stats.games} games, mode {stats.mode}, staleness at most {stats.max_staleness}"
    )
    print("\n".join(faults) or "Nothing lost, doubled or left behind.")
    return 1 if faults or stats.mode != "parallel" else 0


if __name__ == "__main__":
    sys.exit(main())
