"""Building: the way to the site, the foundation, the work, addons."""

from __future__ import annotations

from typing import Any

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.movement import go
from understudy.games.zerg.proving_ground.kernels.order_queue import (
    clear_orders,
    fail,
    give_back,
    pop_order,
    push_order,
)
from understudy.games.zerg.proving_ground.kernels.placement import can_place, geyser_at, snap
from understudy.games.zerg.proving_ground.kernels.prices import pay
from understudy.games.zerg.proving_ground.kernels.production import ARCHON_LOOPS, quick
from understudy.games.zerg.proving_ground.kernels.units import TINY, length, same, spawn, vanish
from understudy.games.zerg.proving_ground.state import (
    ARCHON,
    BUILD_AT,
    DRONE,
    GATHER,
    HATCHERY,
    MAKE,
    NOT_ENOUGH_ENERGY,
    QUEEN,
    SCV,
    SUCCESS,
    TUMOR,
    TUMOR_BURROWED,
    TUMOR_QUEEN,
)
from understudy.games.zerg.starcraft import TERRAN

FAST_WARP, SLOW_WARP = 80.0, 256.0  # loops of a warp-in
CANT_ALLOCATE = 37  # the game's ActionResult CouldntAllocateUnit
TUMOR_ENERGY, TUMOR_PAUSE = 25.0, 304  # the price for a queen; loops until a new tumour can spread
ADDON_X, ADDON_Y = 2.5, -0.5
DRONE_SITE, QUEEN_SITE, GAS_SITE, BUILDER_GAP = 0.6, 1.5, 2.6, 1.2  # how near a builder goes to its site
BUILT_SHARE = 0.9  # of health and shields that construction adds; it begins with the rest
FIRST_LARVA = 240.0  # the timer of a new hatchery: its first larva comes soon


@kernel
def start_building(s: Any, t: Any, r: Any, i: int, kind: int, x: float, y: float) -> int:
    """The builder has arrived: lay the foundation. Returns the new structure's slot, or a negative ActionResult."""
    p = s.owner[i]
    allowed = can_place(s, t, r, p, kind, x, y, True)
    if allowed != SUCCESS:
        return -allowed
    tumor = kind in (TUMOR, TUMOR_QUEEN)
    if tumor and s.kind[i] == QUEEN and s.energy[i] < TUMOR_ENERGY:
        return -NOT_ENOUGH_ENERGY
    geyser = geyser_at(s, r, x, y) if r.gas[kind] else -1
    b = spawn(s, r, kind, p, snap(r, kind, x), snap(r, kind, y), 0.0)
    if b < 0:
        return -CANT_ALLOCATE
    if geyser >= 0:
        s.x[b], s.y[b] = s.x[geyser], s.y[geyser]
        s.resource[b], s.contents[b] = geyser, s.contents[geyser]
    if tumor and s.kind[i] == QUEEN:
        s.energy[i] -= TUMOR_ENERGY
    elif tumor:
        s.spent[i] = 1
    return b


@kernel
def build(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """One loop of a build order: walk there, start, and (Terran) stay until it is finished."""
    kind, x, y = s.argument[i, 0], s.order_x[i, 0], s.order_y[i, 0]
    if s.phase[i] == 1:
        stay_and_build(s, r, i)
        return
    j = s.order_target[i, 0]
    resumed = j >= 0 and s.owner[j] == s.owner[i]  # an SCV continues what another one began
    if resumed and (not same(s, j, s.order_generation[i, 0]) or s.progress[j] >= 1.0):
        pop_order(s, i)
        return
    near = DRONE_SITE if s.kind[i] == DRONE else r.footprint[kind] / 2.0 + BUILDER_GAP
    if s.kind[i] == QUEEN:
        near = QUEEN_SITE
    if r.gas[kind]:
        near = GAS_SITE
    if r.speed[s.kind[i]] > 0.0 and length(s.x[i] - x, s.y[i] - y) > near:
        go(s, t, r, w, i, x, y, near)
        return
    if resumed:
        s.phase[i], s.moving[i] = 1, 0
        return
    b = start_building(s, t, r, i, kind, x, y)
    minerals, vespene = r.minerals[s.kind[i], kind], r.vespene[s.kind[i], kind]
    if b < 0:
        give_back(s, i, minerals, vespene)
        fail(s, i, BUILD_AT, kind, -b)
        pop_order(s, i)
        return
    s.reserved_minerals[i] -= minerals
    s.reserved_vespene[i] -= vespene
    if s.kind[i] == DRONE:
        clear_orders(s, i)
        vanish(s, i)
    elif s.kind[i] == SCV:
        s.phase[i], s.moving[i] = 1, 0
        s.order_target[i, 0], s.order_generation[i, 0] = b, s.generation[b]
    else:
        pop_order(s, i)


@kernel
def stay_and_build(s: Any, r: Any, i: int) -> None:
    """An SCV at its building site."""
    b = s.order_target[i, 0]
    if not same(s, b, s.order_generation[i, 0]) or s.progress[b] >= 1.0:
        pop_order(s, i)
        return
    raise_building(s, r, b, quick(s, s.owner[i]) / r.time[s.kind[b]])
    if s.progress[b] >= 1.0:
        gas = bool(r.gas[s.kind[b]])
        pop_order(s, i)
        if gas and s.orders[i] == 0:
            push_order(s, i, GATHER, 0, b, s.x[b], s.y[b])


@kernel
def raise_building(s: Any, r: Any, i: int, part: float) -> None:
    """One loop of construction: progress and health."""
    k = s.kind[i]
    s.progress[i] = min(1.0, s.progress[i] + part)
    if s.progress[i] > 1.0 - TINY:
        s.progress[i] = 1.0
    s.health[i] = min(r.health[k], s.health[i] + BUILT_SHARE * r.health[k] * part)
    s.shield[i] = min(r.shields[k], s.shield[i] + BUILT_SHARE * r.shields[k] * part)
    if s.progress[i] < 1.0:
        return
    if k in (TUMOR, TUMOR_QUEEN):
        s.kind[i] = TUMOR_BURROWED
        s.spell_at[i] = s.loop + TUMOR_PAUSE
    elif k == HATCHERY:
        s.larva_timer[i] = FIRST_LARVA


@kernel
def construct(s: Any, r: Any, i: int) -> None:
    """One loop of what is built without a worker: Zerg and Protoss structures, addons, warp-ins."""
    k, part = s.kind[i], quick(s, s.owner[i])
    if not r.structure[k]:
        raise_building(s, r, i, part / (ARCHON_LOOPS if k == ARCHON else max(1.0, s.timer[i])))
    elif r.race[k] != TERRAN or s.host[i] >= 0:
        raise_building(s, r, i, part / r.time[k])


@kernel
def add_on(s: Any, t: Any, r: Any, i: int, kind: int) -> int:
    """Start an addon at a Terran production building."""
    if s.host[i] >= 0:
        return -CANT_ALLOCATE
    x, y = s.x[i] + ADDON_X, s.y[i] + ADDON_Y
    allowed = can_place(s, t, r, s.owner[i], kind, x, y, True)
    if allowed != SUCCESS:
        return -allowed
    paid = pay(s, s.owner[i], r.minerals[s.kind[i], kind], r.vespene[s.kind[i], kind])
    if paid != SUCCESS:
        return -paid
    b = spawn(s, r, kind, s.owner[i], x, y, 0.0)
    if b >= 0:
        s.host[i], s.host[b] = b, i
        push_order(s, i, MAKE, kind, b, x, y)
    return b
