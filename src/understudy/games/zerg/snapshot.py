"""GameSnapshot, the game at one moment as the bot sees it, and the bot's commands, without any game library.

`bot_adapter.py` makes a GameSnapshot from burnysc2's BotAI, `direct/adapter.py` from the simulation. All
decisions are made from it, so they are the same on both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg import catalogue as units
from understudy.games.zerg.starcraft import LOOPS_PER_SECOND

# Orders of a unit. MAKE stands for training, hatching, morphing and building.
IDLE, GATHER, MAKE, RESEARCH, ATTACK, MOVE, INJECT, OTHER = range(8)

Column = NDArray[Any]
Point = tuple[float, float]


class Units(NamedTuple):
    """Units as columns of equal length. `product` is the unit or upgrade id of a MAKE or RESEARCH order."""

    tag: Column
    kind: Column
    x: Column
    y: Column
    health: Column  # share of full health and shields
    energy: Column
    progress: Column
    verb: Column
    product: Column
    order_x: Column  # the target of the order; the unit's own position if there is none
    order_y: Column

    def __len__(self) -> int:  # otherwise it would be the number of columns
        return len(self.tag)

    def take(self, index: Column) -> Units:
        """The units at these indices."""
        return Units(*(column[index] for column in self))


class Resources(NamedTuple):
    """Mineral fields and geysers that are left."""

    tag: Column
    x: Column
    y: Column
    is_gas: Column


class MapInfo(NamedTuple):
    """The map: what does not change during a game."""

    start: Point
    enemy_start: Point
    bases: NDArray[np.float64]  # (N, 2) where townhalls go, nearest to the start first
    placeable: NDArray[Any]  # [y, x]
    enemy_race: int  # 0 while unknown


class UnitCommand(NamedTuple):
    """An order to some units, with a product (MAKE, RESEARCH), a target unit or a point where it needs one."""

    verb: int
    tags: tuple[int, ...]
    product: int = 0
    target: int = 0
    at: Point | None = None


@dataclass
class GameSnapshot:
    """One moment of the game. Values are sums of minerals and vespene."""

    loop: int
    minerals: float
    vespene: float
    supply_used: float
    supply_cap: float
    rate_minerals: float
    rate_vespene: float
    killed_value: float
    lost_value: float
    upgrades: frozenset[int]
    own: Units
    enemy: Units  # in sight, and structures remembered by the game
    dead: tuple[int, ...]  # tags of units that died since the last snapshot
    creep: NDArray[Any]  # [y, x]
    resources: Callable[[], Resources]

    # Derived values that several modules need.
    ready: NDArray[np.int64] = field(init=False)  # finished units of each id
    coming: NDArray[np.int64] = field(init=False)  # units of each id in eggs, in construction or ordered from a builder
    townhalls: list[int] = field(init=False)  # indices in `own` of all townhalls, unfinished ones included
    bases: list[int] = field(init=False)  # indices in `own` of the finished townhalls
    army: Column = field(init=False)  # indices in `own` of the units that fight
    army_supply: float = field(init=False)
    drones: int = field(init=False)  # at work and in eggs
    wanted_drones: int = field(init=False)  # workers that the finished bases and extractors can use

    @property
    def seconds(self) -> float:
        """Game time."""
        return self.loop / LOOPS_PER_SECOND

    def __post_init__(self) -> None:
        own = self.own
        self._finished = own.progress >= 1.0
        self.ready = np.bincount(own.kind[self._finished], minlength=units.IDS)
        under_way = np.concatenate([own.product[own.verb == MAKE], own.kind[~self._finished]])
        self.coming = np.bincount(under_way, minlength=units.IDS)
        self.coming[units.ZERGLING] *= 2
        self.townhalls = units.IS_TOWNHALL[own.kind].nonzero()[0].tolist()
        self.bases = [i for i in self.townhalls if self._finished[i]]
        self.army = units.IS_ARMY[own.kind].nonzero()[0]
        self.army_supply = float(units.SUPPLY[own.kind[self.army]].sum())
        self.drones = self.total(units.DRONE)
        self.wanted_drones = 16 * len(self.bases) + 3 * int(self.ready[units.EXTRACTOR])

    def total(self, kind: int) -> int:
        """Finished and coming together."""
        return int(self.ready[kind] + self.coming[kind])

    def of(self, kind: int) -> list[int]:
        """Indices in `own` of the finished units of this kind."""
        if not self.ready[kind]:
            return []
        places: list[int] = ((self.own.kind == kind) & self._finished).nonzero()[0].tolist()
        return places

    def threats(self, radius: float = 26.0) -> Column:
        """Indices in `enemy` of fighters within this distance of one of our townhalls."""
        enemy, halls = self.enemy, self.townhalls
        fighters: Column = units.IS_ARMY[enemy.kind].nonzero()[0]
        if not len(fighters) or not halls:
            return fighters[:0]
        dx = enemy.x[fighters][:, None] - self.own.x[halls][None]
        dy = enemy.y[fighters][:, None] - self.own.y[halls][None]
        near: Column = fighters[(dx * dx + dy * dy).min(axis=1) < radius * radius]
        return near


def distance(a: Point, b: Point) -> float:
    """Straight distance of two points."""
    return math.hypot(a[0] - b[0], a[1] - b[1])


def middle(group: Units, places: Column) -> Point:
    """The median position of some units, which a few stragglers do not change."""
    half = len(places) // 2
    x, y = group.x[places], group.y[places]
    x.sort()
    y.sort()
    if len(places) % 2:
        return float(x[half]), float(y[half])
    return float(x[half - 1] + x[half]) / 2, float(y[half - 1] + y[half]) / 2


def nearest_first(places: NDArray[np.float64], start: Point) -> NDArray[np.float64]:
    """Points ordered by distance from a start; equal distances by coordinates."""
    away = np.hypot(places[:, 0] - start[0], places[:, 1] - start[1])
    order = np.lexsort((places[:, 1], places[:, 0], np.round(away, 3)))
    return places[order]
