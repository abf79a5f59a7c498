"""Movement and collisions."""

# ruff: noqa: PLR0912 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.paths import clear_line, descend, field_to, nearest_walkable, walkable
from understudy.games.zerg.proving_ground.kernels.units import TINY
from understudy.games.zerg.proving_ground.map_parts import SIZE
from understudy.games.zerg.proving_ground.rules import FORCE
from understudy.games.zerg.proving_ground.spells import ALIGNED, BOOSTED, FIELD_RADIUS
from understudy.games.zerg.proving_ground.state import AREAS, BUCKET, CELLS, COARSE, GATHER, RETURN, SLOTS, WIDE

LARGEST = 0.625  # larger neighbours count with this radius
LOOK_AGAIN, LOOKS = 40, 16  # loops before a waypoint is computed again, and over which the units are distributed
STIM_SPEED, BOOST, ALIGNED_SPEED = 1.5, 1.7, 0.6  # factors of the speed
SAME_GOAL = 3.0  # a goal that moved by less keeps its waypoint
SHORT = 0.1  # cells that a clear line may end before its goal
DIAGONAL_WAY = 0.7071  # the smallest length of a path, as a share of its length along the axes
AT_WAYPOINT = 0.6  # cells from a waypoint at which the next one is computed
STRAIGHT_BELOW, LOOK_AHEAD = 1.5, 24.0  # no path search below this distance; no straight line is tried beyond that one
PUSH_EVERY, PUSH_RESTING_EVERY = 4, 16  # loops between two pushes of a moving unit, and of one that stands
SAME_PLACE, APART_X, APART_Y = 1e-8, 0.02, 0.01  # units closer than its square root are pushed in this direction
MASSIVE = 1 << 7
PUSH = 0.6  # share of an overlap by which two units are moved apart at a time


@kernel
def fill_grids(s: Any, r: Any, w: Any) -> None:
    """Sort all units into the two neighbour grids: a linked list for each cell, in one array of next slots."""
    w.fine[:] = -1
    w.coarse[:] = -1
    for i in range(s.top):
        if not s.alive[i] or s.owner[i] > 1 or s.carrier[i]:
            continue
        x, y = int(s.x[i]), int(s.y[i])
        c = (y // WIDE) * COARSE + x // WIDE
        w.coarse_next[i] = w.coarse[s.owner[i], c]
        w.coarse[s.owner[i], c] = i
        if not r.structure[s.kind[i]] and r.speed[s.kind[i]] > 0.0:
            c = (y // BUCKET) * CELLS + x // BUCKET
            w.fine_next[i] = w.fine[c]
            w.fine[c] = i


@kernel
def speed_of(s: Any, r: Any, i: int) -> float:
    """Speed in cells per loop, with upgrades, creep and stimpack."""
    k, p = s.kind[i], s.owner[i]
    v = s.speed[p, k]
    if r.creep_speed[k] != 1.0 and s.creep_grid[int(s.y[i]), int(s.x[i])]:
        v *= r.creep_speed[k]
    if s.stim_until[i] > s.loop:
        v *= STIM_SPEED
    if s.buffs[i]:
        v *= BOOST if s.buffs[i] & (1 << BOOSTED) else ALIGNED_SPEED if s.buffs[i] & (1 << ALIGNED) else 1.0
    return v


@kernel
def advance(s: Any, t: Any, r: Any, i: int, tx: float, ty: float, v: float) -> None:
    """One step straight to a point, or along the wall if that is blocked."""
    dx, dy = tx - s.x[i], ty - s.y[i]
    d = np.sqrt(dx * dx + dy * dy)
    s.moving[i] = 1
    if d < TINY or s.rooted_until[i] > s.loop:
        return
    part = min(1.0, v / d)
    nx, ny = s.x[i] + dx * part, s.y[i] + dy * part
    s.heading_x[i], s.heading_y[i] = dx, dy
    if r.flying[s.kind[i]]:
        s.x[i], s.y[i] = min(max(nx, 1.0), SIZE - 1.0), min(max(ny, 1.0), SIZE - 1.0)
    elif walkable(t, nx, ny) or not walkable(t, s.x[i], s.y[i]):
        s.x[i], s.y[i] = nx, ny
    elif walkable(t, nx, s.y[i]):
        s.x[i] = nx
    elif walkable(t, s.x[i], ny):
        s.y[i] = ny


@kernel
def go(s: Any, t: Any, r: Any, w: Any, i: int, gx: float, gy: float, near: float) -> None:
    """One step towards a goal, around obstacles; the last `near` cells need not be walkable."""
    v = speed_of(s, r, i)
    if r.flying[s.kind[i]]:
        advance(s, t, r, i, gx, gy, v)
        return
    goal = int(min(max(gy, 0.0), SIZE - 1.0)) * SIZE + int(min(max(gx, 0.0), SIZE - 1.0))
    far = abs(gx - s.x[i]) + abs(gy - s.y[i])
    fresh = s.way_goal[i] >= 0 and s.loop < s.way_until[i]
    if fresh and s.way_straight[i] and abs(s.way_x[i] - gx) + abs(s.way_y[i] - gy) < SAME_GOAL:
        s.way_x[i], s.way_y[i] = gx, gy  # the goal moved only a little: keep the waypoint
    elif not fresh or s.way_goal[i] != goal or abs(s.way_x[i] - s.x[i]) + abs(s.way_y[i] - s.y[i]) < AT_WAYPOINT:
        s.way_goal[i], s.way_until[i] = goal, s.loop + LOOK_AGAIN + i % LOOKS
        s.way_x[i], s.way_y[i], s.way_straight[i] = gx, gy, 1
        short = max(0.0, 1.0 - (near + SHORT) / max(far * DIAGONAL_WAY, TINY))
        tx, ty = s.x[i] + (gx - s.x[i]) * short, s.y[i] + (gy - s.y[i]) * short
        if far >= STRAIGHT_BELOW and not (far < LOOK_AHEAD and clear_line(t, s.x[i], s.y[i], tx, ty)):
            end = nearest_walkable(t, gx, gy)
            cell = descend(t, w, field_to(t, w, end), s.x[i], s.y[i])
            if cell != end:
                s.way_x[i], s.way_y[i], s.way_straight[i] = cell % SIZE + 0.5, cell // SIZE + 0.5, 0
    advance(s, t, r, i, s.way_x[i], s.way_y[i], v)


@kernel
def separate(s: Any, t: Any, r: Any, w: Any) -> None:
    """Push overlapping units apart: moving ones more often than the others.

    Gathering workers pass through each other, as in the game.
    """
    for i in range(s.loop % PUSH_EVERY, s.top, PUSH_EVERY):
        k = s.kind[i]
        if not s.alive[i] or s.owner[i] > 1 or r.structure[k] or r.speed[k] == 0.0 or s.carrier[i]:
            continue
        if not s.moving[i] and (i - s.loop) % PUSH_RESTING_EVERY:
            continue
        if s.order[i, 0] == GATHER or s.order[i, 0] == RETURN:
            continue
        x, y, radius, flying = s.x[i], s.y[i], r.radius[k], r.flying[k]
        px, py = 0.0, 0.0
        far = radius + LARGEST
        for by in range(max(0, int(y - far) // BUCKET), min(CELLS, int(y + far) // BUCKET + 1)):
            for bx in range(max(0, int(x - far) // BUCKET), min(CELLS, int(x + far) // BUCKET + 1)):
                j = w.fine[by * CELLS + bx]
                while j >= 0:
                    dx, dy = x - s.x[j], y - s.y[j]
                    room = radius + r.radius[s.kind[j]]
                    d2 = dx * dx + dy * dy
                    if d2 < room * room and j != i and r.flying[s.kind[j]] == flying and s.alive[j]:
                        if d2 < SAME_PLACE:
                            side = 1 if i < j else -1
                            dx, dy = APART_X * side, APART_Y * side
                            d2 = dx * dx + dy * dy
                        d = np.sqrt(d2)
                        push = PUSH * (room - d) / d
                        px += dx * push
                        py += dy * push
                    j = w.fine_next[j]
        if px != 0.0 or py != 0.0:
            big = max(abs(px), abs(py))
            if big > 0.5:
                px, py = px * 0.5 / big, py * 0.5 / big
            nx, ny = x + px, y + py
            if flying:
                s.x[i], s.y[i] = min(max(nx, 1.0), SIZE - 1.0), min(max(ny, 1.0), SIZE - 1.0)
            elif walkable(t, nx, ny):
                s.x[i], s.y[i] = nx, ny


@kernel
def keep_out(s: Any, t: Any, r: Any) -> None:
    """Force fields push ground units out; a massive one breaks the field."""
    for n in range(AREAS):
        if s.area_spell[n] != FORCE:
            continue
        for i in range(s.top):
            k = s.kind[i]
            if not s.alive[i] or s.owner[i] > 1 or r.flying[k] or r.structure[k] or s.carrier[i] or r.speed[k] == 0.0:
                continue
            dx, dy, room = s.x[i] - s.area_x[n], s.y[i] - s.area_y[n], FIELD_RADIUS + r.radius[k]
            d = np.sqrt(dx * dx + dy * dy)
            if d >= room:
                continue
            if r.attributes[k] & MASSIVE:
                s.area_until[n] = s.loop
                break
            if d < TINY:
                dx, dy, d = 1.0, 0.0, 1.0
            nx, ny = s.area_x[n] + dx / d * room, s.area_y[n] + dy / d * room
            if walkable(t, nx, ny):
                s.x[i], s.y[i] = nx, ny


assert SLOTS <= 32767, "the grids of neighbours hold slots as 16-bit numbers"
