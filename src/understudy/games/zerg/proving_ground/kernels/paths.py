"""Pathfinding: straight lines where they are free, otherwise distance fields, cached for recent goals."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.map_parts import SIZE
from understudy.games.zerg.proving_ground.state import AHEAD, FIELDS, RINGS

FAR = 65535
STRAIGHT, DIAGONAL = 5, 7  # cost of a step; RINGS buckets of distances are enough for both
NEARBY = 24  # cells: beyond that no walkable cell is looked for


@kernel
def inside(x: float, y: float) -> bool:
    """Whether the point is on the map."""
    return 0.0 <= x < SIZE and 0.0 <= y < SIZE


@kernel
def walkable(t: Any, x: float, y: float) -> bool:
    """Whether a ground unit can stand there."""
    return inside(x, y) and t.pathable[int(y), int(x)] == 1


@kernel
def nearest_walkable(t: Any, x: float, y: float) -> int:
    """The walkable cell closest to the point, as y * SIZE + x."""
    cx, cy = min(max(int(x), 0), SIZE - 1), min(max(int(y), 0), SIZE - 1)
    if t.pathable[cy, cx]:
        return cy * SIZE + cx
    best, cell = np.inf, cy * SIZE + cx
    for radius in range(1, NEARBY):
        for dy in range(-radius, radius + 1):
            step = 1 if abs(dy) == radius else 2 * radius
            for dx in range(-radius, radius + 1, step):
                nx, ny = cx + dx, cy + dy
                if 0 <= nx < SIZE and 0 <= ny < SIZE and t.pathable[ny, nx]:
                    d = (nx + 0.5 - x) ** 2 + (ny + 0.5 - y) ** 2
                    if d < best:
                        best, cell = d, ny * SIZE + nx
        if best < np.inf:
            return cell
    return cell


@kernel
def clear_line(t: Any, x: float, y: float, gx: float, gy: float) -> bool:
    """Whether a ground unit can walk straight from one point to the other."""
    dx, dy = gx - x, gy - y
    steps = int(max(abs(dx), abs(dy)) * 2.0) + 1
    for n in range(1, steps + 1):  # noqa: SIM110 - numba compiles no generators
        if not walkable(t, x + dx * n / steps, y + dy * n / steps):
            return False
    return True


@kernel
def spread(t: Any, w: Any, f: int, goal: int) -> None:
    """Fill field f with the distance from every cell to the goal (Dijkstra with buckets)."""
    for y in range(SIZE):
        for x in range(SIZE):
            w.distance[f, y, x] = FAR
    for k in range(RINGS):
        w.ring_length[k] = 0
    w.distance[f, goal // SIZE, goal % SIZE] = 0
    w.ring[0, 0], w.ring_length[0] = goal, 1
    here, waiting = 0, 1
    while waiting > 0:
        slot = here % RINGS
        n = 0
        while n < w.ring_length[slot]:
            cell = w.ring[slot, n]
            n += 1
            waiting -= 1
            y, x = cell // SIZE, cell % SIZE
            if w.distance[f, y, x] != here:
                continue
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    ny, nx = y + dy, x + dx
                    if (dx == 0 and dy == 0) or not (0 <= nx < SIZE and 0 <= ny < SIZE) or t.pathable[ny, nx] == 0:
                        continue
                    if dx != 0 and dy != 0 and (t.pathable[y, nx] == 0 or t.pathable[ny, x] == 0):
                        continue
                    d = here + (DIAGONAL if dx != 0 and dy != 0 else STRAIGHT)
                    if d < w.distance[f, ny, nx]:
                        w.distance[f, ny, nx] = d
                        ring = d % RINGS
                        w.ring[ring, w.ring_length[ring]] = ny * SIZE + nx
                        w.ring_length[ring] += 1
                        waiting += 1
        w.ring_length[slot] = 0
        here += 1


@kernel
def field_to(t: Any, w: Any, goal: int) -> int:
    """The index of the field that leads to this cell; a new one replaces the least recently used."""
    w.clock += 1
    oldest = 0
    for f in range(FIELDS):
        if w.goal[f] == goal:
            w.used[f] = w.clock
            return f
        if w.used[f] < w.used[oldest]:
            oldest = f
    w.goal[oldest], w.used[oldest] = goal, w.clock
    spread(t, w, oldest, goal)
    return oldest


@kernel
def way_length(t: Any, w: Any, x: float, y: float, gx: float, gy: float) -> float:
    """Length of the ground path; 0 if there is none, as in the API."""
    if not walkable(t, gx, gy):
        return 0.0
    start = nearest_walkable(t, x, y)
    f = field_to(t, w, int(gy) * SIZE + int(gx))
    d = w.distance[f, start // SIZE, start % SIZE]
    if d == FAR:
        return 0.0
    return max(d / STRAIGHT, np.hypot(gx - x, gy - y))


@kernel
def descend(t: Any, w: Any, f: int, x: float, y: float) -> int:
    """A cell further down the field that is reachable in a straight line."""
    cell = nearest_walkable(t, x, y)
    cy, cx = cell // SIZE, cell % SIZE
    steps = 0
    for n in range(AHEAD):
        by, bx = cy, cx
        least = w.distance[f, cy, cx]
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                ny, nx = cy + dy, cx + dx
                if 0 <= nx < SIZE and 0 <= ny < SIZE and w.distance[f, ny, nx] < least:
                    if dx != 0 and dy != 0 and (t.pathable[cy, nx] == 0 or t.pathable[ny, cx] == 0):
                        continue
                    least, by, bx = w.distance[f, ny, nx], ny, nx
        if by == cy and bx == cx:
            break
        cy, cx = by, bx
        w.trail[n] = cy * SIZE + cx
        steps = n + 1
    while steps > 1 and not clear_line(t, x, y, w.trail[steps - 1] % SIZE + 0.5, w.trail[steps - 1] // SIZE + 0.5):
        steps //= 2
    return w.trail[steps - 1] if steps > 0 else cell
