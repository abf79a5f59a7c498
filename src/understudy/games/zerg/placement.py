"""Where buildings go: pure functions of the snapshot, so both adapters find the same places."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from understudy.games.zerg import catalogue as units
from understudy.games.zerg.snapshot import Column, GameSnapshot, MapInfo, Point, distance

_RINGS = (6, 8, 10, 12, 5, 7, 9, 11)
_CLEAR_OF_RESOURCES = 3.5
_BASE_RADIUS = 10.0


def next_base(snapshot: GameSnapshot, field: MapInfo, avoid: frozenset[Point]) -> Point | None:
    """The nearest place for a townhall that nobody has taken."""
    own, enemy = snapshot.own, snapshot.enemy
    buildings = units.IS_STRUCTURE[enemy.kind]
    taken_x = np.concatenate([own.x[snapshot.townhalls], enemy.x[buildings]])
    taken_y = np.concatenate([own.y[snapshot.townhalls], enemy.y[buildings]])
    away = np.hypot(taken_x - field.bases[:, :1], taken_y - field.bases[:, 1:]).min(axis=1, initial=np.inf)
    for x, y in field.bases[away > 8].tolist():
        if (x, y) not in avoid:
            return x, y
    return None


def free_geyser(snapshot: GameSnapshot, avoid: frozenset[Point]) -> tuple[int, Point] | None:
    """A geyser at a finished base without an extractor: its tag and its place."""
    own, resources = snapshot.own, snapshot.resources()
    gas = units.IS_GAS[own.kind]
    extractors = list(zip(own.x[gas].tolist(), own.y[gas].tolist(), strict=True))
    wells = resources.is_gas
    geysers = list(zip(resources.x[wells].tolist(), resources.y[wells].tolist(), strict=True))
    free = [n for n, (x, y) in enumerate(geysers) if not any(abs(gx - x) + abs(gy - y) < 1 for gx, gy in extractors)]
    for hall in snapshot.bases:
        at = (float(own.x[hall]), float(own.y[hall]))
        for n in free:
            if distance(at, geysers[n]) < _BASE_RADIUS and geysers[n] not in avoid:
                return int(resources.tag[wells][n]), geysers[n]
    return None


def building_place(
    snapshot: GameSnapshot, field: MapInfo, kind: int, near: Point, towards: Point, avoid: frozenset[Point]
) -> Point | None:
    """A place on creep around a base, on the side of `towards` first; None if there is none."""
    size = units.BY_ID[kind].footprint
    own = snapshot.own
    standing = units.IS_STRUCTURE[own.kind]
    walls = np.column_stack([own.x[standing], own.y[standing]])
    reach = np.array([units.BY_ID[int(k)].footprint / 2 for k in own.kind[standing]])
    resources = snapshot.resources()
    for place in _candidates(size, near, towards):
        if place in avoid or not _fits(snapshot, field, size, place):
            continue
        gap = np.abs(walls - place).max(axis=1) - reach - size / 2
        if gap.min(initial=np.inf) < 1 or _near(resources.x, resources.y, place, size / 2 + _CLEAR_OF_RESOURCES):
            continue
        return place
    return None


def _candidates(size: int, near: Point, towards: Point) -> Iterator[Point]:
    """Places on rings around a point, those in the wanted direction first."""
    first = np.arctan2(towards[1] - near[1], towards[0] - near[0])
    half = 0.5 if size % 2 else 0.0
    for turn in (0.0, 0.4, -0.4, 0.8, -0.8, 1.2, -1.2, 1.7, -1.7, 2.2, -2.2, 2.7, -2.7, 3.1):
        for ring in _RINGS:
            x, y = near[0] + ring * np.cos(first + turn), near[1] + ring * np.sin(first + turn)
            yield float(np.floor(x) + half), float(np.floor(y) + half)


def _fits(snapshot: GameSnapshot, field: MapInfo, size: int, place: Point) -> bool:
    x0, y0 = round(place[0] - size / 2), round(place[1] - size / 2)
    if x0 < 0 or y0 < 0:
        return False
    cells = (slice(y0, y0 + size), slice(x0, x0 + size))
    return bool(field.placeable[cells].all() and snapshot.creep[cells].all())


def _near(x: Column, y: Column, place: Point, radius: float) -> bool:
    return bool(np.hypot(x - place[0], y - place[1]).min(initial=np.inf) < radius)
