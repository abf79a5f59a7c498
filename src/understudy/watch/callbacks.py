"""Callbacks: your program is called for every version and game of a run, for W&B, MLflow and similar services.

They only read the run directory: the learner neither knows them nor waits for them.
"""

from __future__ import annotations

import threading
from typing import Protocol

from understudy.errors import RunDirError
from understudy.ledger.connection import Ledger, LedgerGame, Version
from understudy.ledger.history import finite_numbers, version_numbers
from understudy.rundir import RunDir
from understudy.watch.ledger_reading import open_ledger

_AT_A_TIME = 1000


class Callback(Protocol):
    """The methods that `follow` calls, in chronological order. An exception ends `follow`."""

    def on_version(self, version: Version, numbers: dict[str, float]) -> None:
        """A model was published; `numbers` are its metrics, by the names of docs/metrics.md."""

    def on_game(self, game: LedgerGame, outcome: str) -> None:
        """A game was processed: learned, online or skipped."""


def follow(
    run: RunDir,
    callback: Callback,
    *,
    after_version: int = 0,
    after_game: int = 0,
    poll_seconds: float = 2.0,
    stop: threading.Event | None = None,
) -> tuple[int, int]:
    """Report to a callback everything after a version and a game, then new events, until `stop` is set.

    Returns its position, for `after_version` and `after_game` of the next call. With `poll_seconds=0` it returns after
    the existing events.
    """
    ending = stop or threading.Event()
    while not ending.is_set():
        told = 0
        if run.ledger.exists():
            with open_ledger(run.ledger) as ledger:
                after_game, games = _tell_games(ledger, callback, after_game)
                after_version, versions = _tell_versions(ledger, callback, after_version)
                told = games + versions
        elif not poll_seconds:
            raise RunDirError(f"There is no run at {run.root}: nothing has been recorded there yet.")
        if not told:
            if not poll_seconds:
                break
            ending.wait(poll_seconds)
    return after_version, after_game


def _tell_versions(ledger: Ledger, callback: Callback, after: int) -> tuple[int, int]:
    found = ledger.versions_after(after, _AT_A_TIME)
    for version in found:
        values = version_numbers(version.games, version.steps, version.seconds, version.loss, version.stats)
        callback.on_version(version, finite_numbers(values))
    return (found[-1].version if found else after), len(found)


def _tell_games(ledger: Ledger, callback: Callback, after: int) -> tuple[int, int]:
    found = ledger.games_after(after, _AT_A_TIME)
    for _, game, outcome in found:
        callback.on_game(game, outcome)
    return (found[-1][0] if found else after), len(found)
