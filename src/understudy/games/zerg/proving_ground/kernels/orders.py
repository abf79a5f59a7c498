"""Checks and accepts orders: requirements, price, queue.

`issue` answers with the game's ActionResult numbers. Accepted orders go into the unit's queue; `step` executes them.
"""

# ruff: noqa: PLR0911, PLR0912 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.casting import aim, begin_spell, cast
from understudy.games.zerg.proving_ground.kernels.economy import usable
from understudy.games.zerg.proving_ground.kernels.placement import can_place, can_warp, geyser_at, snap
from understudy.games.zerg.proving_ground.kernels.production import (
    TUMOR_ENERGY,
    WARP_LOOPS,
    add_on,
    change_kind,
    drop_order,
    has_reactor,
    has_techlab,
    pay,
)
from understudy.games.zerg.proving_ground.kernels.table_spells import begin_table_spell
from understudy.games.zerg.proving_ground.kernels.transports import begin_landing, begin_transport, may_board
from understudy.games.zerg.proving_ground.kernels.units import (
    TUMOR_CREEP,
    clear_orders,
    has_building,
    push_order,
    remove,
    spawn,
    supply_cap,
    supply_used,
    take,
    tech_met,
)
from understudy.games.zerg.proving_ground.rules import ADDON, BUILD, BURROW, HATCH, MORPH, TRAIN, WARP
from understudy.games.zerg.proving_ground.spells import FIRST_SPELL
from understudy.games.zerg.proving_ground.state import (
    ATTACK,
    BUILD_AT,
    CANCEL,
    CANCEL_LAST,
    CANT_BUILD_HERE,
    CANT_TARGET_THAT_UNIT,
    CAST,
    CHEAT_CONTROL,
    CHEAT_FREE,
    CHEAT_TECH,
    CHRONO,
    COOLING_DOWN,
    DARK_TEMPLAR,
    EGG,
    ENTER,
    ERROR,
    GATHER,
    HIGH_TEMPLAR,
    HOLD,
    INJECT,
    LAND,
    LARVA,
    LOAD,
    LURKER_BURROWED,
    MAKE,
    MERGE,
    MORPH_INTO,
    MOVE,
    MULE,
    MUST_TARGET_RESOURCES,
    MUST_TARGET_UNIT,
    NEUTRAL,
    NOT_ENOUGH_ENERGY,
    NOT_ENOUGH_FOOD,
    NOT_ENOUGH_MINERALS,
    NOT_ENOUGH_VESPENE,
    NOT_SUPPORTED,
    NOT_YOURS,
    PATROL,
    QUEEN,
    QUEUE,
    QUEUE_IS_FULL,
    RALLY,
    REPAIR,
    RESEARCH,
    RETURN,
    SCV,
    SMART,
    STIM,
    STOP,
    SUCCESS,
    TECH_NOT_MET,
    TRANSFUSE,
    TUMOR_BURROWED,
    UNDER_CONSTRUCTION,
    UNLOAD,
    WIDOW_MINE_BURROWED,
    ZERGLING,
)
from understudy.games.zerg.starcraft import ZERG

QUEUE_LENGTH, REACTOR_QUEUE = 5, 8
SHAPE_LOOPS = 16.0
TUMOR_REACH = 10.0  # how far a tumour plants the next one
MINE_LOOPS = 60.0  # a widow mine's burrowing
WARP_COOLDOWN = 0.7  # share of the build time until a gate can warp again
DRONE_PRICE, REFUND = 50.0, 0.75  # a cancelled structure gives back this share, and the drone whole


@kernel
def issue(
    s: Any, t: Any, r: Any, p: int, i: int, order: int, argument: int, j: int, x: float, y: float, queued: bool
) -> int:
    """Give unit i an order; j is the target's slot or -1; x is negative if there is no point."""
    if i < 0 or i >= s.top or not s.alive[i]:
        return NOT_YOURS
    if s.owner[i] != p:
        if not s.cheats[p] & CHEAT_CONTROL or s.owner[i] >= NEUTRAL:
            return NOT_YOURS
        p = s.owner[i]
    if j >= 0 and (j >= s.top or not s.alive[j]):
        return CANT_TARGET_THAT_UNIT
    if j >= 0:
        x, y = s.x[j], s.y[j]
    if order == SMART:
        order = resolve_smart(s, r, p, i, j)
    if order in (CANCEL, CANCEL_LAST):
        return cancel(s, r, i)
    if order == RALLY:
        s.rally_x[i], s.rally_y[i], s.rally_target[i] = x, y, j
        return SUCCESS
    if s.progress[i] < 1.0:
        return UNDER_CONSTRUCTION
    if s.becomes[i] or s.carrier[i]:
        return NOT_SUPPORTED
    if order == MAKE:
        return make(s, t, r, p, i, argument, x, y)
    if order == RESEARCH:
        return begin_research(s, r, p, i, argument)
    if order == MORPH_INTO:
        return begin_morph(s, r, p, i, argument)
    if order in (MULE, CHRONO, STIM):
        return cast(s, r, p, i, order, j)
    if order == MERGE:
        return begin_merge(s, i, queued)
    if order == CAST and argument >= FIRST_SPELL:
        return begin_table_spell(s, t, r, p, i, argument, j, x, y, queued)
    if order == CAST:
        return begin_spell(s, t, r, p, i, argument, x, y, queued)
    if order in (LOAD, ENTER, UNLOAD):
        return begin_transport(s, r, i, order, j, x, y, queued)
    if order == LAND:
        return begin_landing(s, t, r, p, i, argument, x, y, queued)
    if order == BUILD_AT:
        return begin_building(s, t, r, p, i, argument, j, x, y, queued)
    return move_or_work(s, r, p, i, order, j, x, y, queued)


@kernel
def begin_merge(s: Any, i: int, queued: bool) -> int:
    """Two templars become an archon; each is told so, and they find each other."""
    if s.kind[i] not in (HIGH_TEMPLAR, DARK_TEMPLAR):
        return NOT_SUPPORTED
    if s.orders[i] > 0 and s.order[i, 0] == MERGE:
        return SUCCESS
    return take(s, i, MERGE, 0, -1, s.x[i], s.y[i], queued)


@kernel
def resolve_smart(s: Any, r: Any, p: int, i: int, j: int) -> int:
    """What a right click means."""
    k = s.kind[i]
    if r.structure[k]:
        return RALLY
    if j >= 0:
        if s.owner[j] < NEUTRAL and s.owner[j] != p:
            return ATTACK
        if r.worker[k] and usable(s, r, p, j):
            return GATHER
        if r.worker[k] and r.townhall[s.kind[j]] and s.carry_minerals[i] + s.carry_vespene[i] > 0.0:
            return RETURN
        if k == SCV and s.owner[j] == p and s.progress[j] < 1.0 and r.structure[s.kind[j]]:
            return REPAIR
        if may_board(s, r, i, j) == SUCCESS:
            return ENTER
    return MOVE


@kernel
def move_or_work(s: Any, r: Any, p: int, i: int, order: int, j: int, x: float, y: float, queued: bool) -> int:
    """Orders without a price."""
    k = s.kind[i]
    if r.speed[k] == 0.0 or k in (LARVA, EGG):
        armed = r.damage[k, 0] > 0.0 or r.damage[k, 1] > 0.0
        if order == STOP and armed and not queued:
            clear_orders(s, i)
            return SUCCESS
        if not (order == ATTACK and armed and j >= 0):
            return NOT_SUPPORTED
    if order == STOP:
        if queued and s.orders[i] > 0:  # it ends the queue after the orders in it
            return take(s, i, STOP, 0, -1, s.x[i], s.y[i], queued)
        clear_orders(s, i)
        return SUCCESS
    if order == HOLD:
        return take(s, i, HOLD, 0, -1, s.x[i], s.y[i], queued)
    if order == GATHER:
        if not r.worker[k]:
            return NOT_SUPPORTED
        if not usable(s, r, p, j):
            return MUST_TARGET_RESOURCES
        s.resource[i] = j
        if queued or s.order[i, 0] != GATHER or s.order_target[i, 0] != j:
            return take(s, i, GATHER, 0, j, x, y, queued)
        return SUCCESS
    if order == RETURN:
        return take(s, i, RETURN, 0, -1, s.x[i], s.y[i], queued) if r.worker[k] else NOT_SUPPORTED
    if order in (INJECT, TRANSFUSE):
        return aim(s, r, p, i, order, j, queued)
    if order == REPAIR:
        if k != SCV or j < 0:
            return NOT_SUPPORTED
        if s.progress[j] < 1.0:
            return take(s, i, BUILD_AT, s.kind[j], j, x, y, queued)
        return take(s, i, REPAIR, 0, j, x, y, queued)
    if x < 0.0:
        return MUST_TARGET_UNIT
    if order == ATTACK and j >= 0 and s.owner[j] == p:
        order = MOVE
    if order in (MOVE, ATTACK, PATROL):
        return take(s, i, order, 0, j, x, y, queued)
    return NOT_SUPPORTED


@kernel
def affordable(s: Any, p: int, minerals: float, vespene: float) -> int:
    """SUCCESS, or which resource is missing."""
    if s.cheats[p] & CHEAT_FREE:
        return SUCCESS
    if s.minerals[p] < minerals:
        return NOT_ENOUGH_MINERALS
    return NOT_ENOUGH_VESPENE if s.vespene[p] < vespene else SUCCESS


@kernel
def begin_building(s: Any, t: Any, r: Any, p: int, i: int, kind: int, j: int, x: float, y: float, queued: bool) -> int:
    """An order to build. The price is taken now, and returned if the building does not start."""
    k = s.kind[i]
    if r.how[k, kind] != BUILD or (k == TUMOR_BURROWED and s.spent[i]):
        return NOT_SUPPORTED
    if x < 0.0:
        return CANT_BUILD_HERE
    again = not queued and s.orders[i] == 1 and s.order[i, 0] == BUILD_AT and s.argument[i, 0] == kind
    if again and s.order_x[i, 0] == snap(r, kind, x) and s.order_y[i, 0] == snap(r, kind, y):
        return SUCCESS  # it is paid for already
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
    if k == TUMOR_BURROWED and np.hypot(x - s.x[i], y - s.y[i]) > TUMOR_REACH:
        return CANT_BUILD_HERE
    return reserve(s, r, i, kind, -1, snap(r, kind, x), snap(r, kind, y), queued)


@kernel
def reserve(s: Any, r: Any, i: int, kind: int, j: int, x: float, y: float, queued: bool) -> int:
    """Pay for a building and give the order to build it; the price of the orders that it replaces is returned."""
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
    if how == TRAIN and not s.powered[i]:
        return TECH_NOT_MET
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
        spawn(s, r, kind, p, x, y, 1.0 / WARP_LOOPS)
        s.spell_at[i] = s.loop + int(r.time[kind] * WARP_COOLDOWN)
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
def begin_morph(s: Any, r: Any, p: int, i: int, kind: int) -> int:
    """Pay for a morph and start it, with or without a cocoon."""
    k = s.kind[i]
    if r.how[k, kind] != MORPH:
        return NOT_SUPPORTED
    burrows = r.cloaked[kind] and not r.cloaked[k] and r.race[k] == 2 and kind != LURKER_BURROWED
    if not tech_met(s, r, p, kind) or (burrows and not s.upgrade[p, BURROW]):
        return TECH_NOT_MET
    if r.structure[k] and s.orders[i] > 0:
        return QUEUE_IS_FULL
    more = r.supply[kind] - r.supply[k]
    if more > 0.0 and supply_used(s, r, p) + more > supply_cap(s, r, p):
        return NOT_ENOUGH_FOOD
    free = r.minerals[k, kind] == 0.0 and r.vespene[k, kind] == 0.0
    paid = pay(s, p, r.minerals[k, kind], r.vespene[k, kind])
    if paid != SUCCESS:
        return paid
    clear_orders(s, i)
    push_order(s, i, MORPH_INTO, kind, -1, s.x[i], s.y[i])
    if r.structure[kind] and r.flying[kind] and s.host[i] >= 0:
        s.host[s.host[i]], s.host[i] = -1, -1  # a building that lifts off leaves its addon
    if free:
        s.timer[i] = SHAPE_LOOPS if kind != WIDOW_MINE_BURROWED else MINE_LOOPS
    s.was[i] = k
    if r.cocoon[kind] and not free:
        change_kind(s, r, i, r.cocoon[kind])
        s.becomes[i] = kind
    return SUCCESS


@kernel
def refund(s: Any, p: int, minerals: float, vespene: float) -> None:
    """Give resources back."""
    s.minerals[p] += minerals
    s.vespene[p] += vespene


@kernel
def cancel(s: Any, r: Any, i: int) -> int:
    """Cancel the construction, the last order of the queue, or the morph, and refund the price (three quarters for
    structures).
    """
    k, p, n = s.kind[i], s.owner[i], s.orders[i]
    if r.structure[k] and s.progress[i] < 1.0:
        part = r.value_minerals[k] - (DRONE_PRICE if r.race[k] == ZERG else 0.0)
        refund(s, p, part * REFUND, r.value_vespene[k] * REFUND)
        if r.race[k] == ZERG and r.creep_radius[k] != TUMOR_CREEP:
            refund(s, p, DRONE_PRICE, 0.0)
        remove(s, r, i)
        return SUCCESS
    if n == 0:
        return ERROR
    what = s.argument[i, n - 1]
    if s.order[i, n - 1] == MAKE:
        refund(s, p, r.minerals[k, what], r.vespene[k, what])
        drop_order(s, i, n - 1)
    elif s.order[i, n - 1] == RESEARCH:
        refund(s, p, r.upgrade_minerals[what], r.upgrade_vespene[what])
        s.pending[p, what] = 0
        drop_order(s, i, n - 1)
    elif s.order[i, n - 1] == MORPH_INTO:
        source = LARVA if k == EGG else s.was[i]
        refund(s, p, r.minerals[source, what], r.vespene[source, what])
        clear_orders(s, i)
        if k == EGG:
            s.kind[i], s.becomes[i], s.health[i] = LARVA, 0, r.health[LARVA]
        elif s.becomes[i]:
            change_kind(s, r, i, source)
    else:
        clear_orders(s, i)
    return SUCCESS
