"""The state of all matches at the publication of a version, so that the run resumes bit for bit.

`models/matches/000124.npz` is written before version 124 is published and names, by a hash, the weights to which it
belongs. A run that is killed between the two finds version 123 and its matches, plays on, and writes both again.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.errors import MatchesDamaged
from understudy.files.atomic import remove_if_there, write_atomically
from understudy.games.saved import pack, unpack, unpacking
from understudy.models.live import LiveModel
from understudy.models.store import ModelStore

logger = logging.getLogger(__name__)

_MAX_FILE_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class SavedMatches:
    """Snapshots of all players of a run, in the order of the workers."""

    of: Mapping[str, Any]
    """The game, the seed and the number of matches, which must be the same in the run that continues them."""
    weights: str
    """The hash of the model at the time of the snapshot."""
    generation: int
    players: tuple[bytes, ...]


def whole(snapshots: Sequence[bytes | None]) -> list[bytes] | None:
    """The snapshots of all players; None if one is missing."""
    found = [snapshot for snapshot in snapshots if snapshot is not None]
    return found if len(found) == len(snapshots) else None


def digest(model: LiveModel) -> str:
    """A hash of the weights and counters of a model."""
    found = hashlib.blake2b(json.dumps(model.trainer.counters(), sort_keys=True).encode(), digest_size=16)
    found.update(np.ascontiguousarray(model.network.parameters).data)
    return found.hexdigest()


class MatchKeeper:
    """Saves the matches of a run with its versions, and finds those from which it continues.

    If `workers` is None, the number of workers may change, and saved matches of any number are accepted.
    """

    def __init__(self, store: ModelStore | None, workers: int | None, of: Mapping[str, Any]) -> None:
        self._files = None if store is None else MatchFiles(store)
        self._workers = workers
        self._of = of
        self._last: SavedMatches | None = None
        """What was saved or found last; without a store, the only copy."""

    def save(self, model: LiveModel, generation: int, snapshots: Callable[[], Sequence[bytes] | None]) -> None:
        """Save the matches of all players before this model is published, unless that is done already or impossible."""
        weights = digest(model)
        if self._last is not None and self._last.weights == weights:
            return
        players = snapshots()
        self._last = None if players is None else SavedMatches(self._of, weights, generation, tuple(players))
        if self._last is not None and self._files is not None:
            self._files.write(model.version + 1, self._last)

    def find(self, model: LiveModel) -> SavedMatches | None:
        """The matches saved with this model, if this run can continue them; otherwise it logs why not."""
        saved = self._last
        if saved is None or saved.weights != digest(model):
            saved = None if self._files is None else self._files.read(model)
        if saved is None:
            reason = "none were saved with this model, or the game cannot save them"
        elif saved.of == self._of and self._workers in (None, len(saved.players)):
            self._last = saved
            return saved
        else:
            reason = f"those saved are {len(saved.players)} × {dict(saved.of)}, not {self._workers} × {dict(self._of)}"
        logger.info("New matches begin, so the run does not continue bit for bit: %s.", reason)
        return None

    def prune(self, newest: int) -> None:
        """See MatchFiles.prune."""
        if self._files is not None:
            self._files.prune(newest)


class MatchFiles:
    """The saved matches beside a store's versions; each is removed when its version is."""

    def __init__(self, store: ModelStore) -> None:
        self._store = store
        self._folder = store.model.parent / "matches"

    def write(self, version: int, saved: SavedMatches) -> None:
        """Save matches for a version that will be published next."""
        facts = {"of": dict(saved.of), "weights": saved.weights, "generation": saved.generation}
        sizes = np.array([len(content) for content in saved.players], np.int64)
        content = pack(facts, {"sizes": sizes, "players": np.frombuffer(b"".join(saved.players), np.uint8)})
        self._folder.mkdir(exist_ok=True)
        write_atomically(self._folder / f"{version:06d}.npz", lambda stream: stream.write(content))

    def read(self, model: LiveModel) -> SavedMatches | None:
        """The matches of this model: those of its version or, if it was republished unchanged, of its parent."""
        for version in (model.version, model.base.parent):
            path = self._folder / f"{version or 0:06d}.npz"
            try:
                if path.stat().st_size > _MAX_FILE_BYTES:
                    raise MatchesDamaged(f"{path.name} is larger than {_MAX_FILE_BYTES:,} bytes.")
                saved = _parse(path.read_bytes())
            except FileNotFoundError:
                continue
            except MatchesDamaged as error:
                logger.warning("The matches in %s cannot be used: %s", path, error)
                continue
            if saved.weights == digest(model):
                return saved
        return None

    def prune(self, newest: int) -> None:
        """Remove the matches of versions that are no longer kept or were never published."""
        if not self._folder.is_dir():
            return
        for path in self._folder.glob("*.npz"):
            version = int(path.stem) if path.stem.isdecimal() else -1
            if version > newest or not self._store.version_path(version).exists():
                remove_if_there(path)


def _parse(content: bytes) -> SavedMatches:
    facts, arrays = unpack(content)
    with unpacking():
        sizes, players = arrays["sizes"], arrays["players"].tobytes()
        if (sizes < 0).any() or sizes.sum() != len(players):
            raise ValueError("its sizes contradict its content")
        ends = np.cumsum(sizes).tolist()
        parts = tuple(players[end - size : end] for end, size in zip(ends, sizes.tolist(), strict=True))
        return SavedMatches(dict(facts["of"]), str(facts["weights"]), int(facts["generation"]), parts)
