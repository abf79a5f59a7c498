"""Visibility, creep, and the power of pylons."""

# ruff: noqa: PLR0912, SIM102 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.map_parts import SIZE
from understudy.games.zerg.proving_ground.rules import SCAN, SCAN_RADIUS
from understudy.games.zerg.proving_ground.spells import CLOAK, CREEPING, REVEALED
from understudy.games.zerg.proving_ground.state import (
    AREAS,
    CHEAT_MAP,
    NEUTRAL,
    NEXUS,
    PRISM_PHASING,
    PYLON,
    ROOF,
    TOWER,
    WARP_GATE,
)

TOWER_REACH = 6.25  # the square of how near a unit must be to a watch tower
UNFINISHED_SIGHT = 5.0  # of a structure under construction
FLYER = 20  # more than any sight: in a cell, a flyer sees all that a ground unit sees
TOP = 255  # above every height
HIGHER = 9  # a ground unit does not see cells this much above it
POWER, PRISM_POWER = 6.5, 3.75
OVERLORD_CREEP = 4.0
CREEP_GROWTH = 0.35  # cells every 32 loops


@kernel
def look(s: Any, t: Any, r: Any, w: Any) -> None:
    """Update the visibility grids and the lists of visible units."""
    seen_before, seen_now = np.uint8(1), np.uint8(2)
    for p in range(2):
        cells = s.visibility[p].reshape(SIZE * SIZE)
        for c in range(SIZE * SIZE):
            cells[c] = min(cells[c], seen_before)
        if s.cheats[p] & CHEAT_MAP:
            s.visibility[p] = 2
    w.stamped[:] = 0
    for i in range(s.top):
        p = s.owner[i]
        if s.kind[i] == TOWER and s.alive[i]:
            look_from_tower(s, r, i)
        if not s.alive[i] or p >= NEUTRAL or s.carrier[i]:
            continue
        k = s.kind[i]
        reach = r.sight[k]
        if s.progress[i] < 1.0:
            reach = min(reach, UNFINISHED_SIGHT)
        column, row = int(s.x[i]) // 2, int(s.y[i]) // 2  # units in the same cell see the same cells
        if w.stamped[p, row, column] >= reach + FLYER * r.flying[k]:
            continue
        w.stamped[p, row, column] = int(reach) + FLYER * r.flying[k]
        cx, cy = 2 * column + 1, 2 * row + 1
        limit = TOP if r.flying[k] else min(TOP, int(t.height[int(s.y[i]), int(s.x[i])]) + HIGHER)
        highest = np.uint8(limit)
        everything = limit == TOP or (reach <= ROOF and limit >= t.roof[row, column])
        for y in range(max(0, int(cy - reach)), min(SIZE, int(cy + reach) + 1)):
            dy = y + 0.5 - cy
            half2 = reach * reach - dy * dy
            if half2 <= 0.0:
                continue
            half = int(np.sqrt(half2) + 0.5)
            left, right = max(0, cx - half), min(SIZE, cx + half)
            if everything:
                s.visibility[p, y, left:right] = 2
                continue
            shown, ground = s.visibility[p, y, left:right], t.height[y, left:right]  # small types: many cells at a time
            for x in range(shown.size):
                shown[x] = seen_now if ground[x] <= highest else shown[x]
    if s.areas:
        look_by_scans(s)
    for i in range(s.top):
        if s.alive[i]:
            for p in range(2):
                see(s, r, p, i)
    forget(s)


@kernel
def look_from_tower(s: Any, r: Any, i: int) -> None:
    """A watch tower shows its surroundings to the only player with a ground unit beside it."""
    beside0, beside1 = False, False
    for j in range(s.top):
        near = s.alive[j] and s.owner[j] < NEUTRAL and (s.x[j] - s.x[i]) ** 2 + (s.y[j] - s.y[i]) ** 2 < TOWER_REACH
        if near and not r.flying[s.kind[j]] and not r.structure[s.kind[j]]:
            if s.owner[j] == 0:
                beside0 = True
            else:
                beside1 = True
    if beside0 == beside1:
        return
    p, sight, cx, cy = 0 if beside0 else 1, r.sight[TOWER], s.x[i], s.y[i]
    for y in range(max(0, int(cy - sight)), min(SIZE, int(cy + sight) + 1)):
        for x in range(max(0, int(cx - sight)), min(SIZE, int(cx + sight) + 1)):
            if (x + 0.5 - cx) ** 2 + (y + 0.5 - cy) ** 2 <= sight * sight:
                s.visibility[p, y, x] = 2


@kernel
def look_by_scans(s: Any) -> None:
    """Add the sight of scans."""
    for n in range(AREAS):
        if s.area_until[n] > s.loop and s.area_spell[n] == SCAN:
            p, cx, cy = s.area_owner[n], s.area_x[n], s.area_y[n]
            for y in range(max(0, int(cy - SCAN_RADIUS)), min(SIZE, int(cy + SCAN_RADIUS) + 1)):
                for x in range(max(0, int(cx - SCAN_RADIUS)), min(SIZE, int(cx + SCAN_RADIUS) + 1)):
                    if (x + 0.5 - cx) ** 2 + (y + 0.5 - cy) ** 2 <= SCAN_RADIUS * SCAN_RADIUS:
                        s.visibility[p, y, x] = 2


@kernel
def see(s: Any, r: Any, p: int, i: int) -> None:
    """Decide whether a player sees a unit; a structure once seen is known from then on."""
    if s.owner[i] == p:
        s.seen[p, i] = 1
        return
    k = s.kind[i]
    visible = s.visibility[p, int(s.y[i]), int(s.x[i])] == 2 and s.carrier[i] == 0
    hidden = r.cloaked[k] or s.buffs[i] & (1 << CLOAK)
    if visible and hidden and s.owner[i] < NEUTRAL and not s.cheats[p] & CHEAT_MAP:
        visible = detected(s, r, p, s.x[i], s.y[i])
    visible = visible or s.buffs[i] & (1 << REVEALED) != 0
    s.seen[p, i] = 1 if visible else 0
    if visible and r.structure[k]:
        s.known[p, i] = 1


@kernel
def detected(s: Any, r: Any, p: int, x: float, y: float) -> bool:
    """Whether a detector of the player covers the point."""
    for j in range(s.top):
        if s.alive[j] and s.owner[j] == p and r.detector[s.kind[j]] and s.progress[j] >= 1.0:
            d = r.sight[s.kind[j]]
            if (s.x[j] - x) ** 2 + (s.y[j] - y) ** 2 <= d * d:
                return True
    if s.areas:
        for n in range(AREAS):
            if s.area_until[n] > s.loop and s.area_spell[n] == SCAN and s.area_owner[n] == p:
                if (s.area_x[n] - x) ** 2 + (s.area_y[n] - y) ** 2 <= SCAN_RADIUS * SCAN_RADIUS:
                    return True
    return False


@kernel
def forget(s: Any) -> None:
    """Drop remembered structures whose place is in sight again."""
    for p in range(2):
        n = 0
        for g in range(s.ghosts[p]):
            if s.visibility[p, int(s.ghost_y[p, g]), int(s.ghost_x[p, g])] == 2:
                continue
            s.ghost_slot[p, n], s.ghost_generation[p, n], s.ghost_kind[p, n] = (
                s.ghost_slot[p, g],
                s.ghost_generation[p, g],
                s.ghost_kind[p, g],
            )
            s.ghost_owner[p, n], s.ghost_x[p, n], s.ghost_y[p, n] = (
                s.ghost_owner[p, g],
                s.ghost_x[p, g],
                s.ghost_y[p, g],
            )
            n += 1
        s.ghosts[p] = n


@kernel
def grow_creep(s: Any, t: Any, r: Any) -> None:
    """Every source spreads creep a little further; creep out of reach of all sources disappears."""
    s.creep_grid[:] = 0
    for i in range(s.top):
        full = r.creep_radius[s.kind[i]]
        if s.buffs[i] & (1 << CREEPING) and not s.moving[i]:
            full = OVERLORD_CREEP
        if not s.alive[i] or full == 0.0 or s.progress[i] < 1.0:
            continue
        s.creep[i] = min(full, max(s.creep[i], r.radius[s.kind[i]]) + CREEP_GROWTH)
        reach = s.creep[i]
        cx, cy = s.x[i], s.y[i]
        for y in range(max(0, int(cy - reach)), min(SIZE, int(cy + reach) + 1)):
            for x in range(max(0, int(cx - reach)), min(SIZE, int(cx + reach) + 1)):
                if (x + 0.5 - cx) ** 2 + (y + 0.5 - cy) ** 2 <= reach * reach and t.placeable[y, x]:
                    s.creep_grid[y, x] = 1


@kernel
def power_at(s: Any, p: int, x: float, y: float) -> bool:
    """Whether a standing pylon of the player reaches the point."""
    for j in range(s.top):
        if s.alive[j] and s.owner[j] == p and s.kind[j] == PYLON and s.progress[j] >= 1.0:
            if (s.x[j] - x) ** 2 + (s.y[j] - y) ** 2 <= POWER * POWER:
                return True
    return False


@kernel
def prism_at(s: Any, p: int, x: float, y: float) -> bool:
    """Whether a warp prism in phasing mode allows warp-ins at the point."""
    for j in range(s.top):
        if s.alive[j] and s.owner[j] == p and s.kind[j] == PRISM_PHASING:
            if (s.x[j] - x) ** 2 + (s.y[j] - y) ** 2 <= PRISM_POWER * PRISM_POWER:
                return True
    return False


@kernel
def warps_fast(s: Any, p: int, x: float, y: float) -> bool:
    """Whether units warp in fast at the point: at a warp prism, or at a pylon with a nexus or warp gate near it."""
    if prism_at(s, p, x, y):
        return True
    for i in range(s.top):
        if s.alive[i] and s.owner[i] == p and s.progress[i] >= 1.0 and (s.kind[i] == NEXUS or s.kind[i] == WARP_GATE):
            for j in range(s.top):
                if s.alive[j] and s.owner[j] == p and s.kind[j] == PYLON and s.progress[j] >= 1.0:
                    near = (s.x[j] - s.x[i]) ** 2 + (s.y[j] - s.y[i]) ** 2 <= POWER * POWER
                    if near and (s.x[j] - x) ** 2 + (s.y[j] - y) ** 2 <= POWER * POWER:
                        return True
    return False


@kernel
def power(s: Any, r: Any) -> None:
    """Note which Protoss buildings have power."""
    for i in range(s.top):
        if s.alive[i] and r.needs_power[s.kind[i]]:
            s.powered[i] = 1 if power_at(s, s.owner[i], s.x[i], s.y[i]) else 0
