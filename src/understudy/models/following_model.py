"""The model of a bot beside the published one: loads newer versions, and publishes what was trained here."""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from understudy.acting.rng import Chance
from understudy.errors import ModelError, ModelMissing, RunDirError
from understudy.files.atomic import write_atomically
from understudy.ledger.connection import LedgerGame
from understudy.models.live import LiveModel, publish_if_possible
from understudy.models.state import read_model, to_bytes
from understudy.models.store import ModelStore

logger = logging.getLogger(__name__)

_Path = str | os.PathLike[str]


class FollowingModel:
    """A model in memory that follows the published one. `chance` is saved with each version."""

    def __init__(
        self, live: LiveModel, store: ModelStore | None, signature: object, chance: Chance, *, writable: bool
    ) -> None:
        self.live = live
        self._store = store
        self._signature = signature  # of the published file, before it was read
        self._chance = chance
        self._writable = writable

    def reload_if_newer(self) -> bool:
        """See RLAgent.reload_if_newer."""
        if self._store is None:
            return False
        try:
            signature = self._store.signature()
            # This agent's model could not be published at its start. If the run was removed, do not create it again.
            if signature is None and self._writable and self._store.model.parent.is_dir():
                mine = self.live.base
                self.live.adopt_on_top(publish_if_possible(partial(self._store.create, mine), mine))
            if signature == self._signature:
                return False
            head = self._store.load(playable=True)
            if newer := head.version != self.live.version:
                self.live.adopt_on_top(head)
        except ModelMissing:
            return False
        except (ModelError, OSError) as error:  # the game continues with the model it has
            logger.warning("The newest model cannot be played; version %d plays instead: %s", self.live.version, error)
            return False
        self._signature = signature
        return newer

    def load(self, path: _Path | None) -> None:
        """See RLAgent.load_model."""
        if path is not None:
            state = read_model(Path(path))
        elif self._store is not None:
            state = self._store.load(playable=True)
            self._signature = None
        else:
            raise RunDirError("This agent has no run directory; load_model needs a path.")
        self.live.base.spec.require(state.spec, str(path or "in the store"))
        if path is None or self._store is None:
            self.live.adopt(state)
        else:  # weights from elsewhere count as a change to the published model, which save_model would publish
            self.live.trainer.restore(state.arrays, state.counters)
        self._chance.restore(state.agent)

    def save(self, path: _Path | None) -> None:
        """See RLAgent.save_model."""
        if path is not None and (self._store is None or Path(path).absolute() != self._store.model):
            content = to_bytes(dataclasses.replace(self.live.export(), agent=self._chance.state()))
            write_atomically(Path(path), lambda stream: stream.write(content))
            return
        if self._store is None:
            raise RunDirError("This agent has no run directory; save_model needs a path.")
        self.publish((), {})

    def publish(self, consumed: Sequence[LedgerGame], stats: Mapping[str, Any]) -> None:
        """Publish what was trained here; the ledger records which games it learned from (`consumed`)."""
        assert self._store is not None
        state = self._chance.state()
        self.live.publish(self._store, publisher="bot", consumed=consumed, outcome="online", stats=stats, agent=state)
