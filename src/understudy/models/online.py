"""Training in the bot itself, after each game, where no learner does it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from understudy.errors import ModelError, RunDirError
from understudy.experience.archive import record_of
from understudy.experience.episode import Episode, file_name
from understudy.learning.update_stats import UpdateStats
from understudy.models.following_model import FollowingModel
from understudy.models.store import ModelStore

logger = logging.getLogger(__name__)

_WAITING_SHARE = 0.5  # of the time that may go by waiting for other bots


class OnlineTrainer:
    """Trains the model of a bot on a finished game, and publishes it."""

    def __init__(
        self, following: FollowingModel, store: ModelStore, wanted: Callable[[], bool], seconds: float
    ) -> None:
        """`wanted` says after each game whether to train, for at most `seconds`."""
        self._following, self._store, self._wanted, self._seconds = following, store, wanted, seconds

    def learn(self, episode: Episode) -> UpdateStats | None:
        """Train on a game and publish; None if the game is left to the learner."""
        if not self._wanted():
            return None
        deadline = time.monotonic() + self._seconds
        # Bots that end their games at the same time learn one after the other, each from what the last one published.
        with self._store.turn(self._seconds * _WAITING_SHARE):
            self._following.reload_if_newer()
            return self._learn_and_publish(episode, deadline)

    def _learn_and_publish(self, episode: Episode, deadline: float) -> UpdateStats | None:
        game, live = record_of(episode, file_name(episode.meta), 0), self._following.live
        try:
            update = live.trainer.update([episode], deadline=deadline)
            self._following.publish([game], live.facts(update, [game.name]))
        except (ModelError, OSError, RunDirError) as error:
            logger.warning("The game was not learned from here (%s); it is left to the learner.", error)
            live.adopt(live.base)
            return None
        return update
