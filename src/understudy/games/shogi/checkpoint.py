"""A shogi network on disk: an `.npz` with the weights, their shapes, and other state of the training."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ModelDamaged, ModelMismatch, ModelMissing, NonFiniteError, SettingsError
from understudy.files.atomic import write_atomically
from understudy.files.npz import read_npz, write_npz
from understudy.games.shogi.actions import ACTIONS
from understudy.games.shogi.batch import PLANES
from understudy.games.shogi.matches import ShogiMatches
from understudy.games.shogi.network.res_tower import ActorCriticResTower
from understudy.models.state import ModelState, read_model
from understudy.networks.factory import model_factory
from understudy.networks.network import Floats
from understudy.settings import NetworkSettings

SCHEMA = 1
MAX_BYTES = 4 << 30
KIND = "understudy shogi"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A network, with the arrays (such as Adam's) and plain numbers from which training continues."""

    network: ActorCriticResTower
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    shaped: bool = False
    """Whether it learned from shaped rewards, as in self-play; its evaluators then need `with_potential`."""


def new_network(settings: NetworkSettings, seed: int = 0) -> ActorCriticResTower:
    """An untrained network for shogi."""
    network = model_factory(PLANES * 81, ACTIONS, settings, np.random.default_rng(seed))
    assert isinstance(network, ActorCriticResTower)
    return network


def save_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint atomically. A network with NaN in it is refused."""
    network = checkpoint.network
    if not np.isfinite(network.parameters).all():
        raise NonFiniteError(f"The network holds NaN or infinity; {path} is left as it was.")
    meta = {
        "kind": KIND,
        "schema": SCHEMA,
        "network": dataclasses.asdict(network.settings),
        "layout": network.layout,
        "counters": dict(checkpoint.counters),
    }
    arrays = {"meta": np.array(json.dumps(meta).encode()), "parameters": network.parameters, **checkpoint.arrays}
    write_atomically(path, lambda stream: write_npz(stream, arrays, compress=False))


def load_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint of any size, or the model of a self-play run.

    ModelMissing, ModelDamaged or ModelMismatch say what is wrong with it.
    """
    try:
        arrays = read_npz(path, max_bytes=MAX_BYTES, error=ModelDamaged)
    except FileNotFoundError:
        raise ModelMissing(f"There is no checkpoint at {path}.") from None
    try:
        meta = json.loads(arrays.pop("meta").item())
        if "kind" not in meta:
            return _of_run(read_model(path), path)
        if meta.get("kind") != KIND or meta["schema"] != SCHEMA:
            raise ModelMismatch(f"{path} is not a shogi checkpoint of schema {SCHEMA}, which this version reads.")
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in meta["network"].items()}
        network = new_network(NetworkSettings(**values))
        parameters = arrays.pop("parameters")
        counters = {name: int(count) for name, count in meta["counters"].items()}
        layout = tuple((name, tuple(shape)) for name, shape in meta["layout"])
    except (KeyError, TypeError, ValueError, AttributeError, SettingsError) as error:
        raise ModelDamaged(f"The checkpoint {path} cannot be understood ({error}). Use an earlier one.") from error
    if layout != network.layout or parameters.shape != network.parameters.shape:
        raise ModelMismatch(f"The weights in {path} have another layout than this version of Understudy uses.")
    network.parameters[:] = parameters
    return Checkpoint(network, arrays, counters)


def judging_all_actions(settings: NetworkSettings, parameters: Floats) -> ActorCriticResTower:
    """A network over all 13,527 actions, with the parameters of one that plays from lists of legal moves."""
    network = new_network(settings)
    network.parameters[:] = parameters
    return network


def _of_run(state: ModelState, path: Path) -> Checkpoint:
    spec = state.spec
    if spec.network.policy != "resnet" or spec.state_dim != ShogiMatches.state_dim:
        raise ModelMismatch(f"The model {path} is not a shogi model.")
    network = judging_all_actions(spec.network, state.arrays["parameters"])
    if spec.layout != network.layout:
        raise ModelMismatch(f"The weights in {path} have another layout than this version of Understudy uses.")
    return Checkpoint(network, counters=state.counters, shaped=True)
