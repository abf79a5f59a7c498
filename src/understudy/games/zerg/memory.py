"""What was seen of the enemy and is not in sight any more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from understudy.games.zerg import catalogue as units
from understudy.games.zerg.snapshot import Point, Snapshot

FORGET_SECONDS = 120.0  # a fighter unseen for this long counts no more


class Sighting(NamedTuple):
    """A unit as it was last seen."""

    kind: int
    at: Point
    loop: int


class EnemyMemory:
    """Every enemy unit seen and not known to be dead, by tag."""

    def __init__(self) -> None:
        self.seen: dict[int, Sighting] = {}
        self.race = 0
        self.last_fighter_loop = 0
        self.most_tier = 0

    def update(self, snapshot: Snapshot) -> None:
        """Take in what is in sight, and forget the dead."""
        enemy = snapshot.enemy
        rows = zip(enemy.tag.tolist(), enemy.kind.tolist(), enemy.x.tolist(), enemy.y.tolist(), strict=True)
        for tag, kind, x, y in rows:
            self.seen[tag] = Sighting(kind, (x, y), snapshot.loop)
        for tag in snapshot.dead:
            self.seen.pop(tag, None)
        if len(enemy):
            self.most_tier = max(self.most_tier, int(units.TIER[enemy.kind].max()))
            self.race = self.race or int(units.RACE[enemy.kind].max())
            if units.IS_ARMY[enemy.kind].any():
                self.last_fighter_loop = snapshot.loop

    def forget_structure(self, tag: int) -> None:
        """A structure is not where it was seen."""
        self.seen.pop(tag, None)

    def summary(self, loop: int) -> Known:
        """What is known at this loop, added up."""
        if not self.seen:
            return Known(0.0, 0.0, 0.0, 0, 0, 0, 0)
        kinds = np.fromiter((s.kind for s in self.seen.values()), np.int64, len(self.seen))
        age = (loop - np.fromiter((s.loop for s in self.seen.values()), np.int64, len(self.seen))) / 22.4
        fresh = kinds[units.IS_ARMY[kinds] & (age < FORGET_SECONDS)]
        supply = units.SUPPLY[fresh]
        return Known(
            army_supply=float(supply.sum()),
            air_supply=float(supply[units.IS_FLYING[fresh]].sum()),
            defence=float(units.STRENGTH[kinds[units.IS_DEFENCE[kinds]]].sum()),
            workers=int(units.IS_WORKER[kinds].sum()),
            bases=int(units.IS_TOWNHALL[kinds].sum()),
            structures=int(units.IS_STRUCTURE[kinds].sum()),
            hidden_fighters=int((units.IS_ARMY[kinds] & (age >= 10)).sum()),
        )

    def structures(self) -> list[tuple[int, Sighting]]:
        """Known structures with their tags, in the order they were found."""
        return [(tag, s) for tag, s in self.seen.items() if units.IS_STRUCTURE[s.kind]]


class Known(NamedTuple):
    """The enemy in numbers, as far as he was seen."""

    army_supply: float
    air_supply: float
    defence: float
    workers: int
    bases: int
    structures: int
    hidden_fighters: int
