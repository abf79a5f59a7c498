"""Whether a model can learn at all: if an update is not finite, is the model at fault or the games?"""

from __future__ import annotations

import math
import time

import numpy as np

from understudy.errors import ModelDamaged, ModelError, ModelMissing, NonFiniteError
from understudy.experience.episode import Episode
from understudy.models.live import LiveModel
from understudy.models.store import ModelStore

_DECISIONS = 8


def trouble_with(model: LiveModel) -> str | None:
    """What is wrong with the model, independent of its games; None if it can learn from an ordinary game.

    Training since its base version is discarded.
    """
    try:
        model.base.require_finite()
    except NonFiniteError as error:
        return f"{error}".partition(";")[0]
    try:
        model.trainer.update([ordinary_game(model)], deadline=time.monotonic())  # a single step, whatever is usual
    except NonFiniteError as error:
        return f"even on an ordinary game it gives {error}".partition(":")[0]
    finally:
        model.adopt(model.base)
    return None


def ordinary_game(model: LiveModel) -> Episode:
    """A short, unremarkable game: states with standard deviation 1, small rewards."""
    expected = model.expected
    actions = np.arange(_DECISIONS) % expected.n_actions
    return Episode(
        states=np.random.default_rng(0).standard_normal((_DECISIONS, expected.state_dim), np.float32),
        actions=actions,
        rewards=(actions % 2).astype(np.float32),
        log_probs=np.full(_DECISIONS, -math.log(expected.n_actions), np.float32),
    )


def newest_sound_version(store: ModelStore, before: int) -> int | None:
    """The newest kept version before `before` that can learn; None if there is none."""
    for version in reversed(store.kept_versions()):
        try:
            if version < before and trouble_with(LiveModel(store.load_version(version))) is None:
                return version
        except (ModelDamaged, ModelMissing, ModelError):
            continue
    return None
