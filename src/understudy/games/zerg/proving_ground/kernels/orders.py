"""Checks and accepts orders, and answers with the game's ActionResult numbers.

Accepted orders go into the unit's queue; `step` executes them. Orders with a price are in `purchases`.
"""

# ruff: noqa: PLR0911, PLR0912 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.cancelling import cancel
from understudy.games.zerg.proving_ground.kernels.casting import aim, begin_spell, cast
from understudy.games.zerg.proving_ground.kernels.economy import usable
from understudy.games.zerg.proving_ground.kernels.order_queue import changing, clear_orders, take
from understudy.games.zerg.proving_ground.kernels.purchases import begin_building, begin_morph, begin_research, make
from understudy.games.zerg.proving_ground.kernels.table_spells import begin_table_spell
from understudy.games.zerg.proving_ground.kernels.transports import (
    BIOLOGICAL,
    begin_landing,
    begin_transport,
    may_board,
)
from understudy.games.zerg.proving_ground.spells import FIRST_SPELL, HALLUCINATED
from understudy.games.zerg.proving_ground.state import (
    ATTACK,
    BUILD_AT,
    CANCEL,
    CANCEL_LAST,
    CANT_TARGET_THAT_UNIT,
    CAST,
    CHEAT_CONTROL,
    CHRONO,
    DARK_TEMPLAR,
    EGG,
    ENTER,
    GATHER,
    HIGH_TEMPLAR,
    HOLD,
    INJECT,
    LAND,
    LARVA,
    LOAD,
    MAKE,
    MEDIVAC,
    MERGE,
    MORPH_INTO,
    MOVE,
    MULE,
    MUST_TARGET_RESOURCES,
    MUST_TARGET_UNIT,
    NEUTRAL,
    NOT_SUPPORTED,
    NOT_YOURS,
    PATROL,
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
    UNDER_CONSTRUCTION,
    UNLOAD,
)

MECHANICAL = 16  # the attribute's bit


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
    if s.becomes[i] or s.carrier[i] or occupied(s, r, i, order):
        return NOT_SUPPORTED
    if r.needs_power[s.kind[i]] and not s.powered[i] and order in (MAKE, RESEARCH, MORPH_INTO):
        return TECH_NOT_MET
    if s.buffs[i] & (1 << HALLUCINATED) and order not in (MOVE, ATTACK, PATROL, HOLD, STOP):
        return NOT_SUPPORTED
    if order == MAKE:
        return make(s, t, r, p, i, argument, x, y)
    if order == RESEARCH:
        return begin_research(s, r, p, i, argument)
    if order == MORPH_INTO:
        return begin_morph(s, r, p, i, argument, x, y)
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
def occupied(s: Any, r: Any, i: int, order: int) -> bool:
    """Whether a structure is occupied: it is morphing at a price, or an addon is being built beside it."""
    if not r.structure[s.kind[i]] or s.orders[i] == 0:
        return False
    if s.order[i, 0] == MORPH_INTO:
        return s.timer[i] <= 0.0 or order in (MAKE, RESEARCH)
    return s.order[i, 0] == MAKE and s.order_target[i, 0] >= 0


@kernel
def begin_merge(s: Any, i: int, queued: bool) -> int:
    """Two templars become an archon: both get the order, and they find each other."""
    if s.kind[i] not in (HIGH_TEMPLAR, DARK_TEMPLAR):
        return NOT_SUPPORTED
    if s.orders[i] > 0 and s.order[i, 0] == MERGE:
        return SUCCESS
    return take(s, i, MERGE, 0, -1, s.x[i], s.y[i], queued)


@kernel
def resolve_smart(s: Any, r: Any, p: int, i: int, j: int) -> int:
    """What a right click means."""
    k = s.kind[i]
    if r.structure[k] and r.speed[k] == 0.0:
        return RALLY
    if j >= 0:
        if s.owner[j] < NEUTRAL and s.owner[j] != p:
            return ATTACK
        if r.worker[k] and usable(s, r, p, j):
            return GATHER
        if r.worker[k] and r.townhall[s.kind[j]] and s.carry_minerals[i] + s.carry_vespene[i] > 0.0:
            return RETURN
        if k == SCV and s.owner[j] == p and repairable(s, r, p, j):
            return REPAIR
        if may_board(s, r, i, j) == SUCCESS:
            return ENTER
    return MOVE


@kernel
def repairable(s: Any, r: Any, p: int, j: int) -> bool:
    """Whether an SCV can work on a unit: finish building it, or repair it."""
    k = s.kind[j]
    if r.structure[k] and s.progress[j] < 1.0:
        return True
    return bool((r.structure[k] or r.attributes[k] & MECHANICAL) and s.health[j] < r.health[k] + s.health_bonus[p, k])


@kernel
def move_or_work(s: Any, r: Any, p: int, i: int, order: int, j: int, x: float, y: float, queued: bool) -> int:
    """Orders without a price."""
    k = s.kind[i]
    if s.speed[p, k] == 0.0 or k in (LARVA, EGG):
        armed = r.damage[k, 0] > 0.0 or r.damage[k, 1] > 0.0
        if order == STOP and armed and not queued:
            clear_orders(s, i)
            return SUCCESS
        if not (order == ATTACK and armed and j >= 0):
            return NOT_SUPPORTED
    if order == STOP:
        if changing(s, i) or (queued and s.orders[i] > 0):  # it takes effect after the orders already in the queue
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
        if k == MEDIVAC and j >= 0:
            healable = s.owner[j] == p and r.attributes[s.kind[j]] & BIOLOGICAL and not r.structure[s.kind[j]]
            return take(s, i, REPAIR, 0, j, x, y, queued) if healable else CANT_TARGET_THAT_UNIT
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
