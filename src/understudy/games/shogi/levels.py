"""Levels of strength: how many positions a search looks at, and how freely it draws its move by their visits."""

from __future__ import annotations

from typing import NamedTuple


class Level(NamedTuple):
    """One of them."""

    nodes: int
    temperature: float


LEVELS = (
    Level(2, 2.0),
    Level(8, 1.5),
    Level(16, 1.2),
    Level(32, 1.0),
    Level(64, 0.8),
    Level(128, 0.6),
    Level(256, 0.4),
    Level(512, 0.2),
    Level(1024, 0.0),
)
"""1 to 9. The level above them is all that the engine can do."""
FULL = len(LEVELS) + 1
