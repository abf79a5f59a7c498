"""Finished games that are not saved yet. A game that cannot be written is kept and tried again."""

from __future__ import annotations

import logging
import weakref
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from understudy.errors import RunDirError
from understudy.experience.archive import archive
from understudy.experience.episode import Episode, file_name, write_episode
from understudy.experience.journal import Journal
from understudy.ledger.connection import Ledger
from understudy.rundir import RunDir
from understudy.settings import StorageSettings

logger = logging.getLogger(__name__)

MOST_UNSAVED_BYTES = 1 << 29  # of games kept in memory while the disk accepts none
_GAME_BYTES = 4096  # memory of a game besides its arrays


class _Waiting(NamedTuple):
    episode: Episode
    journal: Journal

    @property
    def nbytes(self) -> int:
        return self.episode.nbytes + _GAME_BYTES


class UnsavedGames:
    """Games to save, oldest first. Without a run directory, they only count as saved.

    `report` is called for each game before its journal is deleted, so that no result is lost.
    """

    def __init__(
        self, run: RunDir | None, storage: StorageSettings, report: Callable[[Episode], object] | None
    ) -> None:
        self._run = run
        self._storage = storage
        self._report = report
        self._games: deque[_Waiting] = deque()
        self._bytes = 0
        self._at_the_end = weakref.finalize(self, _say_what_is_lost, self._games)

    def add(self, episode: Episode, journal: Journal) -> None:
        """Add a finished game and its journal; `save` saves it."""
        game = _Waiting(episode, journal)
        self._games.append(game)
        self._bytes += game.nbytes

    def save(self) -> dict[str, Path]:
        """Save games, oldest first, until one cannot be written. Returns the saved files by game id."""
        saved: dict[str, Path] = {}
        while self._games:
            episode, journal = self._games[0]
            if self._run is not None:
                try:
                    saved[episode.meta.id] = self._write(self._run, episode)
                except (OSError, RunDirError) as error:
                    gone = "" if self._run.root.is_dir() else f" {self._run.root} was moved or deleted: put it back."
                    logger.warning(
                        "Game %s cannot be saved (%s); it is kept and tried again.%s", episode.meta.id, error, gone
                    )
                    break
            journal.discard()
            self._remove_oldest()
        self._limit_memory()
        return saved

    def _write(self, run: RunDir, episode: Episode) -> Path:
        """Write a game into the buffer, or into the archive if it was learned from already."""
        run.mend()
        learned = episode.meta.trained_online
        path = (run.archive if learned else run.buffer) / file_name(episode.meta)
        if self._report is not None:
            self._report(episode)
        write_episode(path, episode, compress=self._storage.compress)
        if learned:
            with Ledger(run.ledger) as ledger:
                archive(run, ledger, self._storage, [(path, episode.meta.id)])
        return path

    def _limit_memory(self) -> None:
        """Close the journals of games that wait for the disk, and drop the oldest games beyond the memory limit."""
        if self._games:
            self._games[-1].journal.park()
        while self._bytes > MOST_UNSAVED_BYTES:
            count = len(self._games)
            episode, journal = self._remove_oldest()
            journal.close()  # what its file holds can be salvaged
            logger.warning(
                "Games cannot be saved and %d of them wait in memory; the oldest, %s, is dropped.",
                count,
                episode.meta.id,
            )

    def _remove_oldest(self) -> _Waiting:
        game = self._games.popleft()
        self._bytes -= game.nbytes
        return game


def _say_what_is_lost(games: deque[_Waiting]) -> None:
    """At the end of the agent or its process: log the games that are neither saved nor in a journal that can be
    salvaged."""
    lost = [game.episode.meta.id for game in games if not game.journal.on_file]
    if lost:
        logger.warning("%d finished games could not be saved and are lost: %.200s.", len(lost), ", ".join(lost))
