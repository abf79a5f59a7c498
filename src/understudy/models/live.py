"""A model in memory: the network that plays and the trainer that changes it, built from the stored model.

Bot and learner both use it, so the trained model is the one that plays.
"""

from __future__ import annotations

import dataclasses
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from understudy.errors import ModelMissing, RunDirError
from understudy.experience.episode import Expected
from understudy.learning.trainer import Trainer
from understudy.learning.update_stats import UpdateStats
from understudy.ledger.connection import LedgerGame, Outcome
from understudy.models.carry_over import can_carry_over, carried_over
from understudy.models.state import ModelSpec, ModelState, rebase
from understudy.models.store import ModelStore
from understudy.networks.factory import model_factory
from understudy.settings import NetworkSettings, Settings, TrainingSettings

logger = logging.getLogger(__name__)

_MOST_OUTLIERS = 20  # features that are named in a message; if a whole state is wrong, not all need to be


class Interface(NamedTuple):
    """The inputs and outputs of a model."""

    state_dim: int
    actions: tuple[str, ...]
    features_hash: str | None = None
    features: tuple[str, ...] | None = None
    renamed: Mapping[str, str] = MappingProxyType({})
    """Old names of features and actions → their present names."""


def new_model(interface: Interface, network: NetworkSettings, training: TrainingSettings, seed: int) -> ModelState:
    """An untrained model; the same seed gives the same weights."""
    state_dim, actions, features_hash, features, _ = interface
    built = model_factory(state_dim, len(actions), network, np.random.default_rng(seed))
    spec = ModelSpec(state_dim, actions, features_hash, network, built.layout)
    trainer = Trainer(built, training, seed)
    arrays, counters = trainer.state_arrays(), trainer.counters()
    return ModelState(spec, training, arrays, counters, seed, publisher="new", features=features)


def open_model(
    store: ModelStore | None,
    interface: Interface,
    settings: Settings | None,
    network_given: Mapping[str, Any],
    training_given: Mapping[str, Any],
    *,
    seed: int | None,
    publish: bool,
) -> LiveModel:
    """The published model if there is one that fits, else a new one.

    Settings that neither `settings` nor the given values set are those of the published model, else the defaults. With
    `publish`, a new model, and a change of the training settings or feature names, are published, so that the learner
    gets them.
    """
    try:
        head = None if store is None else store.load(playable=True)
    except ModelMissing:
        head = None
    network = settings.network if settings else head.spec.network if head else NetworkSettings()
    training = settings.training if settings else head.training if head else TrainingSettings()
    network = dataclasses.replace(network, **network_given)
    training = dataclasses.replace(training, **training_given)
    if head is None:
        head = new_model(interface, network, training, int.from_bytes(os.urandom(6)) if seed is None else seed)
        if store is not None and publish:
            head = publish_if_possible(partial(store.create, head), head)
    named, report = _with_names(head, interface)
    wanted = ModelSpec(interface.state_dim, interface.actions, interface.features_hash, network, named.spec.layout)
    wanted.require(named.spec, "in memory" if store is None else str(store.model))
    if report:
        logger.warning("The model of version %d was adapted to a change of the bot. %s", head.version, report)
        if store is not None and publish:
            named = publish_if_possible(partial(store.change_names, named, head, report), named)
    head = named
    changed = dataclasses.replace(
        head,
        spec=dataclasses.replace(head.spec, network=network),  # identical except for its backend
        training=training,
        features=interface.features or head.features,
    )
    if store is not None and publish:
        changed = publish_if_possible(partial(_put_changed, store, head, changed), changed)
    return LiveModel(changed)


def _with_names(head: ModelState, interface: Interface) -> tuple[ModelState, str]:
    """The head with the features and actions of the interface, and a report if they have changed."""
    names, actions = interface.features, interface.actions
    if (head.features, head.spec.actions) == (names, actions) or names is None or not can_carry_over(head, names):
        return head, ""
    changed, report = carried_over(head, names, actions, interface.renamed)
    return changed, str(report)


def publish_if_possible(publish: Callable[[], ModelState], otherwise: ModelState) -> ModelState:
    """The result of `publish`. On a read-only or full disk, `otherwise` with a warning: the bot can still play."""
    try:
        return publish()
    except (OSError, RunDirError) as error:
        logger.warning("The model cannot be published (%s); it is used anyway.", error)
        return otherwise


def trained_by(store: ModelStore, head: ModelState, training: TrainingSettings) -> ModelState:
    """The head with these training settings, published if they differ from its own."""
    return _put_changed(store, head, dataclasses.replace(head, training=training))


def _put_changed(store: ModelStore, head: ModelState, changed: ModelState) -> ModelState:
    if (changed.training, changed.features) == (head.training, head.features):
        return head
    return store.publish(changed, head, publisher="settings")


class LiveModel:
    """Network and trainer of one model version, including all training since."""

    def __init__(self, state: ModelState) -> None:
        spec = state.spec
        self.network = model_factory(spec.state_dim, len(spec.actions), spec.network, np.random.default_rng(0))
        spec.require(dataclasses.replace(spec, layout=self.network.layout), f"version {state.version}")
        self.trainer = Trainer(self.network, state.training, state.seed)
        self.base = state
        self.adopt(state)

    @property
    def version(self) -> int:
        """The version that plays, or from which training started."""
        return self.base.version

    @property
    def expected(self) -> Expected:
        """What experience must look like to be learned from."""
        spec = self.base.spec
        return Expected(spec.state_dim, len(spec.actions), spec.features_hash)

    def feature_name(self, index: int) -> str:
        """The name of a feature for people."""
        names = self.base.features
        return f"feature {index}" if names is None or index >= len(names) else names[index]

    def facts(self, update: UpdateStats, games: Sequence[str] = ()) -> dict[str, Any]:
        """The results of an update as plain values for ledger and log; outliers with the names of feature and game."""
        outliers = [
            {
                "feature": self.feature_name(outlier.feature),
                "value": outlier.value,
                "game": games[outlier.game] if games else None,
            }
            for outlier in update.outliers[:_MOST_OUTLIERS]
        ]
        return dataclasses.asdict(update) | {"outliers": outliers}

    @property
    def exploration(self) -> float:
        """The share of random decisions; its distance to the final value halves with the games learned from."""
        training = self.base.training
        left: float = 0.5 ** (self.trainer.counters()["games"] / training.exploration_half_life)
        return training.exploration_final + (training.exploration - training.exploration_final) * left

    @property
    def commitment(self) -> float:
        """The share of games that are trials; it halves with the number of games learned from."""
        training = self.base.training
        left: float = 0.5 ** (self.trainer.counters()["games"] / training.commitment_half_life)
        return training.commitment * left

    def adopt(self, state: ModelState) -> None:
        """Replace everything by another version of this model, optimizer included; later training is discarded."""
        self.base.spec.require(state.spec, f"version {state.version}")
        if state.training != self.base.training:
            self.trainer = Trainer(self.network, state.training, state.seed)
        self.trainer.restore(state.arrays, state.counters)
        self.base = state

    def adopt_on_top(self, head: ModelState) -> None:
        """Switch to a newer version and keep what was trained here since the base."""
        mine = self.export()
        changed = any(not np.array_equal(array, self.base.arrays[name]) for name, array in mine.arrays.items())
        ahead = rebase(head, self.base, mine) if changed else head
        self.adopt(head)
        if changed:
            self.trainer.restore(ahead.arrays, ahead.counters)

    def export(self) -> ModelState:
        """The present model, independent of later training."""
        return dataclasses.replace(self.base, arrays=self.trainer.state_arrays(), counters=self.trainer.counters())

    def publish(
        self,
        store: ModelStore,
        *,
        publisher: str,
        consumed: Sequence[LedgerGame] = (),
        outcome: Outcome = "learned",
        stats: Mapping[str, Any] | None = None,
        agent: Mapping[str, Any] | None = None,
    ) -> None:
        """Publish what was trained since the base, and continue from the published version."""
        trained = self.export()
        if agent is not None:
            trained = dataclasses.replace(trained, agent=agent)
        self.adopt(
            store.publish(trained, self.base, publisher=publisher, consumed=consumed, outcome=outcome, stats=stats)
        )
