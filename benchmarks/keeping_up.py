"""A bot that finishes 1,000 games a second, and the learner beside it.

The bot is a process of its own. It plays many games of 30 decisions at once with the newest published model, and leaves
one file a game in the buffer. It is compared with the same learner whose batches have ten games, however many wait.
Staleness: how many versions behind the one that learned from a game was the one that played it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import multiprocessing
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from measure import Row, run_alone
from understudy import BackgroundParallelLearner, Episode, EpisodeMeta, RLAgent, write_episode
from understudy.experience.episode import file_name
from understudy.learning.losses import log_softmax
from understudy.ledger.connection import Ledger, Version
from understudy.models.live import LiveModel
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import LearnerSettings, Settings

TITLE = "Keeping up with 1,000 games a second (30 decisions, 30 features, 5 actions)"
FEATURES, STEPS = 30, 30
ACTIONS = tuple(f"action {i}" for i in range(5))
RATE = 1020.0  # a little more than the target, since the bot has to begin, too
WARM_UP_SECONDS = 5.0
SECONDS = 20.0


@dataclasses.dataclass(frozen=True, slots=True)
class Throughput:
    """What a learner did while the bot played."""

    played: float
    """Games a second."""
    learned: float
    """Games a second."""
    staleness: float
    """Versions, mean over games."""
    waiting: int
    """Games in the buffer at the end."""


def rows() -> list[Row]:
    ours, fixed = _measured(), _measured(LearnerSettings(batch_decisions=0))
    peer = "batches of ten games"
    return [
        Row("games played", ours.played / 1e3, "k/s"),
        Row("games learned from", ours.learned / 1e3, "k/s", peer, fixed.learned / 1e3, limit=1.0),
        Row("staleness", ours.staleness, "versions", peer, fixed.staleness, limit=5.0),
        Row("games that wait at the end", ours.waiting, "games"),
        Row(f"games that wait at the end, {peer}", fixed.waiting, "games"),
    ]


def _measured(settings: LearnerSettings | None = None) -> Throughput:
    with tempfile.TemporaryDirectory() as folder:
        run = RunDir.at(folder)
        with RLAgent(FEATURES, ACTIONS, run_dir=run.root, online_training=False, seed=0):
            pass
        chosen = Settings(learner=settings or LearnerSettings())
        with BackgroundParallelLearner(run_dir=run.root, verbose=False, settings=chosen), _bot(run.root):
            time.sleep(WARM_UP_SECONDS)
            before = _look(run)
            time.sleep(SECONDS)
            after = _look(run)
        with Ledger(run.ledger, read_only=True) as ledger:
            made = [v for v in ledger.versions() if before.at < v.at <= after.at and v.games]
        return _found(before, after, made)


@dataclasses.dataclass(frozen=True, slots=True)
class _Seen:
    at: float
    waiting: int


def _look(run: RunDir) -> _Seen:
    return _Seen(time.time(), sum(1 for _ in run.buffer.glob("*.npz")))


def _found(before: _Seen, after: _Seen, made: list[Version]) -> Throughput:
    learned = sum(version.games for version in made)
    stale = sum(version.games * version.stats["staleness"] for version in made)
    seconds = after.at - before.at
    played = learned + after.waiting - before.waiting
    return Throughput(played / seconds, learned / seconds, stale / max(learned, 1), after.waiting)


@contextlib.contextmanager
def _bot(root: Path) -> Iterator[None]:
    process = multiprocessing.get_context("spawn").Process(target=_play, args=(root,), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


def _play(root: Path) -> None:
    """Play until ended, as many games as are due at a time. The action of the largest of five features wins a point."""
    run = RunDir.at(root)
    store = ModelStore(run.model, run.ledger)
    model, signature = LiveModel(store.load()), store.signature()
    rng = np.random.default_rng()
    begun, games = time.perf_counter(), 0
    while True:
        due = int((time.perf_counter() - begun) * RATE) - games
        if due < 1:
            time.sleep(0.005)
            continue
        if store.signature() != signature:
            signature = store.signature()
            model.adopt(store.load())
        for episode in _games(model, min(due, 50), rng):
            write_episode(run.buffer / file_name(episode.meta), episode, compress=False, durable=False)
            games += 1


def _games(model: LiveModel, count: int, rng: np.random.Generator) -> Iterator[Episode]:
    states = rng.standard_normal((count * STEPS, FEATURES), np.float32)
    logits, values = model.network.evaluate(model.trainer.normalizer.apply(states), np.arange(0, len(states), STEPS))
    log_probs = log_softmax(logits)
    actions = (log_probs + rng.gumbel(size=log_probs.shape)).argmax(axis=1)
    rewards = (states[:, : len(ACTIONS)].argmax(axis=1) == actions).astype(np.float32)
    chosen = log_probs[np.arange(len(actions)), actions]
    for game in range(count):
        rows = slice(game * STEPS, (game + 1) * STEPS)
        won = rewards[rows].mean() > 0.5
        yield Episode(
            states=states[rows],
            actions=actions[rows],
            rewards=rewards[rows],
            log_probs=chosen[rows],
            values=values[rows],
            meta=EpisodeMeta(
                result="Victory" if won else "Defeat",
                actions=ACTIONS,
                model_version=model.version,
                ended_at=time.time(),
            ),
        )


if __name__ == "__main__":
    run_alone(TITLE, rows)
