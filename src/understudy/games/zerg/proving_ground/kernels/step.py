"""Advances the game: every unit executes its orders."""

# ruff: noqa: PLR0912 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

from understudy.games.zerg.proving_ground.compiled import door, kernel
from understudy.games.zerg.proving_ground.kernels.casting import (
    INJECTION,
    TRANSFUSION,
    cast_on_ground,
    work_areas,
    wound,
)
from understudy.games.zerg.proving_ground.kernels.combat import ACQUIRE, defend, engage, gap
from understudy.games.zerg.proving_ground.kernels.construction import build, construct
from understudy.games.zerg.proving_ground.kernels.economy import (
    INJECT_LOOPS,
    count_workers,
    gather,
    hatch_larva,
    recover,
)
from understudy.games.zerg.proving_ground.kernels.movement import fill_grids, go, keep_out, separate
from understudy.games.zerg.proving_ground.kernels.production import merge, morph, train
from understudy.games.zerg.proving_ground.kernels.research import research
from understudy.games.zerg.proving_ground.kernels.table_spells import cast_table_spell, follow_shade
from understudy.games.zerg.proving_ground.kernels.transports import BIOLOGICAL, land, meet, unload
from understudy.games.zerg.proving_ground.kernels.units import TUMOR_CREEP, length, pop_order, remove, same
from understudy.games.zerg.proving_ground.kernels.vision import grow_creep, look, power
from understudy.games.zerg.proving_ground.spells import (
    BEAM,
    BUFFS,
    CLOAK,
    CONTAMINATED,
    DISABLED,
    FIRST_SPELL,
    LIFTED,
    LOCKED,
    OVERCHARGED,
)
from understudy.games.zerg.proving_ground.state import (
    ATTACK,
    BATTERY,
    BUILD_AT,
    CAST,
    COLLECTED_MINERALS,
    COLLECTED_VESPENE,
    ENTER,
    GATHER,
    HEALED,
    HOLD,
    IDLE_PRODUCTION,
    IDLE_WORKERS,
    INJECT,
    LAND,
    LOAD,
    MAKE,
    MEDIVAC,
    MERGE,
    MORPH_INTO,
    MOVE,
    NEUTRAL,
    PATROL,
    RATE_MINERALS,
    RATE_VESPENE,
    REPAIR,
    RESEARCH,
    RETURN,
    SHADE_UNIT,
    STOP,
    TRANSFUSE,
    UNLOAD,
)
from understudy.games.zerg.starcraft import DEFEAT, LOOPS_PER_SECOND, TIE, VICTORY

SLOW = 16  # loops between the updates that are not needed every loop
ARRIVED = 0.5
CLOAK_ENERGY, BEAM_ENERGY, LOCK_DAMAGE = 0.055, 0.0875, 1.25  # a loop
BATTERY_REACH, BATTERY_RATE = 6.0, 1.6  # shields a loop
STUCK = 96  # a unit has arrived after this many loops without progress at a crowded goal
NEARER, CROWD = 0.05, 6.0  # less progress than this is none; within this distance a unit gives up when it is stuck
FOLLOW_GAP = 0.3  # between a unit and the one that it follows
HEAL_EVERY = 8  # loops between two looks of a medivac for somebody to heal
HEAL_WITHIN, HEAL_REACH, HEALING, HEALTH_PER_ENERGY = 8.0, 4.0, 0.5625, 3.0  # medivacs: distances, health per loop
TRANSFUSE_REACH, TOUCH_REACH, TRANSFUSED = 7.0, 0.5, 125.0
LAST_MINERALS, LAST_VESPENE = 21, 22  # spare rows of the score: the sums when the rates were last computed
LOOPS_PER_MINUTE, SMOOTHING = 1344.0, 0.02
STALEMATE = 4032  # loops, three minutes


@door
def step(states: Any, terrains: Any, rules: Any, scratches: Any, loops: int, see: bool) -> None:
    """Advance the game by this many loops, or until it is over; `see` updates sight at the end."""
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
            slow(s, t, r, w)
    if see:
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


@kernel
def heal_somebody(s: Any, t: Any, r: Any, w: Any, i: int) -> bool:
    """A medivac heals the nearest damaged biological unit."""
    if s.energy[i] < 1.0:
        return False
    j = s.target[i]
    if j < 0 or not s.alive[j] or s.owner[j] != s.owner[i] or s.health[j] >= r.health[s.kind[j]]:
        s.target[i] = -1
        if (s.loop + i) % HEAL_EVERY:
            return False
        best = HEAL_WITHIN * HEAL_WITHIN
        for n in range(s.top):
            k = s.kind[n]
            if (
                s.alive[n]
                and s.owner[n] == s.owner[i]
                and s.carrier[n] == 0
                and r.attributes[k] & BIOLOGICAL
                and not r.structure[k]
                and s.health[n] < r.health[k]
            ):
                d = (s.x[n] - s.x[i]) ** 2 + (s.y[n] - s.y[i]) ** 2
                if d < best:
                    best, s.target[i] = d, n
        j = s.target[i]
        if j < 0:
            return False
    heal(s, t, r, w, i, j)
    return True


@kernel
def heal(s: Any, t: Any, r: Any, w: Any, i: int, j: int) -> None:
    """A medivac follows a unit and heals it."""
    if gap(s, r, i, j) > HEAL_REACH:
        go(s, t, r, w, i, s.x[j], s.y[j], 1.0)
    else:
        s.health[j] = min(r.health[s.kind[j]], s.health[j] + HEALING)
        s.energy[i] -= HEALING / HEALTH_PER_ENERGY
        s.score[s.owner[i], HEALED] += HEALING


@kernel
def restore_shields(s: Any, r: Any, i: int) -> None:
    """A shield battery restores the shields of one damaged unit or structure nearby."""
    over = s.buffs[i] & (1 << OVERCHARGED)
    if not s.powered[i] or (s.energy[i] < 1.0 and not over) or (s.loop + i) & 3:
        return
    for j in range(s.top):
        k = s.kind[j]
        hurt = s.alive[j] and s.owner[j] == s.owner[i] and s.progress[j] >= 1.0 and s.shield[j] < r.shields[k]
        if hurt and k != BATTERY and gap(s, r, i, j) <= BATTERY_REACH:
            given = min(r.shields[k] - s.shield[j], BATTERY_RATE * 4.0 * (2.0 if over else 1.0))
            s.shield[j] += given
            if not over:
                s.energy[i] = max(0.0, s.energy[i] - given / 3.0)
            return


@kernel
def cast_at(s: Any, t: Any, r: Any, w: Any, i: int, order: int) -> None:
    """Spells and repairs that need the caster next to its target."""
    j = s.order_target[i, 0]
    if not same(s, j, s.order_generation[i, 0]):
        pop_order(s, i)
        return
    k = s.kind[j]
    if order == REPAIR and s.kind[i] == MEDIVAC:
        if s.energy[i] < 1.0 or s.health[j] >= r.health[k]:
            pop_order(s, i)
        else:
            heal(s, t, r, w, i, j)
        return
    if gap(s, r, i, j) > (TRANSFUSE_REACH if order == TRANSFUSE else TOUCH_REACH):
        go(s, t, r, w, i, s.x[j], s.y[j], 1.0)
        return
    s.moving[i] = 0
    if order == INJECT and s.energy[i] >= INJECTION:
        s.energy[i] -= INJECTION
        if s.injects[j] == 0:
            s.inject_until[j] = s.loop + INJECT_LOOPS
        s.injects[j] += 1
    elif order == TRANSFUSE and s.energy[i] >= TRANSFUSION:
        s.energy[i] -= TRANSFUSION
        s.health[j] = min(r.health[k] + s.health_bonus[s.owner[j], k], s.health[j] + TRANSFUSED)
    elif order == REPAIR and s.health[j] < r.health[k]:
        s.health[j] = min(r.health[k], s.health[j] + r.health[k] / max(1.0, r.time[k]))
        return
    pop_order(s, i)


@kernel
def slow(s: Any, t: Any, r: Any, w: Any) -> None:
    """Updates of every 16th loop: regeneration, larvae, sight, creep, power, rates, and the result."""
    look(s, t, r, w)
    count_workers(s, r)
    power(s, r)
    if s.loop % (2 * SLOW) == 0:
        grow_creep(s, t, r)
    for i in range(s.top):
        if s.alive[i] and s.owner[i] < NEUTRAL:
            recover(s, r, i, SLOW)
            making = s.orders[i] > 0 and s.order[i, 0] in (MAKE, RESEARCH, MORPH_INTO) and s.order_progress[i, 0] > 0.0
            if making or s.progress[i] < 1.0:
                s.active_at = s.loop
            if s.buffs[i]:
                end_buffs(s, r, i)
            if r.townhall[s.kind[i]]:
                if not s.buffs[i] & (1 << CONTAMINATED):
                    hatch_larva(s, t, r, i, SLOW)
                if s.progress[i] >= 1.0 and s.orders[i] == 0:
                    s.score[s.owner[i], IDLE_PRODUCTION] += SLOW / LOOPS_PER_SECOND
            if r.worker[s.kind[i]] and s.orders[i] == 0:
                s.score[s.owner[i], IDLE_WORKERS] += SLOW / LOOPS_PER_SECOND
    rates(s)
    while s.top > 0 and not s.alive[s.top - 1]:
        s.top -= 1
    judge(s, r)


@kernel
def end_buffs(s: Any, r: Any, i: int) -> None:
    """Drop buffs whose time is over; lock-on hurts, and a cloak uses energy."""
    for b in range(BUFFS):
        if s.buffs[i] & (1 << b) and s.buff_until[i, b] <= s.loop:
            s.buffs[i] &= ~(1 << b)
    for b, energy in ((CLOAK, CLOAK_ENERGY), (BEAM, BEAM_ENERGY)):
        if s.buffs[i] & (1 << b):
            s.energy[i] -= energy * SLOW
            if s.energy[i] <= 0.0:
                s.energy[i] = 0.0
                s.buffs[i] &= ~(1 << b)
    if s.buffs[i] & (1 << LOCKED):
        wound(s, r, i, LOCK_DAMAGE * SLOW, 1 - s.owner[i])


@kernel
def rates(s: Any) -> None:
    """Collection rates per minute, smoothed over about half a minute; two spare score rows hold the last sums."""
    for p in range(2):
        for row, rate, last in (
            (COLLECTED_MINERALS, RATE_MINERALS, LAST_MINERALS),
            (COLLECTED_VESPENE, RATE_VESPENE, LAST_VESPENE),
        ):
            now = (s.score[p, row] - s.score[p, last]) * LOOPS_PER_MINUTE / SLOW
            s.score[p, last] = s.score[p, row]
            if now > 0.0:
                s.active_at = s.loop
            s.score[p, rate] += (now - s.score[p, rate]) * SMOOTHING


@kernel
def judge(s: Any, r: Any) -> None:
    """A player without structures has lost. Nobody wins when nothing is gathered, made or destroyed any more."""
    if s.over or s.endless:
        return
    left0, left1 = 0, 0
    for i in range(s.top):
        if s.alive[i] and r.structure[s.kind[i]] and r.creep_radius[s.kind[i]] != TUMOR_CREEP:
            if s.owner[i] == 0:
                left0 += 1
            elif s.owner[i] == 1:
                left1 += 1
    stalemate = s.loop - s.active_at >= STALEMATE
    if left0 and left1 and not stalemate:
        return
    s.over = 1
    if stalemate or left0 == left1:
        s.result[0], s.result[1] = TIE, TIE
    else:
        s.result[0], s.result[1] = (VICTORY, DEFEAT) if left0 else (DEFEAT, VICTORY)
