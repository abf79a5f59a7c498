"""What Ray reports when a worker is lost, one kind after the other, without a cluster: a stand-in for `ray` runs the
actors in this process, raises the errors of `ray.exceptions`, and its clock goes forward while the pool waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from parallel.small import Bandit, make_model, player_spec
from understudy.errors import WorkersFailed
from understudy.parallel.rollout import RolloutShape
from understudy.settings import ParallelSettings

pytest.importorskip("ray")

from ray import exceptions

from understudy.parallel import ray_cluster, ray_player, ray_pool

HANGS = "hangs"
Trouble = dict[tuple[str, int, int], Any]
"""What goes wrong: method, worker, incarnation → an exception, or HANGS."""


class _Ref:
    """An answer: a value, an exception, or HANGS."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Method:
    def __init__(self, ray: StandIn, actor: _Actor, name: str) -> None:
        self._ray, self._actor, self._name = ray, actor, name

    def remote(self, *args: Any) -> _Ref:
        trouble = self._ray.trouble.get((self._name, self._actor.worker, self._actor.incarnation))
        if trouble is not None and (self._name == "report" or self._actor.plays >= self._ray.good):
            return _Ref(trouble)
        self._actor.plays += self._name == "play"
        value = getattr(self._actor.player, self._name)(*args)
        return _Ref(value.copy() if self._name == "play" else value)


class _Actor:
    def __init__(self, ray: StandIn, player: Any, worker: int, incarnation: int) -> None:
        self._ray, self.player, self.worker, self.incarnation, self.plays = ray, player, worker, incarnation, 0

    def __getattr__(self, name: str) -> _Method:
        return _Method(self._ray, self, name)


class StandIn:
    """The part of `ray` that the pool uses; every actor plays `good` rollouts before its trouble begins."""

    exceptions = exceptions

    def __init__(self, trouble: Trouble, good: int) -> None:
        self.trouble, self.good = trouble, good
        self.ahead = 0.0
        self.alive: list[_Actor] = []

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def sleep(self, seconds: float) -> None:
        self.ahead += seconds

    def is_initialized(self) -> bool:
        return True

    def available_resources(self) -> dict[str, float]:
        return {"CPU": 2.0 - len(self.alive)}

    def nodes(self) -> list[dict[str, Any]]:
        return [{"NodeID": "here", "Alive": True}]

    def get_runtime_context(self) -> Any:
        return SimpleNamespace(get_node_id=lambda: "here")

    def remote(self, **_: Any) -> Callable[[Any], Any]:
        def start(players: Any, shape: Any, settings: Any, worker: int, incarnation: int, *rest: Any) -> _Actor:
            player = ray_player.RayPlayer(players, shape, settings, worker, incarnation, *rest)
            self.alive.append(_Actor(self, player, worker, incarnation))
            return self.alive[-1]

        return lambda _: SimpleNamespace(remote=start)

    def kill(self, actor: _Actor) -> None:
        self.alive.remove(actor)

    def put(self, value: Any) -> Any:
        return value

    def wait(self, refs: Sequence[Any], *, timeout: float, **_: Any) -> tuple[list[Any], list[Any]]:
        ready = [ref for ref in refs if ref.value is not HANGS]
        self.ahead += timeout if len(ready) < len(refs) else 0.0
        return ready, []

    def get(self, ref: Any, timeout: float | None = None) -> Any:
        if isinstance(ref, list):
            return [self.get(one, timeout) for one in ref]
        if ref.value is HANGS:
            assert timeout is not None, "it would wait for ever"
            raise exceptions.GetTimeoutError("not there")
        if isinstance(ref.value, Exception):
            raise ref.value
        return ref.value


def ray_task_error(cause: Exception) -> Exception:
    error: Exception = exceptions.RayTaskError("play", f"Traceback\n{cause}", cause, "play", 1, "127.0.0.1")
    return error


LOST = exceptions.ObjectLostError("00ff", None, "here")
CAUSES = [
    (LOST, "ObjectLost"),
    (exceptions.OwnerDiedError("00ff", None, "here"), "OwnerDied"),
    (exceptions.ObjectReconstructionFailedError("00ff"), "ObjectReconstructionFailed"),
    (exceptions.ObjectFetchTimedOutError("00ff", None, "here"), "ObjectFetchTimedOut"),
    (exceptions.OutOfMemoryError("95 % of the memory of the node is in use"), "OutOfMemory"),
    (exceptions.ActorDiedError(), "ActorDied"),
    (exceptions.ActorUnavailableError("the network is slow", None), "ActorUnavailable"),
    (exceptions.ActorUnschedulableError("no such node"), "ActorUnschedulable"),
    (exceptions.WorkerCrashedError(), "WorkerCrashed"),
    (exceptions.NodeDiedError("gone"), "NodeDied"),
    (exceptions.RaySystemError("broken"), "RaySystem"),
    (ray_task_error(LOST), "ObjectLost"),  # the weights were lost, not the rollout
    (ray_task_error(RuntimeError("the board is on fire")), "exception in the game"),
    (HANGS, "silent"),
]
NAMES = [f"{name}-{type(error).__name__}" for error, name in CAUSES]


def pool_of(
    trouble: Trouble, monkeypatch: pytest.MonkeyPatch, *, good: int = 0, **settings: Any
) -> tuple[ray_pool.RayWorkers, StandIn]:
    ray = StandIn(trouble, good)
    for module in (ray_pool, ray_cluster, ray_player):
        monkeypatch.setattr(module, "ray", ray)
    monkeypatch.setattr(ray_pool, "time", ray)
    chosen = ParallelSettings(**({"num_workers": 2, "games_per_worker": 5, "batch_size": 50} | settings))
    model = make_model(Bandit)
    pool = ray_pool.RayWorkers(player_spec("Bandit", model, 5), RolloutShape.of(Bandit(5), chosen), chosen)
    pool.start_workers(model)
    return pool, ray


def collected(pool: ray_pool.RayWorkers) -> list[tuple[int, int, int]]:
    """Worker, incarnation and number of each rollout of the next batch."""
    rollouts = pool.collect_experiences()
    facts = [(rollout["worker"], rollout["incarnation"], rollout["number"]) for rollout in rollouts]
    pool.release_experiences()
    return facts


@pytest.mark.parametrize(("error", "cause"), CAUSES, ids=NAMES)
def test_a_loss_is_counted_by_its_cause_and_costs_one_rollout(
    error: Any, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool, ray = pool_of({("play", 1, 0): error}, monkeypatch, good=1, max_staleness=0)
    assert collected(pool) == [(0, 0, 0), (1, 0, 0)]
    assert collected(pool) == [(0, 0, 1)], "the other worker's rollout is not lost, and does not wait"
    batches = [collected(pool) for _ in range(3)]
    assert [batch[0] for batch in batches] == [(0, 0, 2), (0, 0, 3), (0, 0, 4)]
    again = [batch[1] for batch in batches if len(batch) > 1]
    assert len(again) >= 2
    assert again == [(1, 1, number) for number in range(len(again))]
    stats = pool.get_parallel_stats()
    assert stats["losses"] == {cause: 1}
    assert stats["restarts"] == 1
    assert len(ray.alive) == 2


@pytest.mark.parametrize(("error", "cause"), CAUSES, ids=NAMES)
def test_workers_that_are_lost_again_and_again_end_the_pool(
    error: Any, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    trouble = {("play", worker, incarnation): error for worker in range(2) for incarnation in range(9)}
    pool, _ = pool_of(trouble, monkeypatch, max_restarts=3)
    with pytest.raises(WorkersFailed, match=r"Worker \d was lost .* Failures in a row: 4"):
        pool.collect_experiences()
    assert set(pool.losses) == {cause}
    assert 4 <= pool.losses[cause] <= 8


def test_a_worker_that_does_not_even_report_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    trouble = {("play", 1, 0): HANGS, ("report", 1, 0): HANGS}
    pool, ray = pool_of(trouble, monkeypatch)
    batches = [collected(pool) for _ in range(2)]
    while len(batches[-1]) < 2:
        ray.sleep(1.0)
        batches.append(collected(pool))
    assert batches[-1][1] == (1, 1, 0)
    assert pool.losses == {"not started": 1}


def test_a_rollout_that_is_there_is_not_lost_with_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, ray = pool_of({("play", 1, 0): HANGS}, monkeypatch, good=1, timeout_seconds=4.0, max_staleness=0)
    assert collected(pool) == [(0, 0, 0), (1, 0, 0)]
    died = exceptions.ActorDiedError()
    ray.trouble |= {("report", 0, 0): died}  # it has played, and dies while the other one is waited for
    assert collected(pool) == [(0, 0, 1)]
    assert pool.losses == {"silent": 1}
    ray.trouble |= {("play", 0, 0): died}
    for _ in range(4):
        batch = collected(pool)
    assert [worker[:2] for worker in batch] == [(0, 1), (1, 1)]
    assert pool.losses["ActorDied"] == 1


def test_a_long_update_is_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, ray = pool_of({}, monkeypatch, timeout_seconds=4.0, max_staleness=1)
    assert collected(pool) == [(0, 0, 0), (1, 0, 0)]
    ray.sleep(60.0)
    assert collected(pool) == [(0, 0, 1), (1, 0, 1)]
    assert not pool.losses


def test_a_rollout_that_was_played_during_the_update_outlives_its_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, ray = pool_of({}, monkeypatch, max_staleness=1)
    assert collected(pool) == [(0, 0, 0), (1, 0, 0)]
    ray.sleep(60.0)
    ray.trouble |= {("report", 1, 0): exceptions.ActorDiedError()}
    assert collected(pool) == [(0, 0, 1), (1, 0, 1)]


def test_snapshots_that_do_not_come_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, _ = pool_of({("snapshot", 1, 0): HANGS}, monkeypatch)
    assert pool.save_matches() is None
