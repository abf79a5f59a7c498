"""The archive: the newest games that were learned from or skipped, within limits."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from understudy.experience.episode import Episode, EpisodeMeta
from understudy.experience.notes import RECORDING
from understudy.files.atomic import free_name, move, remove_if_there
from understudy.ledger.connection import Ledger, LedgerGame
from understudy.ledger.history import PURPOSE
from understudy.rundir import RunDir
from understudy.settings import StorageSettings

_NAMED_ACTIONS = 32
OTHER_ACTIONS = "(others)"
_COUNTED_DIRECTLY = 1024
_TEXT = 80
_LATEST_VERSION = 2**53
_AXIS_TEXT = 40  # characters; a longer note is prose, not a category
_MOST_AXES = 6


def archive(run: RunDir, ledger: Ledger, storage: StorageSettings, games: Sequence[tuple[Path, str]]) -> None:
    """Move games (file, id) that the ledger knows into the archive, and remove the oldest games beyond its limits.

    A game has one file there. Another game's file of the same name is never replaced.
    """
    arrived = []
    folder = run.archive
    before = ledger.archived_names([game_id for _, game_id in games])
    for path, game_id in games:
        target = folder / path.name
        with contextlib.suppress(FileNotFoundError):  # moved or removed by somebody else
            if path != target:
                target = folder / before[game_id] if game_id in before else free_name(target)
                move(path, target)
            arrived.append((target.name, target.stat().st_size, game_id))
    ledger.mark_archived(arrived)
    _prune(run, ledger, storage)


def _prune(run: RunDir, ledger: Ledger, storage: StorageSettings) -> None:
    folder = run.archive
    count, size = ledger.archive_size()
    while count > storage.archive_games or size > storage.archive_bytes:
        oldest = ledger.oldest_archived(min(max(count - storage.archive_games, 1), 500))
        for _, name, _ in oldest:
            remove_if_there(folder / name)
        ledger.mark_deleted(game_id for game_id, _, _ in oldest)
        count -= len(oldest)
        size -= sum(freed for _, _, freed in oldest)


def record_of(episode: Episode, name: str, size: int) -> LedgerGame:
    """What the ledger keeps of a game. Meta of foreign files is not trusted: texts are cut to what a table can show."""
    meta = episode.meta
    version = meta.model_version
    return LedgerGame(
        id=meta.id,
        name=name,
        result=_text(meta.result),
        steps=len(episode),
        reward=float(episode.rewards.sum(dtype=np.float64)),
        bytes=size,
        game=_text(meta.game),
        map=_text(meta.map),
        opponent=_text(meta.opponent_id),
        played_by=version if version is not None and 0 <= version < _LATEST_VERSION else None,
        started=meta.started_at,
        ended=meta.ended_at,
        actions=_chosen(episode),
        axes=_axes(meta),
    )


def _axes(meta: EpisodeMeta) -> dict[str, str]:
    """The axes of a result: every note that is a short text, except the name of a recording."""
    notes = {PURPOSE: meta.extra.get(PURPOSE), "opponent_race": meta.opponent_race, **meta.extra, RECORDING: None}
    texts = {_text(name): note for name, note in notes.items() if isinstance(note, str) and 0 < len(note) <= _AXIS_TEXT}
    return dict(list(texts.items())[:_MOST_AXES])


def _chosen(episode: Episode) -> dict[str, int]:
    """How often each action was chosen. If there are very many actions, only the most frequent are listed by name."""
    if episode.actions.max() < _COUNTED_DIRECTLY:  # takes a fifth of the time
        all_counts = np.bincount(episode.actions)
        numbers = all_counts.nonzero()[0]
        counts = all_counts[numbers]
    else:
        numbers, counts = np.unique(episode.actions, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    labels = episode.meta.actions
    named = {
        _text(numbers[i] if labels is None else labels[numbers[i]]): int(counts[i]) for i in order[:_NAMED_ACTIONS]
    }
    rest = int(counts[order[_NAMED_ACTIONS:]].sum())
    return named | ({OTHER_ACTIONS: rest} if rest else {})


def _text(value: object) -> str:
    return str(value)[:_TEXT].encode(errors="replace").decode()
