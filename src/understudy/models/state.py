"""A model on disk: weights, optimizer, normaliser, counters and settings, in one `.npz` file."""

from __future__ import annotations

import dataclasses
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ModelDamaged, ModelMismatch, ModelMissing, NonFiniteError, SettingsError
from understudy.files.npz import read_npz, write_npz
from understudy.learning.merge import Learned, merged
from understudy.models.older_models import with_skip_layers
from understudy.settings import NetworkSettings, TrainingSettings, section_from

SCHEMA = 1
MAX_BYTES = 4 << 30

Layout = tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """Inputs, outputs and network of a model; models with the same spec are interchangeable."""

    state_dim: int
    actions: tuple[str, ...]
    features_hash: str | None
    network: NetworkSettings
    layout: Layout

    def require(self, other: ModelSpec, where: str) -> None:
        """Raise ModelMismatch with the differences unless `other` (found at `where`) fits this spec."""
        differences = [
            f"{name}: {theirs!r} there, {ours!r} here"
            for name, theirs, ours in (
                ("state_dim", other.state_dim, self.state_dim),
                ("actions", other.actions, self.actions),
                *(
                    (f.name, getattr(other.network, f.name), getattr(self.network, f.name))
                    for f in dataclasses.fields(NetworkSettings)
                    if f.name != "backend"  # how the network computes, not what it is
                ),
            )
            if theirs != ours
        ]
        if self.features_hash and other.features_hash and self.features_hash != other.features_hash:
            differences.append(
                f"features: {other.features_hash} there, {self.features_hash} here (another list of features)"
            )
        if not differences and other.layout != self.layout:
            differences.append("the layout of the weights")
        if differences:
            raise ModelMismatch(
                f"The model {where} does not fit: {'; '.join(differences)}. "
                "Use the same settings as when it was made, or another run directory for a new model."
            )


@dataclass(frozen=True, slots=True)
class ModelState:
    """Everything that a restart needs. The arrays are never changed in place."""

    spec: ModelSpec
    training: TrainingSettings
    arrays: Mapping[str, NDArray[Any]]
    counters: Mapping[str, int]
    seed: int
    version: int = 0
    parent: int | None = None
    publisher: str = ""
    agent: Mapping[str, Any] = field(default_factory=dict)
    features: tuple[str, ...] | None = None
    """The names of the state's features, if the game gives them."""

    def require_finite(self) -> None:
        """Raise NonFiniteError if any array holds NaN or infinity."""
        for name, array in self.arrays.items():
            if not np.isfinite(array).all():
                count = int(array.size - np.isfinite(array).sum())
                raise NonFiniteError(
                    f"{count} of {array.size} numbers in {name} are NaN or infinite; the model is not published."
                )


def rebase(head: ModelState, base: ModelState, trained: ModelState) -> ModelState:
    """Apply the change from `base` to `trained` to `head`, so that neither update is lost."""
    trained.spec.require(head.spec, f"version {head.version}")
    arrays, counters = merged(*(Learned(state.arrays, state.counters) for state in (head, base, trained)))
    return dataclasses.replace(
        head,
        arrays=arrays,
        counters=counters,
        training=head.training if trained.training == base.training else trained.training,
        agent=head.agent if trained.agent == base.agent else trained.agent,
        features=trained.features or head.features,
    )


def to_bytes(state: ModelState) -> bytes:
    """The content of a model file."""
    meta = {
        "schema": SCHEMA,
        "version": state.version,
        "parent": state.parent,
        "publisher": state.publisher,
        "seed": state.seed,
        "state_dim": state.spec.state_dim,
        "actions": state.spec.actions,
        "features_hash": state.spec.features_hash,
        "network": dataclasses.asdict(state.spec.network),
        "layout": state.spec.layout,
        "training": dataclasses.asdict(state.training),
        "counters": dict(state.counters),
        "agent": dict(state.agent),
        "features": state.features,
    }
    stream = io.BytesIO()
    write_npz(stream, {"meta": np.array(json.dumps(meta).encode()), **state.arrays}, compress=False)
    return stream.getvalue()


def read_model(path: Path) -> ModelState:
    """Read a model file; ModelMissing if there is none, ModelDamaged if it is not valid."""
    try:
        arrays = read_npz(path, max_bytes=MAX_BYTES, error=ModelDamaged)
    except (FileNotFoundError, NotADirectoryError):
        raise ModelMissing(f"There is no model at {path}; a bot or `understudy selfplay` makes one.") from None
    try:
        meta = json.loads(arrays.pop("meta").item())
        if meta["schema"] != SCHEMA:
            raise ModelMismatch(
                f"The model {path} has schema {meta['schema']}; this version of Understudy reads {SCHEMA}."
            )
        layout, arrays = with_skip_layers(tuple((name, tuple(shape)) for name, shape in meta["layout"]), arrays)
        return ModelState(
            spec=ModelSpec(
                state_dim=int(meta["state_dim"]),
                actions=tuple(meta["actions"]),
                features_hash=meta["features_hash"],
                network=section_from("network", meta["network"], f"{path}"),
                layout=layout,
            ),
            training=section_from("training", meta["training"], f"{path}"),
            arrays=arrays,
            counters={name: int(count) for name, count in meta["counters"].items()},
            seed=int(meta["seed"]),
            version=int(meta["version"]),
            parent=meta["parent"],
            publisher=str(meta["publisher"]),
            agent=meta["agent"],
            features=_names(meta.get("features")),
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, SettingsError) as error:
        raise ModelDamaged(
            f"The model {path} cannot be understood ({error}). Roll back to an earlier version."
        ) from error


def _names(found: Any) -> tuple[str, ...] | None:
    """Feature names in a file; files of earlier versions have none."""
    if found is None:
        return None
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise TypeError("its feature names are not a list of names")
    return tuple(found)
