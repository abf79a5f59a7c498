"""Warm start: a new policy begins by imitating the winners of replays, before it learns from its own games.

Features that a replay does not hold are noise during imitation, drawn anew in every pass: the policy learns to decide
without them, and reinforcement learning finds out later what they are good for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ModelError, ReplayError
from understudy.games.zerg import state
from understudy.games.zerg.policy import SETTINGS, zerg_agent
from understudy.games.zerg.replays.examples import KNOWN
from understudy.games.zerg.strategies import NAMES as STRATEGIES
from understudy.learning.imitation import Examples, Imitation, imitate
from understudy.models.live import LiveModel
from understudy.models.store import ModelStore
from understudy.rundir import RunDir
from understudy.settings import Settings

_HELD_OUT = 5  # every fifth game is not trained on, and says when to stop
_KNOWN = np.array([state.NAMES.index(name) for name in KNOWN])
_UNKNOWN = np.array([place for place, name in enumerate(state.NAMES) if name not in KNOWN])


class WarmStart(NamedTuple):
    """What a policy was made of, and the version it was published as."""

    version: int
    games: int
    examples: int
    strategies: dict[str, int]
    imitation: Imitation


def warm_start(
    run: RunDir, games: Sequence[Mapping[str, Any]], settings: Settings = SETTINGS, *, seed: int | None = None
) -> WarmStart:
    """Train the run's policy on games of `examples` and publish it. ModelError if it has learned from games already."""
    if len(games) < 2:  # one to learn from, one to check with
        raise ReplayError(f"{len(games)} games were won by a Zerg player; a warm start needs at least 2.")
    zerg_agent(run.root, settings=settings, seed=seed).close()  # makes the model if there is none
    store = ModelStore(run.model, run.ledger, keep=settings.storage.model_versions)
    live = LiveModel(store.load())
    learned = live.trainer.games
    if learned:
        raise ModelError(
            f"The model in {run.root} has learned from {learned} games already; a warm start would undo that. "
            "Use another --run-dir for a new one."
        )
    train = _examples([game for number, game in enumerate(games) if number % _HELD_OUT])
    check = _examples([game for number, game in enumerate(games) if not number % _HELD_OUT])
    chance = np.random.default_rng([live.trainer.seed, 2])

    def fill(states: NDArray[np.float32]) -> None:
        states[:, _UNKNOWN] = chance.random((len(states), len(_UNKNOWN)), np.float32)

    outcome = imitate(live.trainer, train, check, fill=fill)
    live.publish(store, publisher="replays", stats={"examples": len(train.actions), "imitation_loss": outcome.loss})
    counts = Counter(STRATEGIES[number] for game in games for number in game["strategies"])
    return WarmStart(live.version, len(games), sum(counts.values()), dict(counts.most_common()), outcome)


def _examples(games: Sequence[Mapping[str, Any]]) -> Examples:
    known = np.concatenate([np.asarray(game["states"], np.float32) for game in games])
    states = np.zeros((len(known), state.STATE_DIM), np.float32)
    states[:, _KNOWN] = known
    lengths = [len(game["strategies"]) for game in games]
    return Examples(
        states,
        np.concatenate([np.asarray(game["strategies"], np.int64) for game in games]),
        np.concatenate(([0], np.cumsum(lengths[:-1]))).astype(np.int64),
    )
