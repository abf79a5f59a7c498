"""A model for another list of features or actions: weights follow their names.

A kept feature or action keeps its weights. A new feature has weights of 0, so at first it changes nothing. A removed
feature is replaced by its mean. A new action starts with the mean logit of the kept ones. A removed action counts as
illegal: the others keep their proportions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ModelMismatch, SettingsError
from understudy.experience.episode import features_hash
from understudy.learning.normalizers import EARLY
from understudy.models.state import Layout, ModelSpec, ModelState

_INPUTS = ("hidden0", "policy.hidden0", "value.hidden0", "skip", "policy.skip", "value.skip", "input")
_SUPPORTED = ("mlp", "transformer")

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class NameChange:
    """How a list of names has changed."""

    kept: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]

    def __str__(self) -> str:
        parts = [f"{len(self.kept)} kept"]
        parts += [f"{len(self.renamed)} renamed ({_listed([f'{a} → {b}' for a, b in self.renamed])})"] * bool(
            self.renamed
        )
        parts += [f"{len(self.added)} new ({_listed(self.added)})"] * bool(self.added)
        parts += [f"{len(self.removed)} removed ({_listed(self.removed)})"] * bool(self.removed)
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class CarriedOver:
    """How the features and actions of a model have changed."""

    features: NameChange
    actions: NameChange

    def __str__(self) -> str:
        return f"features: {self.features}; actions: {self.actions}"


def can_carry_over(state: ModelState, features: Sequence[str] | None) -> bool:
    """Whether a model can be converted to these features: both lists have names, and its network supports it."""
    named = state.features is not None and features is not None
    return named and state.spec.network.policy in _SUPPORTED


def carried_over(
    state: ModelState,
    features: Sequence[str],
    actions: Sequence[str],
    renamed: Mapping[str, str] | None = None,
) -> tuple[ModelState, CarriedOver]:
    """The model for these features and actions, and what was kept. `renamed` maps old names to new ones."""
    if not can_carry_over(state, features):
        raise ModelMismatch("A model can be converted to other features only if both lists of features have names.")
    assert state.features is not None
    renamed = dict(renamed or {})
    _check_map(renamed, (*state.features, *state.spec.actions), (*features, *actions))
    rows, of_features = _follow(state.features, features, renamed)
    columns, of_actions = _follow(state.spec.actions, actions, renamed)
    if not of_features.kept and not of_features.renamed:
        raise ModelMismatch(
            "The model was made for another list of features: it has none of the present names. Use the same features, "
            "map names with `renamed`, or use another run directory for a new model."
        )
    if not of_actions.kept and not of_actions.renamed:
        raise ModelMismatch("None of the model's actions exists any more, so nothing that it learned can be kept.")
    spec = state.spec
    layout = tuple((name, _shape(name, shape, spec.layout, rows, columns)) for name, shape in spec.layout)
    vectors = {
        name: _vector(state.arrays[name], spec.layout, rows, columns, name)
        for name in ("parameters", "adam_m", "adam_v")
    }
    new = dataclasses.replace(
        state,
        spec=ModelSpec(len(features), tuple(actions), features_hash(features), spec.network, layout),
        arrays={**state.arrays, **vectors, **_statistics(state.arrays, rows)},
        features=tuple(features),
    )
    return new, CarriedOver(of_features, of_actions)


def fitted(state: ModelState, like: ModelState) -> ModelState:
    """The model with the features and actions of another one, if their names allow it; otherwise the model as it is."""
    same = (state.spec.actions, state.features) == (like.spec.actions, like.features)
    if same or like.features is None or not can_carry_over(state, like.features):
        return state
    return carried_over(state, like.features, like.spec.actions)[0]


def _check_map(renamed: Mapping[str, str], old: Sequence[str], new: Sequence[str]) -> None:
    # A map stays in the bot's code after it was applied once; then its old names are missing, which is fine.
    for before, after in renamed.items():
        if before not in old and after not in old:
            raise SettingsError(f"renamed says {before!r} is now {after!r}, but the model has neither.")
        if after not in new:
            raise SettingsError(
                f"renamed says {before!r} is now {after!r}, but there is no feature or action {after!r}."
            )


def _follow(old: Sequence[str], new: Sequence[str], renamed: Mapping[str, str]) -> tuple[list[int], NameChange]:
    """For each new name, the index of its old one; −1 for none."""
    places = {name: index for index, name in enumerate(old)}
    before = {after: name for name, after in renamed.items() if name in places and after not in places}
    indices = [places.get(before.get(name, name), -1) for name in new]
    used = {index for index in indices if index >= 0}
    change = NameChange(
        kept=tuple(name for name in new if name in places),
        renamed=tuple((before[name], name) for name in new if name in before),
        added=tuple(name for name, index in zip(new, indices, strict=True) if index < 0),
        removed=tuple(name for index, name in enumerate(old) if index not in used),
    )
    return indices, change


def _is_input(name: str, layout: Layout) -> bool:
    """Whether a matrix takes the features as input; in a network without hidden layers, this is its head."""
    prefix = name.rpartition(".")[0]
    first = next(other for other, _ in layout if other.rpartition(".")[0] == prefix)
    return name in _INPUTS or (name.endswith("head") and first == name)


def _has_actions(name: str) -> bool:
    return name in ("head", "policy.head", "skip", "policy.skip")


def _has_both(name: str) -> bool:
    """Whether the last column belongs to the value."""
    return name in ("head", "skip")


def _has_bias(name: str) -> bool:
    """Whether the last row is a bias."""
    return not name.endswith("skip")


def _shape(
    name: str, shape: tuple[int, ...], layout: Layout, rows: Sequence[int], columns: Sequence[int]
) -> tuple[int, ...]:
    height, width = shape
    if _is_input(name, layout):
        height = len(rows) + _has_bias(name)
    if _has_actions(name):
        width = len(columns) + _has_both(name)
    return height, width


def _vector(old: Array, layout: Layout, rows: Sequence[int], columns: Sequence[int], kind: str) -> Array:
    """Parameters, or a vector of the same layout, in the new layout."""
    parts, offset = [], 0
    for name, (height, width) in layout:
        matrix = old[offset : offset + height * width].reshape(height, width)
        offset += height * width
        unknown = float(matrix.flat[0]) if kind == "adam_v" else 0.0  # all parameters of a part have one scale
        if _is_input(name, layout):
            matrix = _taken(matrix, [*rows, *([height - 1] if _has_bias(name) else [])], unknown)
        if _has_actions(name):
            matrix = _with_actions(matrix, columns, shared=_has_both(name), kind=kind, unknown=unknown)
        parts.append(matrix.ravel())
    return np.concatenate(parts)


def _with_actions(matrix: Array, columns: Sequence[int], *, shared: bool, kind: str, unknown: float) -> Array:
    """A head with columns for the new actions, and for the value if it is `shared`."""
    kept = matrix[:, [index for index in columns if index >= 0]]
    new = kept.mean(axis=1, dtype=np.float64) if kind == "parameters" else unknown
    result = _taken(matrix.T, columns, 0.0).T.copy()
    for place, index in enumerate(columns):
        if index < 0:
            result[:, place] = new
    return np.concatenate([result, matrix[:, -1:]], axis=1) if shared else result


def _taken(array: Array, indices: Sequence[int], unknown: float) -> Array:
    result = array[np.maximum(indices, 0)].copy()
    result[np.asarray(indices) < 0] = unknown
    return result


def _statistics(arrays: Mapping[str, Array], rows: Sequence[int]) -> dict[str, Array]:
    """Statistics of the states. All counts are reduced, so that those of new features adapt soon; the means stay."""
    count = arrays["normalizer_count"]
    share = min(1.0, (EARLY - 1) / float(count[0])) if count[0] > 0 else 1.0
    share = share if any(row < 0 for row in rows) else 1.0
    return {
        "normalizer_count": share * count,
        "normalizer_sums": share * _taken(arrays["normalizer_sums"], rows, 0.0),
        "normalizer_squares": share * _taken(arrays["normalizer_squares"], rows, 0.0),
    }


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")
