"""What players see, where creep is, what pylons power."""

# ruff: noqa: PLR0912, SIM102 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.maps import SIZE
from understudy.games.zerg.proving_ground.rules import SCAN, SCAN_RADIUS
from understudy.games.zerg.proving_ground.state import AREAS, NEUTRAL, PYLON, ROOF

HIGHER = 9  # a ground unit does not see cells that lie this much above it
POWER = 6.5
CREEP_GROWTH = 0.35  # cells every 32 loops


@kernel
def look(s: Any, t: Any, r: Any, w: Any) -> None:
    """Bring the visibility grids and the lists of seen units up to date."""
    for p in range(2):
        for y in range(SIZE):
            for x in range(SIZE):
                s.visibility[p, y, x] = min(s.visibility[p, y, x], 1)
    w.stamped[:] = 0
    for i in range(s.top):
        p = s.owner[i]
        if not s.alive[i] or p >= NEUTRAL or s.carrier[i]:
            continue
        k = s.kind[i]
        reach = r.sight[k]
        if s.progress[i] < 1.0:
            reach = min(reach, 5.0)
        column, row = int(s.x[i]) // 2, int(s.y[i]) // 2  # units that stand together see the same
        if w.stamped[p, row, column] >= reach + 20 * r.flying[k]:
            continue
        w.stamped[p, row, column] = int(reach) + 20 * r.flying[k]
        cx, cy = 2 * column + 1, 2 * row + 1
        limit = 255 if r.flying[k] else min(255, int(t.height[int(s.y[i]), int(s.x[i])]) + HIGHER)
        everything = limit == 255 or (reach <= ROOF and limit >= t.roof[row, column])
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
            for x in range(left, right):
                s.visibility[p, y, x] = 2 if t.height[y, x] <= limit else s.visibility[p, y, x]
    if s.areas:
        look_by_scans(s)
    for i in range(s.top):
        if s.alive[i]:
            for p in range(2):
                see(s, r, p, i)
    forget(s)


@kernel
def look_by_scans(s: Any) -> None:
    """What scans show."""
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
    if visible and r.cloaked[k] and s.owner[i] < NEUTRAL:
        visible = detected(s, r, p, s.x[i], s.y[i])
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
    """Every source spreads a little further; where no source reaches any more, creep is gone."""
    s.creep_grid[:] = 0
    for i in range(s.top):
        full = r.creep_radius[s.kind[i]]
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
def power(s: Any, r: Any) -> None:
    """Note which Protoss buildings have power."""
    for i in range(s.top):
        if s.alive[i] and r.needs_power[s.kind[i]]:
            s.powered[i] = 1 if power_at(s, s.owner[i], s.x[i], s.y[i]) else 0
