"""How long the loop takes: from a publish to a bot that plays with it, and from a game's end to a new model.

The bot is another process that calls `reload_if_newer` every millisecond. Its peer does the least that one can:
np.savez, fsync and rename on one side, a look at the file's date and np.load on the other.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from games import ACTIONS, STATE_DIM, STEPS
from measure import Row, quantile, run_alone
from understudy import BackgroundParallelLearner, ModelStore, RLAgent
from understudy.ledger.connection import Ledger
from understudy.models.live import LiveModel
from understudy.rundir import RunDir

TITLE = "Latency"
PUBLISHES = 150
GAMES = 60
POLL_SECONDS = 0.001
PATIENCE_SECONDS = 30.0


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        usable, peer = _publish_to_usable(Path(folder) / "publish")
        learned = _game_end_to_model(Path(folder) / "learn")
    floor = "savez, fsync, rename; np.load"
    return [
        Row("publish → usable p50", quantile(usable, 0.5), "ms", floor, quantile(peer, 0.5)),
        Row("publish → usable p99", quantile(usable, 0.99), "ms", floor, quantile(peer, 0.99)),
        Row("game end → new model p50", quantile(learned, 0.5), "ms", limit=250),
        Row("game end → new model p99", quantile(learned, 0.99), "ms"),
    ]


def _publish_to_usable(folder: Path) -> tuple[list[float], list[float]]:
    """Milliseconds of every publish, ours and the peer's, taking turns."""
    run = RunDir.at(folder)
    with RLAgent(STATE_DIM, ACTIONS, run_dir=run.root, seed=0):
        store = ModelStore(run.model, run.ledger)
        model = LiveModel(store.load())
    plain = folder / "plain.npz"
    _save_plainly(plain, model.base.arrays)
    spawn = multiprocessing.get_context("spawn")
    here, there = spawn.Pipe()
    reader = spawn.Process(target=_read_whatever_comes, args=(run.root, plain, there), daemon=True)
    reader.start()
    _next(here)  # it is ready
    ours, theirs = [], []
    with Ledger(run.ledger):  # the learner has it open too; the last one to close it would tidy it up each time
        for _ in range(PUBLISHES):
            start = time.perf_counter()
            model.publish(store, publisher="benchmark")
            ours.append(1e3 * (_next(here) - start))
            start = time.perf_counter()
            _save_plainly(plain, model.base.arrays)
            theirs.append(1e3 * (_next(here) - start))
    here.send("stop")
    reader.join(PATIENCE_SECONDS)
    return ours, theirs


def _read_whatever_comes(run_dir: Path, plain: Path, connection: Connection) -> None:
    """The bot's side: say when a new model can be played with. perf_counter has one origin for all processes."""
    agent = RLAgent(STATE_DIM, ACTIONS, run_dir=run_dir, seed=0, record=False)
    seen = plain.stat().st_mtime_ns
    connection.send(time.perf_counter())
    while not connection.poll():
        if agent.reload_if_newer():
            connection.send(time.perf_counter())
        if (changed := plain.stat().st_mtime_ns) != seen:
            seen = changed
            with np.load(plain) as arrays:
                dict(arrays)
            connection.send(time.perf_counter())
        time.sleep(POLL_SECONDS)


def _save_plainly(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    temporary = path.with_suffix(".tmp")
    with temporary.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]
        stream.flush()
        os.fsync(stream.fileno())
    temporary.replace(path)


def _next(connection: Connection) -> float:
    if not connection.poll(PATIENCE_SECONDS):
        raise TimeoutError("The reading process saw nothing new.")
    arrived: float = connection.recv()
    return arrived


def _game_end_to_model(folder: Path) -> list[float]:
    """Milliseconds from the call of end_episode until another model is there."""
    states = np.random.default_rng(0).standard_normal((STEPS, STATE_DIM), np.float32)
    run = RunDir.at(folder)
    agent = RLAgent(STATE_DIM, ACTIONS, run_dir=run.root, online_training=False, seed=0)
    store = ModelStore(run.model, run.ledger)
    milliseconds = []
    with agent, BackgroundParallelLearner(run_dir=run.root, verbose=False):
        for game in range(GAMES + 1):
            for state in states:
                agent.observe_reward(float(state[agent.select_action(state).action]))
            before = store.signature()
            start = time.perf_counter()
            agent.end_episode("Victory")
            while store.signature() == before:
                if time.perf_counter() - start > PATIENCE_SECONDS:
                    raise TimeoutError("The learner published nothing.")
                time.sleep(POLL_SECONDS)
            if game:  # the first one warms the learner up
                milliseconds.append(1e3 * (time.perf_counter() - start))
    return milliseconds


if __name__ == "__main__":
    run_alone(TITLE, rows)
