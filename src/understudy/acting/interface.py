"""How a bot describes itself: the number of features it sees, and the names of its actions and features."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from understudy.errors import SettingsError
from understudy.experience.notes import note_text


def action_labels(actions: Iterable[object] | int) -> tuple[str, ...]:
    """One label for each action, from labels, members of an enum, the enum itself, or the number of actions."""
    count = _whole(actions)
    labels = _names("actions", actions) if count is None else tuple(f"action {number}" for number in range(count))
    if len(labels) < 2:
        raise SettingsError(f"An agent needs at least 2 actions, not {len(labels)}.")
    if "" in labels:
        raise SettingsError(f"Action {labels.index('')} has no label.")
    if len(set(labels)) < len(labels):
        raise SettingsError("Two actions have the same label; each needs its own.")
    return labels


def state_size(state_dim: object) -> int:
    """The number of features of a state."""
    count = _whole(state_dim)
    if count is None or count < 1:
        raise SettingsError(f"state_dim is {state_dim!r:.80}; it must be a whole number of at least 1.")
    return count


def feature_names(features: Sequence[str] | None, state_dim: int) -> tuple[str, ...] | None:
    """The names of the features, one for each; None if they are unnamed."""
    if features is None:
        return None
    names = _names("features", features)
    if len(names) != state_dim:
        raise SettingsError(f"There are {len(names)} feature names for {state_dim} features.")
    return names


def whole_seed(seed: object) -> int | None:
    """A valid seed for random numbers, or an error."""
    number = None if seed is None else _whole(seed)
    if seed is not None and (number is None or number < 0):
        raise SettingsError(f"seed is {seed!r:.80}; it must be a whole number of at least 0, or None.")
    return number


def _whole(value: Any) -> int | None:
    try:
        return operator.index(value)
    except TypeError:
        return None


def _names(what: str, names: Any) -> tuple[str, ...]:
    # The order of a set differs from one process to the next, and a word would become one name for each letter.
    if isinstance(names, Iterable) and not isinstance(names, str | bytes | set | frozenset):
        return tuple(note_text(name) for name in names)
    raise SettingsError(f"{what} is {names!r:.80}; it must be a list of names, in an order that stays the same.")
