"""A run on a Ray cluster of three nodes that lose nodes again and again, beside a run in this process.

    python tests/parallel/ray_storm.py [--losses 20]

It checks: the run never hangs, every update is made, weights are at most one update old, and the model plays as well.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ray
from ray.cluster_utils import Cluster

from parallel.small import settings
from understudy.parallel.loop import TrainingLoopManager
from understudy.parallel.loop_stats import LoopStats
from understudy.parallel.rollout import Rollout
from understudy.run.lock import StopRequest

GAME = "parallel.small:Bandit"
LONGEST_PAUSE = 30.0  # seconds without an update; Ray needs up to 20 to see that a node is dead


class NodeStorm:
    """Removes a node when all workers play, and adds another one when they are fewer."""

    def __init__(self, cluster: Any, losses: int) -> None:
        self._cluster, self._left = cluster, losses
        self._extra = [cluster.add_node(num_cpus=1) for _ in range(2)]
        self._chance = random.Random(0)
        self.request = StopRequest()
        self.updates = 0
        self.longest = 0.0
        self._at = time.monotonic()

    def on_update(self, stats: LoopStats, rollouts: Sequence[Rollout]) -> None:
        now = time.monotonic()
        self.longest = max(self.longest, now - self._at)
        assert self.longest < LONGEST_PAUSE, f"no update for {self.longest:.0f} s"
        self.updates += 1
        assert stats.updates == self.updates, "an update is missing"
        if len(rollouts) == 3 and self._left and len(self._extra) == 2:
            self._left -= 1
            node = self._extra.pop(self._chance.randrange(2))
            self._cluster.remove_node(node, allow_graceful=False)
        elif len(rollouts) < 3 and len(self._extra) < 2:
            self._extra.append(self._cluster.add_node(num_cpus=1))
        elif not self._left:
            self.request.stop()
        self._at = time.monotonic()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--losses", type=int, default=20)
    losses = parser.parse_args().losses
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)  # the game is beside this file: workers must find it too
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    ray.init(address=cluster.address, log_to_driver=False)
    storm = NodeStorm(cluster, losses)
    cluster.wait_for_nodes()
    chosen = settings(enabled=True, backend="ray", num_workers=0, max_restarts=5)
    loop = TrainingLoopManager(GAME, chosen, seed=1, on_update=storm.on_update)
    began = time.monotonic()
    loop.run(storm.request)
    stats = loop.stats
    assert stats.mode == "parallel"
    assert stats.max_staleness <= 1
    found = {
        "losses": losses,
        "updates": stats.updates,
        "replaced": stats.restarts,
        "longest_pause": round(storm.longest, 1),
        "seconds": round(time.monotonic() - began),
        "mean_return": round(stats.mean_return, 2),
    }
    ray.shutdown()
    cluster.shutdown()
    alone = TrainingLoopManager(GAME, settings(num_workers=3), seed=1)
    alone.run(updates=stats.updates)
    found["mean_return_sequential"] = round(alone.stats.mean_return, 2)
    print(json.dumps(found))
    assert abs(stats.mean_return - alone.stats.mean_return) < 0.5  # of 10


if __name__ == "__main__":
    main()
