"""The start of a self-play run: the shape of its game, and the published model or a new one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from understudy.games.game import open_game
from understudy.models.live import Interface, LiveModel, open_model
from understudy.models.store import ModelStore
from understudy.parallel.player import PlayerSpec
from understudy.parallel.rollout import RolloutShape
from understudy.settings import NetworkSettings, Settings, TrainingSettings

Given = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Start:
    """Everything that the loop needs to know about game and model."""

    model: LiveModel
    shape: RolloutShape
    players: PlayerSpec
    identity: dict[str, Any]
    """What saved matches must have in common with this run to be continued."""


def open_start(game: str, settings: Settings, given: Given | None, store: ModelStore | None, seed: int) -> Start:
    """Open the game once to determine its interface, and open its model. TrainingLoopManager explains the arguments."""
    parallel = settings.parallel
    matches, offset = parallel.games_per_worker, parallel.worker_seed_offset
    opened = open_game(game, matches)
    try:
        shape = RolloutShape.of(opened, parallel)
        name, recommended = opened.name, opened.model_settings()
        share = parallel.league_share if store is not None and opened.players == 2 else 0.0
        interface = Interface(opened.state_dim, opened.actions, opened.features_hash, opened.features)
    finally:
        opened.close()
    is_new = store is None or not store.model.exists()
    network, training = _model_settings(given or _changed(settings), recommended if is_new else {})
    model = open_model(store, interface, None, network, training, seed=seed, publish=True)
    model.network.use_threads(parallel.learner_threads)
    base = model.base
    return Start(
        model,
        dataclasses.replace(shape, reach=model.network.reach),
        PlayerSpec(
            game,
            matches,
            base.spec,
            base.training.normalize_states,
            seed,
            offset,
            share,
            "" if store is None else str(store.folder.absolute()),
        ),
        {"game": name, "seed": seed, "seed_offset": offset, "matches": matches} | ({"league": share} if share else {}),
    )


def _model_settings(given: Given, recommended: Given) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of network and training: the given ones, otherwise those that the game recommends."""
    network, training = dict(recommended.get("network", {})), dict(recommended.get("training", {}))
    if "policy" in network and given["network"].get("policy", network["policy"]) != network["policy"]:
        network = {}  # the recommendation is for another kind of network
    return network | dict(given["network"]), training | dict(given["training"])


def _changed(settings: Settings) -> Given:
    """The settings of network and training that differ from the defaults."""
    defaults = Settings()
    return {name: _changes(getattr(settings, name), getattr(defaults, name)) for name in ("network", "training")}


def _changes(settings: NetworkSettings | TrainingSettings, default: object) -> Mapping[str, Any]:
    values = {f.name: getattr(settings, f.name) for f in dataclasses.fields(settings)}
    return {name: value for name, value in values.items() if value != getattr(default, name)}
