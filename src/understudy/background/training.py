"""Training jobs: a batch of games from the buffer into the next version of the model.

They are done in the learner process itself, which alone writes models. Training needs no protection from what it reads:
games are checked when they are opened, their size is bounded, and no gradient step begins after the time limit.
"""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from understudy.errors import AlreadyLearned, ModelError, ModelMissing, NonFiniteError, RunDirError
from understudy.experience.spool import Spool, WaitingGame
from understudy.models.live import LiveModel, trained_by
from understudy.models.store import ModelStore, Signature
from understudy.settings import LearnerSettings

logger = logging.getLogger(__name__)


_STALE_VERSIONS = 100


@dataclasses.dataclass(frozen=True, slots=True)
class Trained:
    """A batch that was published."""

    games: int
    version: int
    facts: dict[str, Any]


class Training:
    """The model of one run and the games that wait for it."""

    def __init__(
        self, store: ModelStore, spool: Spool, settings: LearnerSettings, training: Mapping[str, Any] | None
    ) -> None:
        self._store = store
        self._spool = spool
        self._settings = settings
        self._training = dict(training or {})  # what the model is told once, and then has in its file
        self._model: LiveModel | None = None
        self._signature: Signature | None = None
        self.set_aside = 0

    @property
    def version(self) -> int | None:
        """The version that training goes on from."""
        return None if self._model is None else self._model.version

    def forget(self) -> None:
        """Load the model anew before the next batch: the store has been mended."""
        self._signature = None

    def refresh(self) -> bool:
        """Work with the newest published model; False if there is none yet."""
        signature = self._store.signature()
        if self._model is not None and signature == self._signature:
            return True
        try:
            head = self._store.load()
        except ModelMissing:
            return False
        if self._training:
            head = trained_by(self._store, head, dataclasses.replace(head.training, **self._training))
            self._training = {}
        if self._model is None or head.spec != self._model.base.spec:
            self._model = LiveModel(head)
        elif head.version != self._model.version:
            self._model.adopt(head)
        self._signature = signature
        return True

    def next_batch(self) -> list[WaitingGame]:
        """The games to learn from next; they stay in the buffer until they have been."""
        assert self._model is not None
        settings = self._settings
        return self._spool.next_batch(
            self._model.expected, settings.batch_games, settings.max_file_age, settings.batch_decisions
        )

    def learn(
        self,
        batch: Sequence[WaitingGame],
        *,
        interrupted: Callable[[], bool],
        published: Callable[[Trained], None],
        refused: Callable[[str], None],
    ) -> None:
        """Train on a batch and publish. Of games that cannot be trained on, the others are learned all the same."""
        assert self._model is not None
        start = time.perf_counter()
        deadline = time.monotonic() + self._settings.batch_seconds
        try:
            update = self._model.trainer.update([game.episode for game in batch], deadline, interrupted)
        except (NonFiniteError, MemoryError) as error:
            reason = f"{error}" if isinstance(error, NonFiniteError) else "There is not enough memory for it."
            if len(batch) == 1:
                self.set_aside += 1
                self._spool.reject(batch[0].path, f"Training on this game fails. {reason}")
                refused(f"{batch[0].path.name} was rejected: {reason}")
                return
            middle = len(batch) // 2
            for half in (batch[:middle], batch[middle:]):
                self.learn(half, interrupted=interrupted, published=published, refused=refused)
            return
        facts = {**dataclasses.asdict(update), "seconds": time.perf_counter() - start}
        facts["staleness"] = _versions_behind(self._model.version, batch)
        if self._is_useless(facts):
            self._model.adopt(self._model.base)
            self._spool.skip(batch)
        elif self._publish(self._model, batch, facts):
            published(Trained(len(batch), self._model.version, facts))

    def _is_useless(self, facts: Mapping[str, Any]) -> bool:
        """Whether a batch is so old that almost none of it counts. One of a version that plays now is never that."""
        share: float = facts["effective_sample_size"]
        return bool(facts["staleness"] > _STALE_VERSIONS and share < self._settings.min_sample_size)

    def _publish(self, model: LiveModel, batch: Sequence[WaitingGame], facts: dict[str, Any]) -> bool:
        try:
            model.publish(self._store, publisher="learner", consumed=[game.record for game in batch], stats=facts)
        except AlreadyLearned as error:
            logger.warning("%s The others are learned with the next batch.", error)
            model.adopt(model.base)
            return False
        except (ModelError, OSError, RunDirError):
            model.adopt(model.base)
            raise
        self._spool.settle(batch)
        return True


def _versions_behind(version: int, batch: Sequence[WaitingGame]) -> float:
    """How many versions ago the games were played, on average; 0 where they do not say."""
    behind = [version - (game.episode.meta.model_version or version) for game in batch]
    return sum(behind) / len(behind)
