"""A game of a live bot. Each decision is drawn from the network and written to the game's journal before the bot gets
it."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from understudy.acting.sampling import best, draw
from understudy.acting.trials import Commitment
from understudy.experience.episode import Episode
from understudy.experience.journal import Journal
from understudy.experience.notes import meta_notes
from understudy.learning.finite import LARGEST_REWARD, zero_broken_features
from understudy.learning.trainer import Trainer
from understudy.networks.network import Network

logger = logging.getLogger(__name__)


class Decision(NamedTuple):
    """What to do, the probability it was drawn with, and the expected return of the rest of the game.

    `probability` includes exploration and trials. Where nothing was drawn (`explore=False`), it is the probability
    under the policy.
    """

    action: int
    label: str
    probability: float
    value: float


class LiveGame:
    """The decisions and rewards of one game, played by one version of the model."""

    def __init__(
        self,
        journal: Journal,
        labels: Sequence[str],
        network: Network,
        trainer: Trainer,
        *,
        exploration: float,
        commitment: Commitment | None,
        uniform: Callable[[], float],
        feature_name: Callable[[int], str],
    ) -> None:
        self.journal = journal
        self.exploration = exploration
        self.commitment = commitment
        self._labels = labels
        self._network, self._step = network, network.step
        self._normalize = trainer.normalizer.apply
        self._mean, self._spread = trainer.values.mean, trainer.values.spread
        self._uniform = uniform
        self._feature_name = feature_name
        self._state, self._normalized = np.zeros((2, network.state_dim), np.float32)
        self._finite = np.ones(network.state_dim, np.bool_)
        self._all_finite = self._finite.tobytes()
        self._reward = 0.0  # since the last decision
        self._played_at_random = False
        network.begin_episode()

    def decide(self, state: ArrayLike, legal: Sequence[bool] | NDArray[np.bool_] | None, explore: bool) -> Decision:
        """See RLAgent.select_action."""
        self._take(state)
        if np.isfinite(self._state, out=self._finite).tobytes() != self._all_finite:  # half the time of .all()
            self._zero_broken(self._state, "this state")
        mask = None if legal is None else self._mask(legal)
        logits, value = self._step(self._normalize(self._state, self._normalized))
        if not math.isfinite(value):
            logits, value = self._at_random(), 0.0
        value = self._mean + self._spread * value
        kept = None
        if explore:
            if self.commitment is not None:
                kept = self.commitment.action_at(len(self.journal), mask)
            action, probability = draw(logits, mask, self.exploration, self._uniform(), kept)
            log_prob = math.log(probability)
        else:
            action, probability = best(logits, mask)
            log_prob = 0.0  # nothing was drawn
        self.journal.append(self._state, action, log_prob, value, mask, self._reward, kept is not None)
        self._reward = 0.0
        return Decision(action, self._labels[action], probability, value)

    def _at_random(self) -> NDArray[np.float32]:
        """Logits of a uniformly random decision: a model whose numbers overflow must not end the bot's game."""
        if not self._played_at_random:
            self._played_at_random = True
            logger.error(
                "Version %d of the model gives no finite value; these decisions are made at random. Go back to an "
                "earlier version: `understudy models RUN_DIR --rollback VERSION`.",
                self.journal.meta.model_version,
            )
        return np.zeros(len(self._labels), np.float32)

    def credit(self, reward: object) -> None:
        """Credit the last decision with a reward; several add up."""
        number = _number(reward)
        if not abs(number) <= LARGEST_REWARD:
            logger.warning("A reward of %g cannot be learned from; it is not counted.", number)
        else:
            self._reward += number

    def end(self, result: str, final_state: ArrayLike | None, about: Mapping[str, Any]) -> Episode:
        """The finished game; raises EpisodeError if it cannot be learned from. `final_state` marks a game that was cut
        off."""
        notes = meta_notes(about, self.journal.meta.extra)
        if final_state is None:
            return self.journal.finish(result, self._reward, time.time(), **notes)
        final = self._zero_broken(np.array(final_state, np.float32), "the final state")
        return self.journal.truncate(final, self._reward, time.time(), result, **notes)

    def _zero_broken(self, state: NDArray[np.float32], what: str) -> NDArray[np.float32]:
        """The state with 0 where it is NaN or infinite; logs a warning that names these features."""
        if broken := zero_broken_features(state):
            names = ", ".join(map(self._feature_name, broken))
            logger.warning("NaN or infinite in %s, and counted as 0: %s.", what, names)
        return state

    def _take(self, state: ArrayLike) -> None:
        """Copy a state: a list or an array of numbers, of any type that NumPy converts."""
        cause: Exception | None = None
        try:
            if len(state) == len(self._state) and not isinstance(state, str):  # type: ignore[arg-type]
                self._state[...] = state
                return
        except (TypeError, ValueError, OverflowError) as error:
            cause = error
        raise ValueError(f"A state has {len(self._state)} features here, {_not_this(state)}.") from cause

    def _mask(self, legal: Sequence[bool] | NDArray[np.bool_]) -> NDArray[np.bool_]:
        try:
            mask = np.asarray(legal)
        except ValueError:  # rows of different lengths
            mask = np.empty(0)
        if mask.shape == (len(self._labels),):
            if mask.dtype == np.bool_:
                return mask
            if mask.dtype.kind in "iuf" and ((mask == 0) | (mask == 1)).all():
                return mask.astype(np.bool_)
        actions = len(self._labels)
        raise ValueError(f"A mask has True or False for each of the {actions} actions, {_not_this(legal)}.")


def _number(reward: object) -> float:
    """A reward as a number; infinite if it is too large for one."""
    try:
        return float(reward.item() if isinstance(reward, np.ndarray) else reward)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf
    except (TypeError, ValueError) as error:
        raise TypeError(f"A reward is a number, {_not_this(reward)}.") from error


def _not_this(value: object) -> str:
    """The end of an error message: what was given instead."""
    if isinstance(value, np.ndarray) and value.ndim != 1:
        return f"not an array of shape {value.shape}"
    if isinstance(value, list | tuple | np.ndarray) and len(value) != 1:
        return f"not {len(value)} values, {value!r:.80}"
    return f"not {type(value).__name__} {value!r:.80}"
