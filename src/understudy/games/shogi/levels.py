"""Levels of strength: how many positions a search visits, and how randomly it draws its move by visits."""

from __future__ import annotations

from typing import NamedTuple


class StrengthLevel(NamedTuple):
    """One level."""

    nodes: int
    temperature: float


LEVELS = (
    StrengthLevel(2, 2.0),
    StrengthLevel(8, 1.5),
    StrengthLevel(16, 1.2),
    StrengthLevel(32, 1.0),
    StrengthLevel(64, 0.8),
    StrengthLevel(128, 0.6),
    StrengthLevel(256, 0.4),
    StrengthLevel(512, 0.2),
    StrengthLevel(1024, 0.0),
)
"""Levels 1 to 9. The level above them is the full strength of the engine."""
FULL = len(LEVELS) + 1
