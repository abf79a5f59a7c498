"""A bot in real time beside its learner: from the game's tick to the bot's action, 22.4 times a second.

The bot computes for about 7 ms in plain Python and then asks for a decision. Blocks without a learner, with one that
waits, and with one that trains all the time take turns. The busy learner makes ten times the usual passes over a batch,
so that it computes rather than waits for the disk; the process that feeds it has as low a priority.
"""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.synchronize import Event
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from games import ACTIONS, STATE_DIM, STEPS, random_game
from measure import Row, quantile, run_alone, typical
from understudy import BackgroundParallelLearner, EpisodeMeta, RLAgent, Settings, write_episode
from understudy.experience.episode import file_name
from understudy.machine.priority import lower_priority
from understudy.rundir import RunDir
from understudy.settings import TrainingSettings

TITLE = "A live loop (22.4 Hz, 7 ms of bot)"
TICK_SECONDS = 1 / 22.4
BOT_SECONDS = 0.007
BLOCKS = 6
BLOCK_SECONDS = 3.5
WAITING_GAMES = 40  # four batches
SETTINGS = Settings(training=TrainingSettings(epochs=40, target_kl=0, learning_rate=1e-6))


@dataclasses.dataclass(frozen=True, slots=True)
class Way:
    """One way to run the loop: milliseconds from tick to action, and of the decision alone, block by block."""

    actions: list[list[float]] = dataclasses.field(default_factory=list)
    decisions: list[list[float]] = dataclasses.field(default_factory=list)


def rows() -> list[Row]:
    none, idle, busy = Way(), Way(), Way()
    trained = 0.0
    bot_step = _calibrated_bot_step()
    states = np.random.default_rng(0).standard_normal((STEPS, STATE_DIM), np.float32)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        run = RunDir.at(folder)
        agent = stack.enter_context(
            RLAgent(STATE_DIM, ACTIONS, run_dir=run.root, online_training=False, seed=0, settings=SETTINGS)
        )
        feeding = stack.enter_context(_feeder(run.buffer))
        for _ in range(BLOCKS):
            _play(agent, states, bot_step, none)
            with BackgroundParallelLearner(run_dir=run.root, verbose=False) as learner:
                agent.wait_for_learner()
                _play(agent, states, bot_step, idle)
                feeding.set()
                while not any(run.buffer.glob("*.npz")):
                    time.sleep(0.01)
                before = learner.get_stats()["total_processing_time"]
                _play(agent, states, bot_step, busy)
                trained += learner.get_stats()["total_processing_time"] - before
                feeding.clear()
                agent.wait_for_learner()
    busy_share = 100 * trained / (BLOCKS * BLOCK_SECONDS)
    return [*_comparison(none, idle, busy), Row("busy learner: time inside updates", busy_share, "%")]


def _comparison(none: Way, idle: Way, busy: Way) -> list[Row]:
    def row(what: str, ours: list[list[float]], peer: str, theirs: list[list[float]], share: float) -> Row:
        return Row(f"{what} p{100 * share:.0f}", typical(ours, share), "ms", peer, typical(theirs, share))

    worst = row("tick → action, learner busy", busy.actions, "learner idle", idle.actions, 0.99)
    return [
        row("tick → action, learner idle", idle.actions, "no learner", none.actions, 0.5),
        row("tick → action, learner idle", idle.actions, "no learner", none.actions, 0.99),
        row("tick → action, learner busy", busy.actions, "learner idle", idle.actions, 0.5),
        dataclasses.replace(worst, limit=1.5 * typical(idle.actions, 0.99)),
        Row("tick → action, learner idle max", _max(idle), "ms", "no learner", _max(none)),
        Row("tick → action, learner busy max", _max(busy), "ms", "learner idle", _max(idle)),
        row("the decision alone, learner busy", busy.decisions, "no learner", none.decisions, 0.5),
        row("the decision alone, learner busy", busy.decisions, "no learner", none.decisions, 0.99),
    ]


def _max(way: Way) -> float:
    return max(max(block) for block in way.actions)


def _play(agent: RLAgent, states: NDArray[np.float32], bot_step: Callable[[], float], way: Way) -> None:
    """One block of ticks; the first decision, which begins the game and may reload the model, comes before it."""
    agent.select_action(states[0])
    actions, decisions = [], []
    start = time.perf_counter()
    for i in range(1, int(BLOCK_SECONDS / TICK_SECONDS)):
        tick = start + i * TICK_SECONDS
        time.sleep(max(tick - time.perf_counter(), 0))
        bot_step()
        asked = time.perf_counter()
        agent.select_action(states[i % STEPS])
        acted = time.perf_counter()
        actions.append(1e3 * (acted - tick))
        decisions.append(1e3 * (acted - asked))
    way.actions.append(actions)
    way.decisions.append(decisions)
    agent.end_episode("Victory")


def _calibrated_bot_step() -> Callable[[], float]:
    """Plain Python work of about 7 ms on this machine, when nothing disturbs it."""

    def work(count: int) -> float:
        units = {i: float(i) for i in range(100)}
        total = 0.0
        for i in range(count):
            total += units[i % 100] * 0.5
        return total

    trial = 50_000
    durations = []
    for _ in range(30):
        start = time.perf_counter()
        work(trial)
        durations.append(time.perf_counter() - start)
    count = int(trial * BOT_SECONDS / quantile(durations, 0.1))
    return lambda: work(count)


@contextlib.contextmanager
def _feeder(buffer: Path) -> Iterator[Event]:
    """A process that keeps games waiting in the buffer for as long as the event is set."""
    spawn = multiprocessing.get_context("spawn")
    feeding = spawn.Event()
    process = spawn.Process(target=_feed, args=(buffer, feeding), daemon=True)
    process.start()
    try:
        yield feeding
    finally:
        process.terminate()
        process.join()


def _feed(buffer: Path, feeding: Event) -> None:
    lower_priority()
    game = random_game(np.random.default_rng(1))
    while True:
        feeding.wait()
        for _ in range(WAITING_GAMES - sum(1 for _ in buffer.glob("*.npz"))):
            meta = EpisodeMeta(result="Victory", actions=ACTIONS, ended_at=time.time())
            another = dataclasses.replace(game, meta=meta)
            write_episode(buffer / file_name(meta), another, compress=False)
        time.sleep(0.01)


if __name__ == "__main__":
    run_alone(TITLE, rows)
