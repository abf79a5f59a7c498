"""The races, by the numbers of StarCraft II's API."""

from __future__ import annotations

TERRAN, ZERG, PROTOSS, RANDOM = 1, 2, 3, 4
RACES = {TERRAN: "Terran", ZERG: "Zerg", PROTOSS: "Protoss"}


def race_name(race: int) -> str:
    """The name of a race; Unknown for 0 and for a race that was drawn at random."""
    return RACES.get(race, "Unknown")
