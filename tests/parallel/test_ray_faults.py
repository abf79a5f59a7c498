"""Real faults of a real Ray cluster: lost objects, lack of memory, more CPUs asked for than there are.

`test_ray_losses.py` has the other errors, raised by a stand-in.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from parallel.small import settings
from understudy.parallel.loop import TrainingLoopManager
from understudy.parallel.loop_stats import LoopStats
from understudy.parallel.rollout import Rollout

pytest.importorskip("ray")
pytest.importorskip("psutil")

import psutil
import ray
from ray.cluster_utils import Cluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # warnings of Ray's own making
    pytest.mark.skipif(sys.platform != "linux", reason="Ray watches the memory of workers on Linux only"),
]
_MORE_BYTES = 1 << 30  # more than is in use now: with this much, Ray ends workers
_QUICK = {  # Ray notices a dead node within 3 s instead of 20
    "health_check_initial_delay_ms": 0,
    "health_check_period_ms": 1000,
    "health_check_failure_threshold": 3,
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    os.environ["UNDERSTUDY_TEST_EATEN"] = str(tmp_path_factory.mktemp("hungry") / "eaten")  # its nodes inherit it
    memory = psutil.virtual_memory()
    most = {"memory_usage_threshold": (memory.total - memory.available + _MORE_BYTES) / memory.total}
    head = {
        "num_cpus": 1,
        "include_dashboard": False,
        "_system_config": _QUICK | most | {"memory_monitor_refresh_ms": 100},
    }
    made = Cluster(initialize_head=True, head_node_args=head)
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()
    del os.environ["UNDERSTUDY_TEST_EATEN"]


def train(game: str, on_update: Any = None, updates: int = 6, **parallel: Any) -> TrainingLoopManager:
    def told(stats: LoopStats, rollouts: Sequence[Rollout]) -> None:
        if on_update is not None:
            on_update(loop, stats, rollouts)

    loop = TrainingLoopManager(game, settings(enabled=True, backend="ray", **parallel), seed=3, on_update=told)
    loop.run(updates=updates, seconds=90)
    assert loop.stats.updates >= updates
    return loop


def test_a_worker_that_takes_too_much_memory_is_replaced(cluster: Any, caplog: pytest.LogCaptureFixture) -> None:
    losses: list[dict[str, int]] = []

    def look(loop: TrainingLoopManager, _: LoopStats, __: Sequence[Rollout]) -> None:
        losses.append(dict(loop.workers.losses))  # type: ignore[union-attr]

    loop = train("parallel.small:Hungry", look, num_workers=1)
    assert loop.stats.mode == "parallel"
    assert set(losses[-1]) == {"OutOfMemory"}
    assert "low on memory" in caplog.text


def test_rollouts_that_are_lost_with_their_node_cost_nothing_else(cluster: Any) -> None:
    node = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    counts: list[int] = []
    losses: list[dict[str, int]] = []

    def remove(loop: TrainingLoopManager, stats: LoopStats, rollouts: Sequence[Rollout]) -> None:
        counts.append(len(rollouts))
        losses.append(dict(loop.workers.losses))  # type: ignore[union-attr]
        if stats.updates == 3:
            time.sleep(2)  # the next rollouts are played, and wait on their nodes
            cluster.remove_node(node, allow_graceful=False)
            deadline = time.monotonic() + 30
            while sum(one["Alive"] for one in ray.nodes()) > 1 and time.monotonic() < deadline:
                time.sleep(0.2)

    loop = train("drift", remove, num_workers=2, batch_size=2048, max_staleness=1)  # too large for Ray to send at once
    assert loop.stats.mode == "parallel"
    assert counts == [2, 2, 2, 1, 1, 1]
    assert losses[-1] == {"ObjectReconstructionFailed": 1}  # which is Ray's word for a lost result of an actor


def test_more_cpus_than_there_are(
    cluster: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("understudy.parallel.ray_pool._ROOM_SECONDS", 1.0)
    loop = train("tictactoe", worker_cpus=64.0)
    assert "no free resources for a worker: each needs 64 CPU" in caplog.text
    assert loop.stats.mode == "parallel"  # on this machine
    assert "losses" not in loop.workers.get_parallel_stats()  # type: ignore[union-attr]
