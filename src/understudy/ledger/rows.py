"""The values that callers pass to the ledger and get from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Outcome = Literal["learned", "online", "skipped", "evaluated"]


@dataclass(frozen=True, slots=True)
class LedgerGame:
    """What the ledger keeps of a game after its file was deleted."""

    id: str
    name: str
    result: str
    steps: int
    reward: float
    bytes: int
    game: str = ""
    map: str = ""
    opponent: str = ""
    played_by: int | None = None
    """The model version that played it."""
    started: float = 0.0
    ended: float = 0.0
    actions: Mapping[str, int] = field(default_factory=dict)
    """How often each action was chosen, by its label."""
    axes: Mapping[str, str] = field(default_factory=dict)
    """The axes by which results are broken down: axis → value."""


@dataclass(frozen=True, slots=True)
class Version:
    """One published model."""

    version: int
    parent: int | None
    publisher: str
    at: float
    games: int
    steps: int
    seconds: float
    loss: float | None
    stats: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of one publisher in this run, over all its processes."""

    batches: int
    games: int
    steps: int
    seconds: float
    average_loss: float | None
    last_loss: float | None
    last_at: float | None
