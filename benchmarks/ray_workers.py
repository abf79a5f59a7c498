"""Rollouts by Ray workers beside local worker processes, in the same run: Drift, 2,048 decisions a rollout.

    python benchmarks/ray_workers.py            a cluster of two nodes with one CPU each, on this machine

Both play and deliver new weights after every batch, as a training run does; nothing is learned. Backends take turns.
"""

from __future__ import annotations

import statistics
import time

import ray
from ray.cluster_utils import Cluster

from understudy.games.drift import Drift
from understudy.models.live import Interface, LiveModel, new_model
from understudy.parallel.local import ParallelManager
from understudy.parallel.player import PlayerSpec
from understudy.parallel.pool import WorkerPool
from understudy.parallel.ray_pool import RayWorkers
from understudy.parallel.rollout import RolloutShape
from understudy.settings import NetworkSettings, ParallelSettings, TrainingSettings

DECISIONS, MATCHES, BATCHES, TURNS = 2048, 16, 100, 5


def pool_of(kind: type[WorkerPool], workers: int) -> tuple[WorkerPool, LiveModel]:
    """Workers that have played their first rollouts."""
    settings = ParallelSettings(
        enabled=True,
        backend="ray" if kind is RayWorkers else "local",
        num_workers=workers,
        games_per_worker=MATCHES,
        batch_size=DECISIONS,
    )
    game = Drift(MATCHES)
    interface = Interface(game.state_dim, game.actions, game.features_hash)
    model = LiveModel(new_model(interface, NetworkSettings(), TrainingSettings(), 0))
    players = PlayerSpec("drift", MATCHES, model.base.spec, True, 0, 1000)
    pool = kind(players, RolloutShape.of(game, settings), settings)
    pool.start_workers(model)
    for _ in range(5):
        batch(pool, model)
    return pool, model


def batch(pool: WorkerPool, model: LiveModel) -> None:
    """One rollout of each worker, and new weights."""
    rollouts = pool.collect_experiences()
    assert sum(rollout.decisions for rollout in rollouts) >= DECISIONS
    pool.sync_model_if_needed(model, force=True)
    pool.release_experiences()


def seconds(pool: WorkerPool, model: LiveModel) -> float:
    """The mean time of a batch."""
    began = time.perf_counter()
    for _ in range(BATCHES):
        batch(pool, model)
    return (time.perf_counter() - began) / BATCHES


def compare(workers: int) -> tuple[float, float]:
    """The median times of a batch, on Ray and with local processes, in turns."""
    times: dict[type[WorkerPool], list[float]] = {RayWorkers: [], ParallelManager: []}
    for _ in range(TURNS):
        for kind, found in times.items():
            pool, model = pool_of(kind, workers)
            with pool:
                found.append(seconds(pool, model))
    return statistics.median(times[RayWorkers]), statistics.median(times[ParallelManager])


def main() -> None:
    """Measure one worker on one node, and two on two."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    ray.init(address=cluster.address, log_to_driver=False)
    speeds = []
    for workers in (1, 2):
        if workers == 2:
            cluster.add_node(num_cpus=1)
            cluster.wait_for_nodes()
        on_ray, local = compare(workers)
        speeds.append(workers * DECISIONS / on_ray)
        print(
            f"{workers} worker(s) on {workers} node(s): Ray {1000 * on_ray:.2f} ms a batch of {workers} × {DECISIONS} "
            f"decisions, local processes {1000 * local:.2f} ms: {on_ray / local:.2f} ×",
            flush=True,
        )
    one, two = speeds
    print(f"Decisions a second on two nodes over one: {two:,.0f} / {one:,.0f} = {two / one:.2f}")
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main()
