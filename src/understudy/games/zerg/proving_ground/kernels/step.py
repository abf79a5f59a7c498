"""Advances the game: every unit executes its orders."""

# ruff: noqa: PLR0912 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

from understudy.games.zerg.proving_ground.compiled import door, kernel
from understudy.games.zerg.proving_ground.kernels.casting import cast_on_ground, work_areas
from understudy.games.zerg.proving_ground.kernels.combat import ACQUIRE, defend, engage
from understudy.games.zerg.proving_ground.kernels.construction import build, construct
from understudy.games.zerg.proving_ground.kernels.economy import gather
from understudy.games.zerg.proving_ground.kernels.healing import cast_at, heal_somebody, restore_shields
from understudy.games.zerg.proving_ground.kernels.movement import fill_grids, go, keep_out, separate
from understudy.games.zerg.proving_ground.kernels.order_queue import pop_order
from understudy.games.zerg.proving_ground.kernels.production import merge, morph, train
from understudy.games.zerg.proving_ground.kernels.research import research
from understudy.games.zerg.proving_ground.kernels.table_spells import cast_table_spell, follow_shade
from understudy.games.zerg.proving_ground.kernels.transports import land, meet, unload
from understudy.games.zerg.proving_ground.kernels.units import length, remove, same
from understudy.games.zerg.proving_ground.kernels.upkeep import SLOW, keep_up
from understudy.games.zerg.proving_ground.kernels.vision import look
from understudy.games.zerg.proving_ground.spells import DISABLED, FIRST_SPELL, LIFTED
from understudy.games.zerg.proving_ground.state import (
    ATTACK,
    BATTERY,
    BUILD_AT,
    CAST,
    ENTER,
    GATHER,
    HOLD,
    LAND,
    LOAD,
    MAKE,
    MEDIVAC,
    MERGE,
    MORPH_INTO,
    MOVE,
    NEUTRAL,
    PATROL,
    RESEARCH,
    RETURN,
    SHADE_UNIT,
    STOP,
    UNLOAD,
)

ARRIVED = 0.5
STUCK = 96  # a unit has arrived after this many loops without progress at a crowded goal
NEARER, CROWD = 0.05, 6.0  # less progress than this is none; within this distance a unit gives up when it is stuck
FOLLOW_GAP = 0.3  # between a unit and the one that it follows


@door
def step(states: Any, terrains: Any, rules: Any, scratches: Any, loops: int, see: bool) -> None:
    """Advance the game by this many loops, or until it is over; `see` updates sight at the end, as every SLOW loops."""
    s, t, r, w = states[0], terrains[0], rules[0], scratches[0]
    for _ in range(loops):
        if s.over:
            break
        s.loop += 1
        fill_grids(s, r, w)
        for i in range(s.top):
            if s.alive[i] and s.owner[i] < NEUTRAL and s.carrier[i] == 0:
                act(s, t, r, w, i)
        separate(s, t, r, w)
        if s.areas:
            keep_out(s, t, r)
            work_areas(s, r, w)
        if s.loop % SLOW == 0:
            keep_up(s, t, r, w)
    if see and s.loop % SLOW:
        look(s, t, r, w)


@kernel
def act(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """One unit's loop."""
    k = s.kind[i]
    if s.cooldown[i] > 0.0:
        s.cooldown[i] -= 1.0
        if s.busy_until[i] > s.loop:
            return
    if s.progress[i] < 1.0:
        construct(s, r, i)
        return
    if s.dies_at[i] and s.loop >= s.dies_at[i]:
        if k == SHADE_UNIT:
            follow_shade(s, i)
        remove(s, r, i)
        return
    if s.buffs[i] & (1 << DISABLED | 1 << LIFTED):
        return
    if s.orders[i] == 0:
        s.moving[i] = 0
        idle(s, t, r, w, i)
        return
    order = s.order[i, 0]
    if order in (GATHER, RETURN):
        gather(s, t, r, w, i)
    elif order == MAKE:
        train(s, t, r, i)
        if r.damage[k, 0] > 0.0:
            defend(s, t, r, w, i, 0.0, False)
    elif order == ATTACK:
        attack(s, t, r, w, i)
    elif order in (MOVE, PATROL):
        move(s, t, r, w, i)
    elif order == HOLD:
        defend(s, t, r, w, i, 0.0, False)
    elif order == BUILD_AT:
        build(s, t, r, w, i)
    elif order == MORPH_INTO:
        morph(s, t, r, w, i)
    elif order == RESEARCH:
        research(s, r, i)
    elif order in (LOAD, ENTER):
        meet(s, t, r, w, i)
    elif order == UNLOAD:
        unload(s, t, r, w, i)
    elif order == LAND:
        land(s, t, r, w, i)
    elif order == STOP:
        pop_order(s, i)
    elif order == MERGE:
        merge(s, t, r, w, i)
    elif order == CAST and s.argument[i, 0] >= FIRST_SPELL:
        cast_table_spell(s, t, r, w, i)
    elif order == CAST:
        cast_on_ground(s, t, r, w, i)
    else:
        cast_at(s, t, r, w, i, order)


@kernel
def idle(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """A unit without orders fights enemies nearby; workers and buildings without weapons do nothing."""
    k = s.kind[i]
    if k == MEDIVAC:
        heal_somebody(s, t, r, w, i)
        return
    if k == BATTERY:
        restore_shields(s, r, i)
        return
    if r.worker[k] or (r.damage[k, 0] == 0.0 and r.damage[k, 1] == 0.0) or not s.powered[i]:
        return
    if r.structure[k] or r.speed[k] == 0.0:
        defend(s, t, r, w, i, 0.0, False)
    else:
        defend(s, t, r, w, i, ACQUIRE, True)


@kernel
def goal_reached(s: Any, r: Any, i: int, near: float) -> bool:
    """Whether a unit is at the goal of its order, or as close as the crowd allows."""
    d = length(s.order_x[i, 0] - s.x[i], s.order_y[i, 0] - s.y[i])
    if d <= near:
        return True
    if s.order_progress[i, 0] == 0.0 or d < s.order_progress[i, 0] - NEARER:
        s.order_progress[i, 0] = d
        s.timer[i] = 0.0
    else:
        s.timer[i] += 1.0
    return d < CROWD and s.timer[i] > STUCK


@kernel
def move(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """Go to a point, or follow a unit."""
    j = s.order_target[i, 0]
    near = ARRIVED
    if j >= 0:
        if not same(s, j, s.order_generation[i, 0]):
            pop_order(s, i)
            return
        s.order_x[i, 0], s.order_y[i, 0] = s.x[j], s.y[j]
        near = r.radius[s.kind[i]] + r.radius[s.kind[j]] + FOLLOW_GAP
    if goal_reached(s, r, i, near):
        pop_order(s, i)
        return
    go(s, t, r, w, i, s.order_x[i, 0], s.order_y[i, 0], 0.0)


@kernel
def attack(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """Attack a unit until it is gone, or go to a point and fight enemies on the way."""
    j = s.order_target[i, 0]
    if j >= 0:
        seen = same(s, j, s.order_generation[i, 0]) and (s.seen[s.owner[i], j] == 1 or s.known[s.owner[i], j] == 1)
        if not seen or not engage(s, t, r, w, i, j, True):
            pop_order(s, i)
        return
    if defend(s, t, r, w, i, ACQUIRE, True):
        return
    if s.kind[i] == MEDIVAC and heal_somebody(s, t, r, w, i):
        return
    if goal_reached(s, r, i, 1.0):
        pop_order(s, i)
        return
    go(s, t, r, w, i, s.order_x[i, 0], s.order_y[i, 0], 0.0)
