"""Remembers the enemy units that were seen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from understudy.games.zerg import catalogue as units
from understudy.games.zerg.snapshot import Column, GameSnapshot
from understudy.games.zerg.starcraft import LOOPS_PER_SECOND

FORGET_SECONDS = 120.0  # a fighter unseen for this long does not count any more
_HIDDEN_SECONDS = 10.0  # and one unseen for this long is hidden
_ROOM = 256  # rows at the start
_NOTHING = 0  # the kind of an unused row; no unit has this id


class EnemyMemory:
    """Every enemy unit seen and not known to be dead: a row each, in the order they were found."""

    def __init__(self) -> None:
        self._row: dict[int, int] = {}  # by tag
        self._rows = 0
        self._tag, self._kind, self._loop = (np.zeros(_ROOM, np.int64) for _ in range(3))
        self._x, self._y = np.zeros(_ROOM), np.zeros(_ROOM)
        self._stale = True
        self.race = 0
        self.last_fighter_loop = 0
        self.most_tier = 0

    def update(self, snapshot: GameSnapshot) -> None:
        """Add what is in sight and remove the dead."""
        enemy = snapshot.enemy
        if len(enemy.tag):
            rows = self._rows_of(enemy.tag.tolist())
            if (self._kind[rows] != enemy.kind).any():
                self._kind[rows] = enemy.kind
                self._learn(enemy.kind)
            self._x[rows], self._y[rows], self._loop[rows] = enemy.x, enemy.y, snapshot.loop
            if units.IS_ARMY[enemy.kind].any():
                self.last_fighter_loop = snapshot.loop
        for tag in snapshot.dead:
            self.forget(tag)

    def _rows_of(self, tags: list[int]) -> Column:
        """The rows of these units; new units get a new row."""
        known = self._row
        for tag in tags:
            if tag not in known:
                if self._rows == len(self._tag):
                    self._grow()
                known[tag] = self._rows
                self._tag[self._rows] = tag
                self._rows += 1
        return np.array([known[tag] for tag in tags])

    def _grow(self) -> None:
        self._tag, self._kind, self._loop, self._x, self._y = (
            np.concatenate([column, np.zeros_like(column)])
            for column in (self._tag, self._kind, self._loop, self._x, self._y)
        )

    def _learn(self, kinds: Column) -> None:
        """Update the totals for units that are new or have changed their kind."""
        self._stale = True
        self.most_tier = max(self.most_tier, int(units.TIER[kinds].max()))
        self.race = self.race or int(units.RACE[kinds].max())

    def forget(self, tag: int) -> None:
        """Remove a unit that is dead or not where it was seen."""
        row = self._row.pop(tag, None)
        if row is not None:
            self._kind[row] = _NOTHING
            self._stale = True

    def summary(self, loop: int) -> EnemySummary:
        """The totals of what is known at this loop."""
        if self._stale:
            self._count()
        if not len(self._fighters):
            return self._lasting
        age = (loop - self._loop[self._fighters]) / LOOPS_PER_SECOND
        fresh = age < FORGET_SECONDS
        return self._lasting._replace(
            army_supply=float(self._supply[fresh].sum()),
            air_supply=float(self._air_supply[fresh].sum()),
            hidden_fighters=int(np.count_nonzero(age >= _HIDDEN_SECONDS)),
        )

    def _count(self) -> None:
        """Compute the totals that do not depend on time."""
        self._stale = False
        kinds = self._kind[: self._rows]
        self._fighters = units.IS_ARMY[kinds].nonzero()[0]
        fighters = kinds[self._fighters]
        self._supply = units.SUPPLY[fighters]
        self._air_supply = np.where(units.IS_FLYING[fighters], self._supply, 0.0)
        self._lasting = EnemySummary(
            army_supply=0.0,
            air_supply=0.0,
            defence=float(units.STRENGTH[kinds[units.IS_DEFENCE[kinds]]].sum()),
            workers=int(np.count_nonzero(units.IS_WORKER[kinds])),
            bases=int(np.count_nonzero(units.IS_TOWNHALL[kinds])),
            structures=int(np.count_nonzero(units.IS_STRUCTURE[kinds])),
            hidden_fighters=0,
        )

    def structures(self) -> Structures:
        """Known structures, in the order they were found."""
        rows = units.IS_STRUCTURE[self._kind[: self._rows]].nonzero()[0]
        return Structures(self._tag[rows], self._x[rows], self._y[rows], self._loop[rows])


class Structures(NamedTuple):
    """Structures as columns, with the loop at which each was seen last."""

    tag: Column
    x: Column
    y: Column
    loop: Column


class EnemySummary(NamedTuple):
    """Totals of the known enemy units."""

    army_supply: float
    air_supply: float
    defence: float
    workers: int
    bases: int
    structures: int
    hidden_fighters: int
