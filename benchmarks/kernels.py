"""What each hand-written kernel adds to a whole job: shogi's self-play with learning, as `understudy selfplay` runs it.

The job with the kernel and the job with the plain path take turns, one update each, in one run: in this process, and
with two workers. A kernel that does not make the whole job 1.3 times as fast should be removed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from measure import Row, quantile, run_alone
from understudy.games.shogi.league import ShogiLeague
from understudy.parallel.loop import TrainingLoopManager
from understudy.parallel.loop_stats import LoopStats
from understudy.parallel.rollout import Rollout
from understudy.run.lock import StopRequest
from understudy.settings import NetworkSettings, ParallelSettings, Settings

LEAST = 1.3  # times as fast as the plain path
NETWORKS = ((2, 32, 25), (4, 64, 9))  # blocks, channels, counted updates: what shogi recommends, and a larger one
UNCOUNTED = 2  # the first updates, in which processes start and memory is touched
BACKENDS = ("compiled", "torch")


class Turns:
    """Lets several threads run one at a time, in a fixed order."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._changed = threading.Condition()

    def wait(self, name: str) -> None:
        """Return when it is this thread's turn."""
        with self._changed:
            self._changed.wait_for(lambda: self._names[0] == name)

    def give_up(self) -> None:
        """Let the next thread run."""
        with self._changed:
            self._names.append(self._names.pop(0))
            self._changed.notify_all()

    def leave(self, name: str) -> None:
        """The thread has no further turns."""
        with self._changed:
            self._names.remove(name)
            self._changed.notify_all()


class BackendRun:
    """Self-play with learning by one backend. Between two updates it waits for its turn; its workers then wait too."""

    def __init__(self, turns: Turns, backend: str, network: NetworkSettings, workers: int, updates: int) -> None:
        self.seconds: list[float] = []  # from one update to the next, waiting excluded
        self._turns, self._backend, self._updates = turns, backend, updates
        self._request = StopRequest()
        self._began = 0.0
        parallel = {**ShogiLeague.settings["parallel"], "enabled": workers > 0, "num_workers": max(workers, 1)}
        settings = Settings(network=network, parallel=ParallelSettings(**parallel))
        self.loop = TrainingLoopManager("shogi", settings, seed=0, on_update=self._on_update)
        self.decisions = 0

    def run(self) -> None:
        """Take part in the turns until there are enough of them."""
        self._turns.wait(self._backend)
        try:
            self.loop.run(self._request)
        finally:
            self._turns.leave(self._backend)

    def _on_update(self, stats: LoopStats, _rollouts: Sequence[Rollout]) -> None:
        self.seconds.append(time.perf_counter() - self._began)
        self.decisions = stats.decisions // len(self.seconds)
        if len(self.seconds) == self._updates + UNCOUNTED:
            self._request.stop()
            return
        self._turns.give_up()
        self._turns.wait(self._backend)
        self._began = time.perf_counter()

    @property
    def counted(self) -> list[float]:
        """The seconds of the updates that count."""
        return self.seconds[UNCOUNTED:]


def compare(blocks: int, channels: int, updates: int, workers: int) -> Row:
    """Thousand decisions per second, played and learned from, with the median update."""
    turns = Turns(BACKENDS)
    jobs = {}
    for backend in BACKENDS:
        network = NetworkSettings(policy="resnet", blocks=blocks, channels=channels, backend=backend)  # type: ignore[arg-type]
        jobs[backend] = BackendRun(turns, backend, network, workers, updates)
    threads = [threading.Thread(target=job.run) for job in jobs.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ours, theirs = (1e-3 * job.decisions / quantile(job.counted, 0.5) for job in jobs.values())
    how = f"{workers} workers" if workers else "one process"
    return Row(f"Winograd, {blocks} × {channels}, {how}", ours, "k/s", "torch", theirs, factor=LEAST)


def measure() -> list[Row]:
    """Every network, in this process and with two workers."""
    return [compare(*network, workers) for network in NETWORKS for workers in (0, 2)]


if __name__ == "__main__":
    run_alone("Kernels: what each adds to self-play with learning", measure)
