"""Workers, larvae, energy and regeneration."""

# ruff: noqa: PLR0912 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.combat import gap
from understudy.games.zerg.proving_ground.kernels.movement import go
from understudy.games.zerg.proving_ground.kernels.order_queue import clear_orders, pop_order
from understudy.games.zerg.proving_ground.kernels.units import random, remove, same, spawn
from understudy.games.zerg.proving_ground.state import (
    COLLECTED_MINERALS,
    COLLECTED_VESPENE,
    GATHER,
    HATCHERY,
    HIVE,
    LAIR,
    LARVA,
    MULE_UNIT,
    RETURN,
)
from understudy.games.zerg.starcraft import ZERG

MINING, PUMPING = 62.0, 44.0  # loops at a mineral field, in a gas building
MINERAL_LOAD, GAS_LOAD, MULE_LOAD = 5.0, 4.0, 25.0
TOUCH = 0.35
LARVA_EVERY, LARVA_BY_ITSELF, LARVA_MOST = 246.0, 3, 19
INJECT_LOOPS, INJECT_LARVA = 650, 3
TO_MINE, AT_WORK, HOME = 0, 1, 2
WORKER_WEIGHT = 12.0  # cells: a worker at a field counts as this much distance when another worker chooses one
FIELD_EVERY = 8  # loops between two searches of a waiting worker for another field
FIELD_WITHIN, OTHER_FIELD_WITHIN = 12.0, 9.0  # how far a worker looks for another field, from itself and from its field
LARVA_ANGLE, LARVA_SPREAD, LARVA_DISTANCE = 3.6, 2.2, 3.2  # where larvae appear: radians, cells
ENERGY_RATE, HEALTH_RATE, SHIELD_RATE = 0.03516, 0.0122, 0.0893  # per loop
SHIELD_DELAY = 224  # loops after a hit


@kernel
def nearest_hall(s: Any, r: Any, p: int, x: float, y: float) -> int:
    """The player's standing townhall closest to a point; -1 for none."""
    best, hall = np.inf, -1
    for j in range(s.top):
        if s.alive[j] and s.owner[j] == p and r.townhall[s.kind[j]] and s.progress[j] >= 1.0:
            d = (s.x[j] - x) ** 2 + (s.y[j] - y) ** 2
            if d < best:
                best, hall = d, j
    return hall


@kernel
def free_field(s: Any, r: Any, x: float, y: float, within: float) -> int:
    """The mineral field near the point with the fewest workers; -1 for none."""
    best, field = np.inf, -1
    for j in range(s.top):
        if s.alive[j] and r.minerals_here[s.kind[j]] and s.contents[j] > 0.0:
            d = np.sqrt((s.x[j] - x) ** 2 + (s.y[j] - y) ** 2)
            if d <= within and d + WORKER_WEIGHT * s.assigned[j] < best:
                best, field = d + WORKER_WEIGHT * s.assigned[j], j
    return field


@kernel
def usable(s: Any, r: Any, p: int, j: int) -> bool:
    """Whether a player's workers can gather there."""
    if j < 0 or not s.alive[j]:
        return False
    k = s.kind[j]
    if r.minerals_here[k]:
        return True
    return bool(r.gas[k] and s.owner[j] == p and s.progress[j] >= 1.0 and s.contents[j] > 0.0)


@kernel
def assign(s: Any, i: int, j: int) -> None:
    """Send a worker to another resource under the same order."""
    s.order_target[i, 0], s.order_generation[i, 0] = j, s.generation[j]
    s.resource[i] = j
    s.assigned[j] += 1
    s.phase[i] = TO_MINE


@kernel
def gather(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """One loop of gathering: go to the resource, mine, return."""
    if s.order[i, 0] == RETURN:
        s.phase[i] = HOME
    if s.phase[i] == HOME:
        bring_home(s, t, r, w, i)
        return
    j = s.order_target[i, 0]
    p = s.owner[i]
    there = same(s, j, s.order_generation[i, 0])
    if there and r.gas[s.kind[j]] and s.contents[j] <= 0.0:
        pop_order(s, i)
        return
    if not there or not usable(s, r, p, j):
        if s.phase[i] == AT_WORK:
            s.phase[i] = TO_MINE
        j = free_field(s, r, s.x[i], s.y[i], FIELD_WITHIN)
        if j < 0:
            pop_order(s, i)
        else:
            assign(s, i, j)
        return
    s.resource[i] = j
    if s.phase[i] == AT_WORK:
        s.timer[i] -= 1.0
        s.moving[i] = 0
        if s.timer[i] <= 0.0:
            load(s, r, i, j)
        return
    if s.carry_minerals[i] > 0.0 or s.carry_vespene[i] > 0.0:
        s.phase[i] = HOME
        return
    if gap(s, r, i, j) > TOUCH:
        go(s, t, r, w, i, s.x[j], s.y[j], r.radius[s.kind[j]] + TOUCH)
        return
    s.moving[i] = 0
    if s.kind[i] == MULE_UNIT or s.busy_until[j] <= s.loop:
        s.timer[i] = MINING if r.minerals_here[s.kind[j]] else PUMPING
        if s.kind[i] != MULE_UNIT:
            s.busy_until[j] = s.loop + int(s.timer[i])
        s.phase[i] = AT_WORK
    elif r.minerals_here[s.kind[j]] and (s.loop + i) % FIELD_EVERY == 0 and s.assigned[j] > 1:
        other = free_field(s, r, s.x[j], s.y[j], OTHER_FIELD_WITHIN)
        if other >= 0 and s.assigned[other] < s.assigned[j] - 1:
            s.assigned[j] -= 1
            assign(s, i, other)


@kernel
def load(s: Any, r: Any, i: int, j: int) -> None:
    """Take the load of one trip; an exhausted mineral field is removed."""
    s.phase[i] = HOME
    if r.minerals_here[s.kind[j]]:
        amount = min(MULE_LOAD if s.kind[i] == MULE_UNIT else MINERAL_LOAD, s.contents[j])
        s.contents[j] -= amount
        s.carry_minerals[i] = amount
        if s.contents[j] <= 0.0:
            remove(s, r, j)
    else:
        source = s.resource[j]
        amount = min(GAS_LOAD, s.contents[source]) if source >= 0 else 0.0
        if source >= 0:
            s.contents[source] -= amount
        s.contents[j] -= amount
        s.carry_vespene[i] = amount


@kernel
def bring_home(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """Return the load to the nearest townhall."""
    p = s.owner[i]
    hall = s.host[i]
    if hall < 0 or not s.alive[hall] or s.owner[hall] != p or not r.townhall[s.kind[hall]] or s.moving[i] == 0:
        hall = nearest_hall(s, r, p, s.x[i], s.y[i])
        s.host[i] = hall
    if hall < 0:
        return
    if gap(s, r, i, hall) > TOUCH:
        go(s, t, r, w, i, s.x[hall], s.y[hall], r.radius[s.kind[hall]])
        return
    s.minerals[p] += s.carry_minerals[i] * s.income_factor[p]
    s.vespene[p] += s.carry_vespene[i] * s.income_factor[p]
    s.score[p, COLLECTED_MINERALS] += s.carry_minerals[i]
    s.score[p, COLLECTED_VESPENE] += s.carry_vespene[i]
    s.carry_minerals[i], s.carry_vespene[i] = 0.0, 0.0
    s.phase[i], s.moving[i] = TO_MINE, 0
    if s.orders[i] > 1:
        pop_order(s, i)
    elif s.order[i, 0] == RETURN:
        j = s.resource[i]
        if not usable(s, r, p, j):
            j = free_field(s, r, s.x[i], s.y[i], FIELD_WITHIN)
        clear_orders(s, i)
        if j >= 0:
            s.order[i, 0], s.argument[i, 0], s.orders[i] = GATHER, 0, 1
            s.order_x[i, 0], s.order_y[i, 0] = s.x[j], s.y[j]
            assign(s, i, j)


@kernel
def count_workers(s: Any, r: Any) -> None:
    """Count the workers assigned to every resource."""
    for j in range(s.top):
        s.assigned[j] = 0
    for i in range(s.top):
        if s.alive[i] and s.orders[i] > 0 and r.worker[s.kind[i]] and s.kind[i] != MULE_UNIT:
            j = -1
            if s.order[i, 0] == GATHER:
                j = s.order_target[i, 0]
            elif s.order[i, 0] == RETURN:
                j = s.resource[i]
            if j >= 0 and s.alive[j]:
                s.assigned[j] += 1


@kernel
def larva_of(s: Any, hall: int) -> int:
    """The number of larvae of a hatchery."""
    n = 0
    for j in range(s.top):
        if s.alive[j] and s.kind[j] == LARVA and s.host[j] == hall:
            n += 1
    return n


@kernel
def hatch_larva(s: Any, t: Any, r: Any, i: int, loops: int) -> None:
    """Spawn larvae: up to three by itself, and those of injections."""
    k = s.kind[i]
    if (k not in (HATCHERY, LAIR, HIVE)) or s.progress[i] < 1.0:
        return
    if s.injects[i] > 0 and s.loop >= s.inject_until[i]:
        s.injects[i] -= 1
        s.inject_until[i] = s.loop + INJECT_LOOPS
        for _ in range(INJECT_LARVA):
            if larva_of(s, i) < LARVA_MOST:
                new_larva(s, t, r, i)
    if larva_of(s, i) < LARVA_BY_ITSELF:
        s.larva_timer[i] += loops
        if s.larva_timer[i] >= LARVA_EVERY:
            s.larva_timer[i] -= LARVA_EVERY
            new_larva(s, t, r, i)
    else:
        s.larva_timer[i] = 0.0


@kernel
def new_larva(s: Any, t: Any, r: Any, hall: int) -> None:
    """One larva beside its hatchery."""
    angle = LARVA_ANGLE + LARVA_SPREAD * random(s)
    x, y = s.x[hall] + LARVA_DISTANCE * np.cos(angle), s.y[hall] + LARVA_DISTANCE * np.sin(angle)
    i = spawn(s, r, LARVA, s.owner[hall], x, y, 1.0)
    if i >= 0:
        s.host[i] = hall


@kernel
def recover(s: Any, r: Any, i: int, loops: int) -> None:
    """Regenerate energy, the health of Zerg, and Protoss shields that were not hit recently."""
    k, p = s.kind[i], s.owner[i]
    if r.energy[k] > 0.0 and s.progress[i] >= 1.0:
        s.energy[i] = min(r.energy[k], s.energy[i] + ENERGY_RATE * loops)
    if s.progress[i] < 1.0:
        return
    full = r.health[k] + s.health_bonus[p, k]
    if r.race[k] == ZERG and s.health[i] < full:
        s.health[i] = min(full, s.health[i] + HEALTH_RATE * loops)
    if s.shield[i] < r.shields[k] and s.loop - s.hit_at[i] > SHIELD_DELAY:
        s.shield[i] = min(r.shields[k], s.shield[i] + SHIELD_RATE * loops)
