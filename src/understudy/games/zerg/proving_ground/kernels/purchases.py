"""Orders with a price: to build, train, warp in, research or morph."""

# ruff: noqa: PLR0911, PLR0912 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.construction import FAST_WARP, SLOW_WARP, TUMOR_ENERGY, add_on
from understudy.games.zerg.proving_ground.kernels.order_queue import clear_orders, push_order, take
from understudy.games.zerg.proving_ground.kernels.placement import can_place, can_warp, geyser_at, snap
from understudy.games.zerg.proving_ground.kernels.prices import affordable, pay
from understudy.games.zerg.proving_ground.kernels.production import change_kind, has_reactor, has_techlab
from understudy.games.zerg.proving_ground.kernels.tech import has_building, supply_cap, supply_used, tech_met
from understudy.games.zerg.proving_ground.kernels.units import spawn
from understudy.games.zerg.proving_ground.kernels.vision import warps_fast
from understudy.games.zerg.proving_ground.rules import ADDON, BUILD, BURROW, HATCH, MORPH, TRAIN, WARP, WARP_GATE_TECH
from understudy.games.zerg.proving_ground.state import (
    BUILD_AT,
    CANT_BUILD_HERE,
    CHEAT_TECH,
    COOLING_DOWN,
    EGG,
    HELLBAT,
    LIBERATOR_AG,
    LURKER_BURROWED,
    MAKE,
    MORPH_INTO,
    NOT_ENOUGH_ENERGY,
    NOT_ENOUGH_FOOD,
    NOT_SUPPORTED,
    NYDUS_WORM,
    QUEEN,
    QUEUE,
    QUEUE_IS_FULL,
    RESEARCH,
    SUCCESS,
    TECH_NOT_MET,
    TUMOR_BURROWED,
    WARP_GATE,
    ZERGLING,
)
from understudy.games.zerg.starcraft import ZERG

QUEUE_LENGTH, REACTOR_QUEUE = 5, 8
SEEN_NOW = 2
TUMOR_REACH = 10.0  # how far a tumour plants the next one


@kernel
def begin_building(s: Any, t: Any, r: Any, p: int, i: int, kind: int, j: int, x: float, y: float, queued: bool) -> int:
    """An order to build. The price is taken now, and returned if the building does not start."""
    k = s.kind[i]
    if r.how[k, kind] != BUILD or (k == TUMOR_BURROWED and s.spent[i]):
        return NOT_SUPPORTED
    if k == TUMOR_BURROWED and s.spell_at[i] > s.loop:
        return COOLING_DOWN
    if x < 0.0:
        return CANT_BUILD_HERE
    again = not queued and s.orders[i] == 1 and s.order[i, 0] == BUILD_AT and s.argument[i, 0] == kind
    if again and s.order_x[i, 0] == snap(r, kind, x) and s.order_y[i, 0] == snap(r, kind, y):
        return SUCCESS  # it is already paid for
    if queued and s.orders[i] >= QUEUE:
        return QUEUE_IS_FULL
    if not tech_met(s, r, p, kind):
        return TECH_NOT_MET
    price = affordable(s, p, r.minerals[k, kind], r.vespene[k, kind])
    if price != SUCCESS:
        return price
    if k == QUEEN and s.energy[i] < TUMOR_ENERGY:
        return NOT_ENOUGH_ENERGY
    if r.gas[kind]:
        j = geyser_at(s, r, x, y)
        if j < 0:
            return CANT_BUILD_HERE
        return reserve(s, r, i, kind, j, s.x[j], s.y[j], queued)
    allowed = can_place(s, t, r, p, kind, x, y, False)
    if allowed != SUCCESS:
        return allowed
    if kind == NYDUS_WORM and s.visibility[p, int(y), int(x)] != SEEN_NOW:
        return CANT_BUILD_HERE
    if k == TUMOR_BURROWED and np.hypot(x - s.x[i], y - s.y[i]) > TUMOR_REACH:
        return CANT_BUILD_HERE
    return reserve(s, r, i, kind, -1, snap(r, kind, x), snap(r, kind, y), queued)


@kernel
def reserve(s: Any, r: Any, i: int, kind: int, j: int, x: float, y: float, queued: bool) -> int:
    """Pay for a building and give the order to build it; the prices of the orders that it replaces are refunded."""
    minerals, vespene = r.minerals[s.kind[i], kind], r.vespene[s.kind[i], kind]
    paid = pay(s, s.owner[i], minerals, vespene)
    if paid != SUCCESS:
        return paid
    if not queued:
        clear_orders(s, i)
    done = take(s, i, BUILD_AT, kind, j, x, y, queued)
    s.reserved_minerals[i] += minerals
    s.reserved_vespene[i] += vespene
    return done


@kernel
def make(s: Any, t: Any, r: Any, p: int, i: int, kind: int, x: float, y: float) -> int:
    """Train, hatch, warp in, or build an addon."""
    k = s.kind[i]
    how = r.how[k, kind]
    if how not in (TRAIN, HATCH, WARP, ADDON):
        return NOT_SUPPORTED
    if not tech_met(s, r, p, kind) or (r.techlab[k, kind] and not has_techlab(s, r, i)):
        return TECH_NOT_MET
    if how == ADDON:
        if s.orders[i] > 0:
            return QUEUE_IS_FULL
        b = add_on(s, t, r, i, kind)
        return SUCCESS if b >= 0 else -b
    length = REACTOR_QUEUE if has_reactor(s, r, i) else QUEUE_LENGTH
    if how == TRAIN and s.orders[i] >= length:
        return QUEUE_IS_FULL
    pair = 2.0 if kind == ZERGLING else 1.0
    need = r.supply[kind] * pair
    if need > 0.0 and supply_used(s, r, p) + need > supply_cap(s, r, p):
        return NOT_ENOUGH_FOOD
    if how == WARP:
        if s.spell_at[i] > s.loop:
            return COOLING_DOWN
        allowed = can_warp(s, t, r, p, kind, x, y)
        if allowed != SUCCESS:
            return allowed
    paid = pay(s, p, r.minerals[k, kind], r.vespene[k, kind])
    if paid != SUCCESS:
        return paid
    if how == HATCH:
        clear_orders(s, i)
        host = s.host[i]
        if host >= 0 and s.rally_x[i] < 0.0:
            s.rally_x[i], s.rally_y[i], s.rally_target[i] = s.rally_x[host], s.rally_y[host], s.rally_target[host]
        s.kind[i], s.becomes[i], s.health[i] = EGG, kind, r.health[EGG]
        push_order(s, i, MORPH_INTO, kind, -1, s.x[i], s.y[i])
    elif how == WARP:
        new = spawn(s, r, kind, p, x, y, 1.0 / SLOW_WARP)
        if new >= 0:
            s.timer[new] = FAST_WARP if warps_fast(s, p, x, y) else SLOW_WARP
        s.spell_at[i] = s.loop + int(r.warp_pause[kind])
    else:
        push_order(s, i, MAKE, kind, -1, s.x[i], s.y[i])
    return SUCCESS


@kernel
def begin_research(s: Any, r: Any, p: int, i: int, u: int) -> int:
    """Pay for an upgrade and start it."""
    if not r.researches[s.kind[i], u]:
        return NOT_SUPPORTED
    before = r.upgrade_before[u]
    if s.upgrade[p, u] or s.pending[p, u]:
        return TECH_NOT_MET
    all_met = s.cheats[p] & CHEAT_TECH
    if before and not s.upgrade[p, before] and not all_met:
        return TECH_NOT_MET
    if r.upgrade_building[u] and not all_met and not has_building(s, r, p, r.upgrade_building[u]):
        return TECH_NOT_MET
    if s.orders[i] >= QUEUE_LENGTH:
        return QUEUE_IS_FULL
    paid = pay(s, p, r.upgrade_minerals[u], r.upgrade_vespene[u])
    if paid != SUCCESS:
        return paid
    s.pending[p, u] = 1
    push_order(s, i, RESEARCH, u, -1, s.x[i], s.y[i])
    return SUCCESS


@kernel
def begin_morph(s: Any, r: Any, p: int, i: int, kind: int, x: float, y: float) -> int:
    """Pay for a morph and start it, with or without a cocoon. The point is the middle of a liberator's zone."""
    k = s.kind[i]
    if r.how[k, kind] != MORPH:
        return NOT_SUPPORTED
    burrows = r.cloaked[kind] and not r.cloaked[k] and r.race[k] == ZERG and kind != LURKER_BURROWED
    free = r.minerals[k, kind] == 0.0 and r.vespene[k, kind] == 0.0
    needed = not free or kind == HELLBAT  # other changes of shape need no building
    if (needed and not tech_met(s, r, p, kind)) or (burrows and not s.upgrade[p, BURROW]):
        return TECH_NOT_MET
    if kind == WARP_GATE and not s.upgrade[p, WARP_GATE_TECH] and not s.cheats[p] & CHEAT_TECH:
        return TECH_NOT_MET
    if s.orders[i] > 0 and s.order[i, 0] == MORPH_INTO and s.argument[i, 0] == kind and s.order_progress[i, 0] > 0.0:
        return SUCCESS  # it is already changing
    if r.structure[k] and s.orders[i] > 0:
        return QUEUE_IS_FULL
    more = r.supply[kind] - r.supply[k]
    if more > 0.0 and supply_used(s, r, p) + more > supply_cap(s, r, p):
        return NOT_ENOUGH_FOOD
    paid = pay(s, p, r.minerals[k, kind], r.vespene[k, kind])
    if paid != SUCCESS:
        return paid
    clear_orders(s, i)
    zone = kind == LIBERATOR_AG and x >= 0.0
    push_order(s, i, MORPH_INTO, kind, -1, x if zone else s.x[i], y if zone else s.y[i])
    if r.structure[kind] and r.flying[kind] and s.host[i] >= 0:
        s.host[s.host[i]], s.host[i] = -1, -1  # a building that lifts off leaves its addon
    if free:
        s.timer[i] = r.shape_loops[kind]
    s.was[i] = k
    if r.cocoon[kind] and not free:
        change_kind(s, r, i, r.cocoon[kind])
        s.becomes[i] = kind
    return SUCCESS
