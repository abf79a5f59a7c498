"""The archive: games that were dealt with, the newest of them, within bounds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from understudy.files import move, remove_if_there
from understudy.ledger import Ledger
from understudy.rundir import RunDir
from understudy.settings import StorageSettings


def archive(run: RunDir, ledger: Ledger, storage: StorageSettings, games: Iterable[tuple[Path, str]]) -> None:
    """Move games (file, id) that the ledger knows into the archive, and let the oldest go where it is full."""
    arrived = []
    for path, game_id in games:
        target = run.archive / path.name
        with contextlib.suppress(FileNotFoundError):  # moved before, or taken away
            if path != target:
                move(path, target)
            arrived.append((path.name, target.stat().st_size, game_id))
    ledger.mark_archived(arrived)
    _prune(run, ledger, storage)


def _prune(run: RunDir, ledger: Ledger, storage: StorageSettings) -> None:
    count, size = ledger.archive_size()
    while count > storage.archive_games or size > storage.archive_bytes:
        oldest = ledger.oldest_archived(min(max(count - storage.archive_games, 1), 500))
        for _, name, _ in oldest:
            remove_if_there(run.archive / name)
        ledger.mark_deleted(game_id for game_id, _, _ in oldest)
        count -= len(oldest)
        size -= sum(freed for _, _, freed in oldest)
