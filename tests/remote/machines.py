"""A machine for tests: a run directory, what plays and learns there, and its synchroniser."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from game_files import make_model, put_game
from runs import drained
from understudy.experience.episode import read_episode
from understudy.learner.loop import LearnerLoop
from understudy.ledger.connection import Ledger
from understudy.models.state import ModelState
from understudy.models.store import ModelStore
from understudy.remote.bucket import Bucket
from understudy.remote.head import read_head
from understudy.remote.layout import COMMITS, DOCUMENT_BYTES, from_json
from understudy.remote.objects import Store
from understudy.remote.ranges import numbers_in
from understudy.remote.sync import Sync
from understudy.rundir import RunDir
from understudy.settings import RemoteSettings, Settings

LEASE = 60.0


class Clock:
    """A monotonic clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Machine:
    """One machine. `restart` is what a kill and a new process do."""

    def __init__(self, folder: Path, store: Store, clock: Clock, **remote: Any) -> None:
        self.run = RunDir.at(folder)
        self.run.create()
        self.models = ModelStore(self.run.model, self.run.ledger)
        settings = RemoteSettings(**{"push_seconds": 0.0, "lease_seconds": LEASE, "free_bytes": 0, **remote})
        self.settings = dataclasses.replace(Settings(), remote=settings)
        self._store, self._clock = store, clock
        self._made = 0
        self.sync = self._started()

    def _started(self) -> Sync:
        return Sync(self.run, "memory://test", self.settings, bucket=Bucket(self._store), clock=self._clock)

    def restart(self) -> None:
        self.sync.close()
        self.sync = self._started()

    def step(self) -> None:
        """One pass that sends everything there is to send."""
        self.sync.once(push=True)

    def play(self, games: int = 1, **meta: Any) -> list[str]:
        """Leave games in the buffer; returns their ids."""
        paths = []
        for _ in range(games):
            self._made += 1
            paths.append(put_game(self.run.buffer, seed=self._made, **meta))
        return [read_episode(path, self.settings.storage).meta.id for path in paths]

    def create_model(self) -> ModelState:
        return self.models.create(make_model())

    def learn(self) -> None:
        """Learn all that waits."""
        assert LearnerLoop(self.run, self.settings).run(drained())

    def waiting(self) -> int:
        return len(list(self.run.buffer.glob("*.npz")))

    def learned(self) -> set[str]:
        with Ledger(self.run.ledger) as ledger:
            return {game.id for game, outcome, _ in ledger.games() if outcome == "learned"}


Make = Callable[..., Machine]
"""Makes a machine with these settings of `remote`."""


def commits(bucket: Bucket) -> list[dict[str, Any]]:
    """The line of commits from the head back to the first one."""
    head = read_head(bucket)
    found = []
    name = head and head.commit
    while name:
        document = bucket.get(f"{COMMITS}{name}.json", DOCUMENT_BYTES)
        assert document is not None
        found.append(from_json(document.data, name))
        name = found[-1]["parent"]
    return found


def learned_times(bucket: Bucket) -> dict[tuple[str, int], int]:
    """How often each game (machine, number) is in the model of the head."""
    times: dict[tuple[str, int], int] = {}
    for commit in commits(bucket):
        for machine, ranges in commit["learned"].items():
            for number in numbers_in(ranges):
                times[machine, number] = times.get((machine, number), 0) + 1
    return times
