"""Where structures may stand."""

# ruff: noqa: PLR0911 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.vision import power_at
from understudy.games.zerg.proving_ground.maps import SIZE
from understudy.games.zerg.proving_ground.state import (
    CANT_BUILD_HERE,
    NO_CREEP,
    NO_POWER,
    SUCCESS,
    TOO_CLOSE_TO_RESOURCES,
)

ZERG = 2
RESOURCE_MARGIN = 3


@kernel
def snap(r: Any, kind: int, v: float) -> float:
    """The coordinate a structure of this kind stands at when it is asked for at v."""
    return np.floor(v) + 0.5 if r.footprint[kind] % 2 else np.floor(v + 0.5)


@kernel
def geyser_at(s: Any, r: Any, x: float, y: float) -> int:
    """The geyser at a point that nothing stands on yet; -1 for none."""
    for j in range(s.top):
        if s.alive[j] and r.geyser[s.kind[j]] and abs(s.x[j] - x) < 1.0 and abs(s.y[j] - y) < 1.0:
            for b in range(s.top):
                if s.alive[b] and r.gas[s.kind[b]] and s.resource[b] == j:
                    return -1
            return j
    return -1


@kernel
def can_place(s: Any, t: Any, r: Any, p: int, kind: int, x: float, y: float) -> int:
    """SUCCESS, or the reason why a structure cannot stand there."""
    if r.gas[kind]:
        return SUCCESS if geyser_at(s, r, x, y) >= 0 else CANT_BUILD_HERE
    size = max(1, r.footprint[kind])
    cx, cy = snap(r, kind, x), snap(r, kind, y)
    x0, y0 = int(np.floor(cx - size / 2 + 0.01)), int(np.floor(cy - size / 2 + 0.01))
    if x0 < 0 or y0 < 0 or x0 + size > SIZE or y0 + size > SIZE:
        return CANT_BUILD_HERE
    zerg = r.race[kind] == ZERG
    for yy in range(y0, y0 + size):
        for xx in range(x0, x0 + size):
            if not t.placeable[yy, xx] or s.occupied[yy, xx] != 0:
                return CANT_BUILD_HERE
            if r.needs_creep[kind] and not s.creep_grid[yy, xx]:
                return NO_CREEP
            if not zerg and s.creep_grid[yy, xx]:
                return CANT_BUILD_HERE
    if r.townhall[kind]:
        for yy in range(max(0, y0 - RESOURCE_MARGIN), min(SIZE, y0 + size + RESOURCE_MARGIN)):
            for xx in range(max(0, x0 - RESOURCE_MARGIN), min(SIZE, x0 + size + RESOURCE_MARGIN)):
                j = s.occupied[yy, xx] - 1
                if j >= 0 and (r.minerals_here[s.kind[j]] or r.geyser[s.kind[j]]):
                    return TOO_CLOSE_TO_RESOURCES
    if r.needs_power[kind] and not power_at(s, p, cx, cy):
        return NO_POWER
    return SUCCESS
