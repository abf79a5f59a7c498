"""Training: turns a batch of games from the buffer into the next version of the model.

It runs in the learner process itself, the only one that writes models. It needs no protection from its input: games are
checked when they are opened, their size is bounded, and no gradient step begins after the time limit.
"""

from __future__ import annotations

import dataclasses
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from understudy.errors import AlreadyLearned, ModelError, ModelMissing, NonFiniteError, RunDirError
from understudy.experience.replay import ReplayMemory
from understudy.experience.spool import Spool, WaitingGame
from understudy.learner.model_check import trouble_with
from understudy.learning.trust_region import worthwhile_batch
from understudy.models.live import LiveModel, trained_by
from understudy.models.model_files import Signature
from understudy.models.store import ModelStore
from understudy.settings import LearnerSettings

logger = logging.getLogger(__name__)


_STALE_VERSIONS = 100
_SEVERAL = 3  # games in a row without a finite update; after that, the model itself may be at fault


@dataclasses.dataclass(frozen=True, slots=True)
class Trained:
    """A batch that was published."""

    games: int
    version: int
    facts: dict[str, Any]


@dataclasses.dataclass(slots=True)
class _Tried:
    """The outcome of a batch: how many of its games were learned from, and which gave no finite update."""

    learned: int = 0
    failed: list[tuple[WaitingGame, str]] = dataclasses.field(default_factory=list)
    too_large: list[WaitingGame] = dataclasses.field(default_factory=list)
    examined: bool = False


class Training:
    """The model of a run, and the games that wait for it."""

    def __init__(
        self, store: ModelStore, spool: Spool, settings: LearnerSettings, training: Mapping[str, Any] | None
    ) -> None:
        self._store = store
        self._spool = spool
        self._settings = settings
        self._training = dict(training or {})  # settings that the model's file contains from now on
        self._model: LiveModel | None = None
        self._game_length: float | None = None  # decisions, in the mean of the last batch
        self._signature: Signature | None = None
        self._failures = 0
        self._suspects: set[str] = set()
        self._too_large: list[Path] = []
        self._memory = ReplayMemory(settings.replay_games, settings.replay_bytes, settings.replay_versions)
        self.set_aside = 0
        self.broken = False
        """Whether the model cannot learn from any game; nothing is tried until there is another model."""
        self.trouble: str | None = None
        """Why games are left in the buffer: the model is broken, or several games in a row gave no finite update."""

    @property
    def short_of_memory(self) -> bool:
        """Whether there was not enough memory for any game of the last batch. They wait and are tried again."""
        return any(path.exists() for path in self._too_large)

    @property
    def version(self) -> int | None:
        """The version from which training continues."""
        return None if self._model is None else self._model.version

    def short_memory(self, game_length: float) -> str | None:
        """See Network.short_memory."""
        return None if self._model is None else self._model.network.short_memory(game_length)

    def forget(self) -> None:
        """Load the model again before the next batch, because the store has been repaired."""
        self._signature = None

    def refresh(self) -> bool:
        """Use the newest published model; False if there is none yet."""
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
            self._examine(self._model)
        elif head.version != self._model.version:
            self._model.adopt(head)
            self._examine(self._model)
        self._signature = signature
        return True

    def _examine(self, model: LiveModel) -> None:
        """Check a model that another process published; problems of the previous one are cleared."""
        self._failures, self.trouble, self._suspects = 0, None, set()
        self._is_sound(model)

    def _is_sound(self, model: LiveModel) -> bool:
        what = trouble_with(model)
        self.broken = what is not None
        if what is not None:
            self.trouble = f"Model version {model.version} is broken: {what}."
        return what is None

    @property
    def worthwhile_games(self) -> int:
        """The number of games that a batch should have; 1 before there is a model."""
        if self._model is None:
            return 1
        trainer = self._model.trainer
        if not trainer.steps:
            return 1
        length = self._game_length or trainer.steps / max(trainer.games, 1)
        return math.ceil(worthwhile_batch(trainer.steps, trainer.adjusted) / length)

    def next_batch(self) -> list[WaitingGame]:
        """The games to learn from next; they stay in the buffer until they were used."""
        assert self._model is not None
        settings = self._settings
        fixed = settings.min_batch_games or settings.batch_growth
        most = settings.batch_games if fixed else max(settings.batch_games, self.worthwhile_games)
        if self.trouble is None:
            return self._spool.next_batch(self._model.expected, most, settings.max_file_age, settings.batch_decisions)
        self._spool.scan(newest_first=True)  # newer games may be usable
        batch = self._spool.next_batch(self._model.expected, settings.batch_games, settings.max_file_age)
        return [] if self._suspects.issuperset(game.path.name for game in batch) else batch

    def learn(
        self,
        batch: Sequence[WaitingGame],
        *,
        interrupted: Callable[[], bool],
        published: Callable[[Trained], None],
        refused: Callable[[str], None],
    ) -> None:
        """Train on a batch and publish. If some games cannot be trained on, the others still are.

        If no game can be trained on, the model may be at fault; then all of them stay in the buffer.
        """
        assert self._model is not None
        tried = _Tried()
        self._try(self._model, batch, tried, interrupted, published)
        for game in tried.too_large:
            self._spool.rest(game.path)
            refused(f"There is not enough memory for {game.path.name}; it waits.")
        self._too_large = [] if tried.learned else [game.path for game in tried.too_large]
        if self.broken:
            return
        if tried.learned:
            self._failures, self.trouble, self._suspects = 0, None, set()
        elif tried.failed:
            self._failures += len(tried.failed)
            if self._failures >= _SEVERAL:
                self._suspects = {game.path.name for game, _ in tried.failed}
                self.trouble = (
                    f"Several games in a row gave no finite update, though model version {self._model.version} can "
                    f"learn: it or all these games are at fault. {tried.failed[0][1]}"
                )
                return
        for game, reason in tried.failed:
            self._reject(game, reason, refused)

    def _try(
        self,
        model: LiveModel,
        batch: Sequence[WaitingGame],
        tried: _Tried,
        interrupted: Callable[[], bool],
        published: Callable[[Trained], None],
    ) -> None:
        """Train on a batch; if its update is not finite, on its halves. Stops if the model itself cannot learn."""
        start = time.perf_counter()
        deadline = time.monotonic() + self._settings.batch_seconds
        episodes, trainer = [game.episode for game in batch], model.trainer
        # Seeded by the number of updates, as minibatches are.
        rng = np.random.default_rng([trainer.seed, trainer.updates])
        replayed = self._memory.draw(self._settings.replay_share * sum(map(len, episodes)), model.version, rng)
        try:
            update = trainer.update(episodes, deadline, interrupted, replayed)
        except (NonFiniteError, MemoryError) as error:
            if isinstance(error, NonFiniteError) and not tried.examined:
                tried.examined = True
                if not self._is_sound(model):
                    return
            if len(batch) == 1:
                if isinstance(error, NonFiniteError):
                    tried.failed.append((batch[0], f"{error}"))
                else:
                    tried.too_large.append(batch[0])
                return
            middle = len(batch) // 2
            for half in (batch[:middle], batch[middle:]):
                if not self.broken:
                    self._try(model, half, tried, interrupted, published)
            return
        tried.learned += len(batch)
        self._game_length = sum(map(len, episodes)) / len(batch)
        facts = model.facts(update, [game.path.name for game in batch]) | {"seconds": time.perf_counter() - start}
        facts["staleness"] = _versions_behind(model.version, batch)
        facts["replayed"] = [game.episode.meta.id for game in replayed]
        surprises = trainer.surprises
        if self._is_useless(facts):
            model.adopt(model.base)
            self._spool.skip(batch)
        elif self._publish(model, batch, facts):
            if self._settings.replay_share:
                self._memory.learned_again(replayed, surprises[len(batch) :])
                self._memory.add(episodes, surprises[: len(batch)], model.version)
            published(Trained(len(batch), model.version, facts))

    def _reject(self, game: WaitingGame, reason: str, refused: Callable[[str], None]) -> None:
        self.set_aside += 1
        self._spool.reject(game.path, f"Training on this game fails. {reason}")
        refused(f"{game.path.name} was rejected: {reason}")

    def _is_useless(self, facts: Mapping[str, Any]) -> bool:
        """Whether a batch is so old that almost none of it counts. Never for a batch of a version that plays now."""
        share: float = facts["effective_sample_size"]
        return bool(facts["staleness"] > _STALE_VERSIONS and share < self._settings.min_sample_size)

    def _publish(self, model: LiveModel, batch: Sequence[WaitingGame], facts: dict[str, Any]) -> bool:
        try:
            model.publish(self._store, publisher="learner", consumed=[game.record for game in batch], stats=facts)
        except AlreadyLearned as error:
            logger.warning("%s The other games are learned with the next batch.", error)
            model.adopt(model.base)
            return False
        except (ModelError, OSError, RunDirError):
            model.adopt(model.base)
            raise
        self._spool.settle(batch)
        return True


def _versions_behind(version: int, batch: Sequence[WaitingGame]) -> float:
    """By how many versions the games are behind, on average; 0 if they do not say."""
    behind = [version - (game.episode.meta.model_version or version) for game in batch]
    return sum(behind) / len(behind)
