"""The parts of maps: bases with their resources, grids, names.

Grids are indexed [y, x]; a cell (x, y) spans x..x+1, y..y+1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SIZE = 176
MIDDLE = SIZE // 2
SORTS = ("", "Small-", "Four-", "Empty-")
PER_SORT = 10**9  # seeds of one sort of maps; those of the first sort begin at 0
LOW, HIGH = 208, 224  # terrain height as the API sends it: z = height / 8 - 16, so 10 and 12

Point = tuple[float, float]
Grid = NDArray[np.uint8]

# Resources around a townhall at (0, 0): minerals to the left, or below; a mineral field is 2 x 1, a geyser 3 x 3.
_LEFT = [(-3.5, 6.0), (-5.5, 6.0), (-6.5, 4.0), (-7.5, 3.0), (-7.5, 1.0), (-6.5, 0.0), (-7.5, -2.0), (-6.5, -4.0)]
_LEFT_GAS = [(0.0, 7.0), (-3.0, -7.0)]
_BELOW = [(-6.5, -3.0), (-5.5, -6.0), (-3.5, -7.0), (-1.5, -7.0), (0.5, -6.0), (2.5, -7.0), (4.5, -6.0), (6.5, -4.0)]
_BELOW_GAS = [(-7.0, 1.0), (7.0, 0.0)]


@dataclass(frozen=True)
class Base:
    """Where a townhall goes, and what lies around it."""

    center: Point
    minerals: tuple[Point, ...]
    geysers: tuple[Point, ...]


@dataclass(frozen=True)
class Map:
    """A map as a game starts on it. `bases[0]` and `bases[1]` are the start positions of players 1 and 2."""

    name: str
    seed: int
    pathable: Grid  # terrain only: resources and structures are not in it
    placeable: Grid
    height: Grid
    playable: tuple[int, int, int, int]
    bases: tuple[Base, ...]
    start_places: tuple[Point, ...]  # all start locations
    towers: tuple[Point, ...] = ()  # watch towers
    rocks: tuple[Point, ...] = ()  # destructible rocks
    melee: bool = True  # a player without structures has lost

    @property
    def starts(self) -> tuple[Point, Point]:
        """The two start positions."""
        return self.bases[0].center, self.bases[1].center


def name_of(seed: int) -> str:
    """The name of the map of this seed."""
    return f"ProvingGround-{SORTS[seed // PER_SORT]}{seed % PER_SORT}"


def base_at(center: Point, side: str) -> Base:
    """A base whose resources lie around `center`; the townhall's place is then found from the resources, as bots find
    it.
    """
    offsets, gas = (_LEFT, _LEFT_GAS) if side == "left" else (_BELOW, _BELOW_GAS)
    minerals = tuple((center[0] + dx, center[1] + dy) for dx, dy in offsets)
    geysers = tuple((center[0] + dx, center[1] + dy) for dx, dy in gas)
    return Base(_townhall_place(minerals, geysers), minerals, geysers)


def _townhall_place(minerals: tuple[Point, ...], geysers: tuple[Point, ...]) -> Point:
    """The place with the shortest total way to all resources that keeps the game's distance to each."""
    resources = np.array(minerals + geysers)
    room = np.array([6.0] * len(minerals) + [7.0] * len(geysers))
    cx, cy = (int(value) + 0.5 for value in resources.mean(axis=0))
    best, place = np.inf, (cx, cy)
    for dx in range(-7, 8):
        for dy in range(-7, 8):
            distances = np.hypot(resources[:, 0] - cx - dx, resources[:, 1] - cy - dy)
            if 4 < np.hypot(dx, dy) <= 8 and np.all(distances >= room) and distances.sum() < best - 1e-9:
                best, place = float(distances.sum()), (cx + dx, cy + dy)
    return place


def reflected(base: Base, across: bool, along: bool) -> Base:
    """The same base on the other side of the map's middle, left and right or up and down exchanged."""

    def turn(point: Point) -> Point:
        return SIZE - point[0] if across else point[0], SIZE - point[1] if along else point[1]

    minerals, geysers = tuple(map(turn, base.minerals)), tuple(map(turn, base.geysers))
    return Base(_townhall_place(minerals, geysers), minerals, geysers)
