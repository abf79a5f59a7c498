"""Where structures may stand."""

# ruff: noqa: PLR0911, PLR0912 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.units import EDGE
from understudy.games.zerg.proving_ground.kernels.vision import power_at, prism_at
from understudy.games.zerg.proving_ground.map_parts import SIZE
from understudy.games.zerg.proving_ground.state import (
    CANT_BUILD_HERE,
    EGG,
    LARVA,
    NEUTRAL,
    NO_CREEP,
    NO_POWER,
    SUCCESS,
    TOO_CLOSE_TO_RESOURCES,
)
from understudy.games.zerg.starcraft import ZERG

RESOURCE_MARGIN = 3


@kernel
def snap(r: Any, kind: int, v: float) -> float:
    """The coordinate of a structure of this kind when it is ordered at v."""
    return np.floor(v) + 0.5 if r.footprint[kind] % 2 else np.floor(v + 0.5)


@kernel
def geyser_at(s: Any, r: Any, x: float, y: float) -> int:
    """The free geyser at a point; -1 for none."""
    for j in range(s.top):
        if s.alive[j] and r.geyser[s.kind[j]] and abs(s.x[j] - x) < 1.0 and abs(s.y[j] - y) < 1.0:
            for b in range(s.top):
                if s.alive[b] and r.gas[s.kind[b]] and s.resource[b] == j:
                    return -1
            return j
    return -1


@kernel
def blocks_cell(s: Any, p: int, j: int, truth: bool) -> bool:
    """Whether a structure or resource is in the way: in truth, or as far as the player can know."""
    return truth or s.owner[j] != 1 - p or s.seen[p, j] == 1 or s.known[p, j] == 1


@kernel
def unit_in_the_way(s: Any, r: Any, p: int, cx: float, cy: float, half: float, truth: bool) -> bool:
    """Whether a ground unit blocks a square: visible enemies, and own units that cannot move."""
    for j in range(s.top):
        k = s.kind[j]
        if not s.alive[j] or s.owner[j] >= NEUTRAL or r.structure[k] or r.flying[k] or s.carrier[j]:
            continue
        if abs(s.x[j] - cx) >= half + r.radius[k] or abs(s.y[j] - cy) >= half + r.radius[k]:
            continue
        if s.owner[j] == p:
            if r.speed[k] == 0.0 and k not in (LARVA, EGG):
                return True
        elif k != LARVA and (truth or s.seen[p, j] == 1):
            return True
    return False


@kernel
def remembered_there(s: Any, r: Any, p: int, cx: float, cy: float, half: float) -> bool:
    """Whether the player remembers a structure that stood there; it does not know that it is gone."""
    for g in range(s.ghosts[p]):
        reach = half + r.footprint[s.ghost_kind[p, g]] / 2.0 - EDGE
        if abs(s.ghost_x[p, g] - cx) < reach and abs(s.ghost_y[p, g] - cy) < reach:
            return True
    return False


@kernel
def can_place(s: Any, t: Any, r: Any, p: int, kind: int, x: float, y: float, truth: bool) -> int:
    """SUCCESS, or the reason why a structure cannot stand there, as far as the player can know.

    With `truth`, objects that the player cannot see count too; this is checked when the builder begins.
    """
    if r.gas[kind]:
        return SUCCESS if geyser_at(s, r, x, y) >= 0 else CANT_BUILD_HERE
    size = max(1, r.footprint[kind])
    cx, cy = snap(r, kind, x), snap(r, kind, y)
    x0, y0 = int(np.floor(cx - size / 2 + EDGE)), int(np.floor(cy - size / 2 + EDGE))
    if x0 < 0 or y0 < 0 or x0 + size > SIZE or y0 + size > SIZE:
        return CANT_BUILD_HERE
    zerg = r.race[kind] == ZERG
    for yy in range(y0, y0 + size):
        for xx in range(x0, x0 + size):
            if not t.placeable[yy, xx] or (s.occupied[yy, xx] and blocks_cell(s, p, s.occupied[yy, xx] - 1, truth)):
                return CANT_BUILD_HERE
            if r.needs_creep[kind] and not s.creep_grid[yy, xx]:
                return NO_CREEP
            if not zerg and s.creep_grid[yy, xx] and (truth or s.visibility[p, yy, xx] > 0):
                return CANT_BUILD_HERE
    if r.townhall[kind]:
        for yy in range(max(0, y0 - RESOURCE_MARGIN), min(SIZE, y0 + size + RESOURCE_MARGIN)):
            for xx in range(max(0, x0 - RESOURCE_MARGIN), min(SIZE, x0 + size + RESOURCE_MARGIN)):
                j = s.occupied[yy, xx] - 1
                if j >= 0 and (r.minerals_here[s.kind[j]] or r.geyser[s.kind[j]]):
                    return TOO_CLOSE_TO_RESOURCES
    if r.needs_power[kind] and not power_at(s, p, cx, cy):
        return NO_POWER
    half = size / 2.0
    if unit_in_the_way(s, r, p, cx, cy, half, truth) or (not truth and remembered_there(s, r, p, cx, cy, half)):
        return CANT_BUILD_HERE
    return SUCCESS


@kernel
def can_warp(s: Any, t: Any, r: Any, p: int, kind: int, x: float, y: float) -> int:
    """SUCCESS, or the reason why a unit cannot be warped in at a point."""
    if not (0.0 <= x < SIZE and 0.0 <= y < SIZE) or not t.pathable[int(y), int(x)] or s.occupied[int(y), int(x)]:
        return CANT_BUILD_HERE
    if not power_at(s, p, x, y) and not prism_at(s, p, x, y):
        return NO_POWER
    for j in range(s.top):
        k = s.kind[j]
        if s.alive[j] and not r.structure[k] and not r.flying[k] and s.owner[j] < NEUTRAL and s.carrier[j] == 0:
            room = 0.5 * (r.radius[k] + r.radius[kind])
            if (s.x[j] - x) ** 2 + (s.y[j] - y) ** 2 < room * room:
                return CANT_BUILD_HERE
    return SUCCESS
