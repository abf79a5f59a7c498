"""Self-play end to end beside Stable-Baselines3, and the parts it is made of: workers, weights, ring.

Everybody plays Drift: 64 matches × 128 steps a batch, 4 passes, learning rate 1e-3, entropy 0.01, network 50→128→64.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from multiprocessing.queues import Queue

import numpy as np

from measure import Row, quantile, run_alone
from understudy.games.drift import Drift
from understudy.models.live import Interface, LiveModel, new_model
from understudy.parallel.communicator import Plan, WorkerCommunicator, WorkerField
from understudy.parallel.local import ParallelManager
from understudy.parallel.loop import TrainingLoopManager
from understudy.parallel.loop_stats import LoopStats
from understudy.parallel.player import PlayerSpec
from understudy.parallel.rollout import Rollout, RolloutShape
from understudy.run.lock import StopRequest
from understudy.settings import NetworkSettings, ParallelSettings, Settings, TrainingSettings

MATCHES, STEPS, GOAL = 64, 128, 350.0
BATCH = MATCHES * STEPS
UPDATES = 40
PAUSED_SECONDS, PAUSED_TURNS = 3.0, 7
WEIGHTS, WEIGHT_ROUNDS = 53_000_000, 15
RING_BATCHES = 300


@dataclass(slots=True)
class Clock:
    """When each update ended and how well the policy did by then; ends the run when both figures are known."""

    request: StopRequest = field(default_factory=StopRequest)
    began: float = field(default_factory=time.perf_counter)
    times: list[float] = field(default_factory=list)
    decisions: list[int] = field(default_factory=list)
    goal_after: float = float("inf")

    def note(self, decisions: int, returns: Sequence[float]) -> bool:
        """Take down an update; False when enough is known."""
        now = time.perf_counter()
        self.times.append(now)
        self.decisions.append(decisions)
        if len(returns) >= 64 and np.mean(returns) >= GOAL:
            self.goal_after = min(self.goal_after, now - self.began)
        return len(self.times) < UPDATES or (self.goal_after == float("inf") and now - self.began < 90)

    def on_update(self, stats: LoopStats, _rollouts: Sequence[Rollout]) -> None:
        """For the loop."""
        if not self.note(stats.decisions, stats.returns):
            self.request.stop()

    @property
    def speed(self) -> float:
        """Decisions a second, played and learned from, after the first two updates."""
        return (self.decisions[-1] - self.decisions[1]) / (self.times[-1] - self.times[1])


def ours(minibatch: int, workers: int, *, separate: bool = False) -> Clock:
    """`workers` processes and the learner; 0 is the sequential mode. `separate` nets are as Stable-Baselines3 has."""
    count = max(workers, 1)
    # No KL limit: all passes are made, as Stable-Baselines3 makes them.
    training = TrainingSettings(learning_rate=1e-3, epochs=4, minibatch=minibatch, target_kl=0.0, exploration=0.0)
    parallel = ParallelSettings(
        enabled=workers > 0, num_workers=count, games_per_worker=MATCHES // count, batch_size=BATCH // count
    )
    network = NetworkSettings(separate=separate)
    loop = TrainingLoopManager("drift", Settings(network=network, training=training, parallel=parallel), seed=1)
    clock = Clock()
    loop._on_update = clock.on_update
    loop.run(clock.request)
    return clock


def middle(minibatch: int, workers: int, *, separate: bool = False) -> tuple[float, float]:
    """Medians of three runs: decisions a second, and the seconds to the goal. One run lasts as long as a hiccup."""
    clocks = [ours(minibatch, workers, separate=separate) for _ in range(3)]
    return quantile([c.speed for c in clocks], 0.5), quantile([c.goal_after for c in clocks], 0.5)


def workers_alone(workers: int) -> float:
    """Decisions a second that workers play while nobody learns; queues are long, so that none waits for another."""
    settings = ParallelSettings(
        enabled=True,
        num_workers=workers,
        games_per_worker=MATCHES,
        batch_size=BATCH,
        max_queue_size=8,
        max_staleness=7,
    )
    game = Drift(MATCHES)
    training = TrainingSettings(exploration=0.0)
    model = LiveModel(new_model(Interface(game.state_dim, game.actions), NetworkSettings(), training, 0))
    players = PlayerSpec("drift", MATCHES, model.base.spec, True, 0, 1000)
    with ParallelManager(players, RolloutShape.of(game, settings), settings) as manager:
        manager.start_workers(model)
        for _ in range(10):  # processes start, and every slot of the rings is touched
            manager.collect_experiences()
            manager.release_experiences()
        manager.collect_experiences()
        batches, began = 0, time.perf_counter()
        while (seconds := time.perf_counter() - began) < PAUSED_SECONDS:
            manager.release_experiences()
            manager.collect_experiences()
            batches += 1
        return batches * workers * BATCH / seconds


def multiply(start: float, seconds: float, done: Queue[int]) -> None:
    """In a separate process: the products of a decision in 64 matches, again and again."""
    states, weights = np.ones((MATCHES, 50), np.float32), np.ones((50, 128), np.float32)
    out = np.empty((MATCHES, 128), np.float32)
    while time.time() < start:
        pass
    count = 0
    while time.time() < start + seconds:
        np.maximum(np.matmul(states, weights, out=out), 0, out=out)
        count += 1
    done.put(count)


def machine_alone(processes: int) -> float:
    """Such products a second of all processes, which share nothing: what the machine makes of a second core."""
    context = multiprocessing.get_context("spawn")
    done: Queue[int] = context.Queue()
    start, seconds = time.time() + 2.0, 1.0
    workers = [context.Process(target=multiply, args=(start, seconds, done)) for _ in range(processes)]
    for worker in workers:
        worker.start()
    total = sum(done.get() for _ in workers)
    for worker in workers:
        worker.join()
    return total / seconds


def in_turn(measure: Callable[[int], float], turns: int) -> tuple[float, float]:
    """With one process and with two, right after one another: the pair whose ratio is the median."""
    pairs = [(measure(1), measure(2)) for _ in range(turns)]
    return sorted(pairs, key=lambda pair: pair[1] / pair[0])[turns // 2]


TINY = RolloutShape(steps=1, matches=1, state_dim=1, n_actions=1, masked=False, two_players=False)
WEIGHT_PLAN = Plan(workers=1, slots=1, shape=TINY, weights=WEIGHTS)
RING_PLAN = Plan(1, 4, RolloutShape(STEPS, MATCHES, 50, 8, False, False), 8)


def read_weights(name: str) -> None:
    """In a separate process: copy every version as it arrives, and report it."""
    end = WorkerCommunicator(WEIGHT_PLAN, name)
    weights = np.empty(WEIGHTS // 4, np.float32)
    seen = 0
    while seen < WEIGHT_ROUNDS + 2:
        if end.board.shown == seen:
            time.sleep(0.0002)
            continue
        seen = end.board.read(lambda block: np.copyto(weights, block.view(np.float32)))
        end.numbers[0, WorkerField.VERSION] = seen
    end.cleanup()


def weights_to_a_worker() -> list[float]:
    """Milliseconds from handing over 53 MB to their use in another process."""
    end = WorkerCommunicator(WEIGHT_PLAN)
    reader = multiprocessing.get_context("spawn").Process(target=read_weights, args=(end.name,))
    reader.start()
    block = np.random.default_rng(0).integers(0, 255, WEIGHTS, np.uint8)
    taken = []
    for _ in range(WEIGHT_ROUNDS + 2):
        began = time.perf_counter()
        number = end.send_model_weights(block)
        while end.numbers[0, WorkerField.VERSION] != number:
            time.sleep(0.0001)
        taken.append(1000 * (time.perf_counter() - began))
    reader.join()
    end.cleanup()
    return taken[2:]  # the first ones touch new memory


def fill_ring(name: str) -> None:
    """In a separate process: put batches as fast as they are taken."""
    end = WorkerCommunicator(RING_PLAN, name)
    states = np.random.default_rng(0).standard_normal((STEPS, MATCHES, 50), np.float32)
    for _ in range(RING_BATCHES):
        while (slot := end.rings[0].next_slot()) is None:
            time.sleep(0.00005)
        np.copyto(slot.states, states)
        end.rings[0].put()
    del slot
    end.cleanup()


def ring_speed() -> float:
    """Bytes a second through the ring, copied in by one process and out by the other."""
    end = WorkerCommunicator(RING_PLAN)
    writer = multiprocessing.get_context("spawn").Process(target=fill_ring, args=(end.name,))
    writer.start()
    mine = np.empty((STEPS, MATCHES, 50), np.float32)
    moved, began = 0, 0.0
    while moved < RING_BATCHES:
        taken = end.collect_experiences([0])
        if not taken:
            time.sleep(0.00005)
            continue
        np.copyto(mine, taken[0].states)
        end.release_experiences()
        moved += 1
        began = began or time.perf_counter()  # from the first on: the other process has started
    seconds = time.perf_counter() - began
    writer.join()
    del taken
    end.cleanup()
    return (RING_BATCHES - 1) * mine.nbytes / seconds


def rows() -> list[Row]:
    """All figures, ours and theirs in turn."""
    from selfplay_peers import sb3  # noqa: PLC0415 - workers import this file too, and need no torch

    table = []
    for minibatch in (256, 2048):
        sequential, _ = middle(minibatch, 0)
        beside, goal_after = middle(minibatch, 1)
        separate, _ = middle(minibatch, 1, separate=True)
        clock = Clock()
        sb3(minibatch, clock.note)
        what = f"decisions played and learned, minibatch {minibatch:,}"
        table += [
            Row(f"{what}, one process", sequential / 1000, "k/s", "SB3", clock.speed / 1000),
            Row(f"{what}, 1 worker", beside / 1000, "k/s", "SB3", clock.speed / 1000, factor=2),
            Row(
                f"{what}, 1 worker, separate nets",
                separate / 1000,
                "k/s",
                "SB3",
                clock.speed / 1000,
                factor=1.5,
            ),
            Row(
                f"time to a mean return of 350, minibatch {minibatch:,}",
                1000 * goal_after,
                "ms",
                "SB3",
                1000 * clock.goal_after,
                factor=2,
            ),
        ]
    one, both = in_turn(workers_alone, PAUSED_TURNS)
    one_plain, both_plain = in_turn(machine_alone, 3)
    table += [
        Row("plain products, 2 processes that share nothing", both_plain / 1000, "k/s", "1 process", one_plain / 1000),
        Row("decisions played, nobody learns, 2 workers", both / 1000, "k/s", "1 worker", one / 1000, factor=1.8),
        Row("weights of 53 MB at a worker, median", quantile(weights_to_a_worker(), 0.5), "ms", limit=30),
        Row("experience through the ring", ring_speed() / 1e9, "GB/s", limit=3),
    ]
    return table


if __name__ == "__main__":
    run_alone("Self-play", rows)
