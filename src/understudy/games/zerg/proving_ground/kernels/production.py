"""Training, hatching, morphing, merging."""

# ruff: noqa: SIM102 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.movement import go
from understudy.games.zerg.proving_ground.kernels.order_queue import clear_orders, pop_order, push_order
from understudy.games.zerg.proving_ground.kernels.paths import nearest_walkable, walkable
from understudy.games.zerg.proving_ground.kernels.tech import supply_cap, supply_used
from understudy.games.zerg.proving_ground.kernels.units import remove, same, spawn, stamp
from understudy.games.zerg.proving_ground.map_parts import SIZE
from understudy.games.zerg.proving_ground.spells import CONTAMINATED
from understudy.games.zerg.proving_ground.state import (
    ARCHON,
    ATTACK,
    CHEAT_FAST,
    EGG,
    FAST,
    GATHER,
    LIBERATOR_AG,
    MAKE,
    MERGE,
    MOVE,
    ZERGLING,
)

ARCHON_LOOPS = 192.0
ZONE_REACH = 10.0  # how far a liberator's zone may be
MERGE_WITHIN = 1.2  # cells between two templars that merge
EXIT_GAP, TWIN_GAP = 0.1, 0.3  # cells between a new unit and its building, and between a pair of zerglings
CHRONO_RATE, MORPH_ENERGY = 1.5, 50.0
FOOD_PAUSE = 8  # loops between two checks whether there is enough supply for the next unit
SOUTH = 4.7123889804  # radians: the side of a building where units leave it without a rally point


@kernel
def quick(s: Any, p: int) -> float:
    """The factor by which a player produces faster: 1, or more with the debug switch."""
    return FAST if s.cheats[p] & CHEAT_FAST else 1.0


@kernel
def merge(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """One loop of a templar that looks for another one to become an archon with."""
    j, best = -1, np.inf
    for n in range(s.top):
        if n != i and s.alive[n] and s.owner[n] == s.owner[i] and s.orders[n] > 0 and s.order[n, 0] == MERGE:
            d = (s.x[n] - s.x[i]) ** 2 + (s.y[n] - s.y[i]) ** 2
            if d < best:
                best, j = d, n
    if j < 0:
        return
    if best > MERGE_WITHIN * MERGE_WITHIN:
        go(s, t, r, w, i, s.x[j], s.y[j], MERGE_WITHIN)
        return
    x, y, p = (s.x[i] + s.x[j]) / 2.0, (s.y[i] + s.y[j]) / 2.0, s.owner[i]
    remove(s, r, i)
    remove(s, r, j)
    spawn(s, r, ARCHON, p, x, y, 1.0 / ARCHON_LOOPS)


@kernel
def exit_of(s: Any, t: Any, r: Any, i: int, kind: int) -> tuple[float, float]:
    """Where a new unit leaves a building: on the side of its rally point, on walkable ground."""
    angle = SOUTH
    if s.rally_x[i] >= 0.0:
        angle = np.arctan2(s.rally_y[i] - s.y[i], s.rally_x[i] - s.x[i])
    out = r.radius[s.kind[i]] + r.radius[kind] + EXIT_GAP
    x, y = s.x[i] + out * np.cos(angle), s.y[i] + out * np.sin(angle)
    if not r.flying[kind] and not walkable(t, x, y):
        cell = nearest_walkable(t, x, y)
        x, y = cell % SIZE + 0.5, cell // SIZE + 0.5
    return x, y


@kernel
def send_to_rally(s: Any, r: Any, i: int, source: int) -> None:
    """Send a new unit to the rally point of its building."""
    if s.rally_x[source] < 0.0 or r.speed[s.kind[i]] == 0.0:
        return
    j = s.rally_target[source]
    if j >= 0 and s.alive[j] and r.worker[s.kind[i]] and (r.minerals_here[s.kind[j]] or r.gas[s.kind[j]]):
        push_order(s, i, GATHER, 0, j, s.x[j], s.y[j])
    else:
        push_order(s, i, MOVE, 0, -1, s.rally_x[source], s.rally_y[source])


@kernel
def drop_order(s: Any, i: int, q: int) -> None:
    """Take one order out of a production queue."""
    for n in range(q + 1, s.orders[i]):
        s.order[i, n - 1], s.argument[i, n - 1] = s.order[i, n], s.argument[i, n]
        s.order_progress[i, n - 1] = s.order_progress[i, n]
        s.order_x[i, n - 1], s.order_y[i, n - 1] = s.order_x[i, n], s.order_y[i, n]
        s.order_target[i, n - 1], s.order_generation[i, n - 1] = s.order_target[i, n], s.order_generation[i, n]
    s.orders[i] -= 1
    s.order[i, s.orders[i]] = 0


@kernel
def has_reactor(s: Any, r: Any, i: int) -> bool:
    """Whether two units are trained at a time."""
    addon = s.host[i]
    return (
        r.structure[s.kind[i]] == 1
        and addon >= 0
        and s.alive[addon] == 1
        and s.progress[addon] >= 1.0
        and not has_techlab(s, r, i)
    )


@kernel
def has_techlab(s: Any, r: Any, i: int) -> bool:
    """Whether the building's addon is a finished tech lab."""
    addon = s.host[i]
    return addon >= 0 and s.alive[addon] == 1 and s.progress[addon] >= 1.0 and r.is_techlab[s.kind[addon]] == 1


@kernel
def watch_addon(s: Any, i: int) -> None:
    """A building does nothing else until its addon is finished."""
    addon = s.order_target[i, 0]
    if same(s, addon, s.order_generation[i, 0]) and s.progress[addon] < 1.0:
        s.order_progress[i, 0] = s.progress[addon]
    else:
        pop_order(s, i)


@kernel
def train(s: Any, t: Any, r: Any, i: int) -> None:
    """One loop of a production queue."""
    if not s.powered[i] or s.buffs[i] & (1 << CONTAMINATED):
        return
    if s.order_target[i, 0] >= 0:
        watch_addon(s, i)
        return
    p, lines = s.owner[i], 2 if has_reactor(s, r, i) else 1
    faster = (CHRONO_RATE if s.chrono_until[i] > s.loop else 1.0) * quick(s, p)
    q = 0
    while q < min(lines, s.orders[i]):
        kind = s.argument[i, q]
        if s.order[i, q] != MAKE:
            return
        if s.order_progress[i, q] == 0.0 and r.supply[kind] > 0.0:
            if (s.loop + i) % FOOD_PAUSE or supply_used(s, r, p) + r.supply[kind] > supply_cap(s, r, p):
                q += 1
                continue
        s.order_progress[i, q] += faster / max(1.0, r.time[kind])
        if s.order_progress[i, q] >= 1.0:
            drop_order(s, i, q)
            x, y = exit_of(s, t, r, i, kind)
            new = spawn(s, r, kind, p, x, y, 1.0)
            if new >= 0:
                send_to_rally(s, r, new, i)
        else:
            q += 1


@kernel
def change_kind(s: Any, r: Any, i: int, kind: int) -> None:
    """Change the kind of a unit; it keeps its share of health."""
    old, p = s.kind[i], s.owner[i]
    share = s.health[i] / (r.health[old] + s.health_bonus[p, old])
    if r.structure[old]:
        stamp(s, r, i, 0)
    s.kind[i], s.becomes[i] = kind, 0
    s.health[i] = min(1.0, share) * (r.health[kind] + s.health_bonus[p, kind])
    s.shield[i] = min(s.shield[i], r.shields[kind])
    if r.energy[kind] > 0.0 and r.energy[old] == 0.0:
        s.energy[i] = MORPH_ENERGY
    if r.structure[kind]:
        stamp(s, r, i, i + 1)


@kernel
def morph(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """One loop of an egg, a cocoon, or a unit or structure that changes its shape."""
    kind = s.argument[i, 0]
    if kind == LIBERATOR_AG:
        x, y = s.order_x[i, 0], s.order_y[i, 0]
        if s.order_progress[i, 0] == 0.0 and np.hypot(x - s.x[i], y - s.y[i]) > ZONE_REACH:
            go(s, t, r, w, i, x, y, 0.0)
            return
        s.rally_x[i], s.rally_y[i] = x, y
    s.moving[i] = 0
    part = quick(s, s.owner[i])
    s.order_progress[i, 0] += part / max(1.0, r.time[kind] if s.timer[i] <= 0.0 else s.timer[i])
    if s.order_progress[i, 0] < 1.0:
        return
    egg = s.kind[i] == EGG
    change_kind(s, r, i, kind)
    pop_order(s, i)
    if s.orders[i] > 0 and s.speed[s.owner[i], kind] == 0.0 and s.order[i, 0] != ATTACK:
        clear_orders(s, i)  # orders given in the meantime are no longer possible
    if egg:
        s.health[i] = r.health[kind] + s.health_bonus[s.owner[i], kind]
        s.energy[i] = min(MORPH_ENERGY, r.energy[kind])
        send_to_rally(s, r, i, i)
        if kind == ZERGLING:
            twin = spawn(s, r, kind, s.owner[i], s.x[i] + TWIN_GAP, s.y[i], 1.0)
            if twin >= 0:
                send_to_rally(s, r, twin, i)
