"""Spells: their conditions and effects."""

# ruff: noqa: PLR0911 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.movement import go
from understudy.games.zerg.proving_ground.kernels.order_queue import pop_order, push_order, take
from understudy.games.zerg.proving_ground.kernels.paths import walkable
from understudy.games.zerg.proving_ground.kernels.units import TINY, destroy, length, remove, spawn
from understudy.games.zerg.proving_ground.rules import (
    BILE,
    BILE_RADIUS,
    BLINK,
    BLINK_TECH,
    FORCE,
    FUNGAL,
    FUNGAL_RADIUS,
    PSI_STORM,
    SCAN,
    STIMPACK,
    STORM,
    STORM_RADIUS,
)
from understudy.games.zerg.proving_ground.spells import FIRST_SPELL, HALLUCINATED
from understudy.games.zerg.proving_ground.state import (
    AREAS,
    CANT_TARGET_THAT_UNIT,
    CAST,
    CHEAT_GOD,
    CHRONO,
    COARSE,
    COOLING_DOWN,
    DAMAGE_DEALT_LIFE,
    DAMAGE_DEALT_SHIELDS,
    ERROR,
    FORCE_FIELD,
    GATHER,
    HIGH_TEMPLAR,
    INFESTOR,
    INJECT,
    MARAUDER,
    MARINE,
    MULE,
    MULE_UNIT,
    MUST_TARGET_RESOURCES,
    MUST_TARGET_UNIT,
    NEUTRAL,
    NEXUS,
    NOT_ENOUGH_ENERGY,
    NOT_SUPPORTED,
    ORBITAL,
    QUEEN,
    RAVAGER,
    STALKER,
    STIM,
    SUCCESS,
    TECH_NOT_MET,
    WIDE,
)

INJECTION, MULE_PRICE, TRANSFUSION = 25.0, 50.0, 50.0
STORM_LOOPS, STORM_DAMAGE = 64, 80.0
SCAN_LOOPS, BILE_LOOPS, BILE_DAMAGE = 275, 56, 60.0
FUNGAL_DAMAGE, FUNGAL_LOOPS = 30.0, 67
BLINK_WAY, BLINK_COOLDOWN, BILE_COOLDOWN = 8.0, 160, 157
MARINE_STIM, MARAUDER_STIM, STIM_LOOPS = 10.0, 20.0, 246  # health that a stimpack costs, and how long it works
CHRONO_LOOPS, MULE_LOOPS = 448, 1434
STORM_PRICE, FUNGAL_REACH, SPELL_REACH = 75.0, 10.0, 9.0  # fungal growth costs as much as a storm


@kernel
def aim(s: Any, r: Any, p: int, i: int, order: int, j: int, queued: bool) -> int:
    """A queen's spells."""
    if s.kind[i] != QUEEN:
        return NOT_SUPPORTED
    if j < 0:
        return MUST_TARGET_UNIT
    if s.owner[j] != p or (order == INJECT and (not r.townhall[s.kind[j]] or s.progress[j] < 1.0)):
        return CANT_TARGET_THAT_UNIT
    if s.energy[i] < (INJECTION if order == INJECT else TRANSFUSION):
        return NOT_ENOUGH_ENERGY
    return take(s, i, order, 0, j, s.x[j], s.y[j], queued)


@kernel
def cast(s: Any, r: Any, p: int, i: int, order: int, j: int) -> int:
    """Spells that act at once: MULE, chrono boost, stimpack."""
    k = s.kind[i]
    if order == STIM:
        if (k not in (MARINE, MARAUDER)) or not s.upgrade[p, STIMPACK]:
            return NOT_SUPPORTED
        cost = MARINE_STIM if k == MARINE else MARAUDER_STIM
        if s.health[i] <= cost:
            return ERROR
        s.health[i] -= cost
        s.stim_until[i] = s.loop + STIM_LOOPS
        return SUCCESS
    if j < 0:
        return MUST_TARGET_UNIT
    if (order == MULE and k != ORBITAL) or (order == CHRONO and k != NEXUS):
        return NOT_SUPPORTED
    if s.energy[i] < MULE_PRICE:
        return NOT_ENOUGH_ENERGY
    if order == CHRONO:
        if s.owner[j] != p or not r.structure[s.kind[j]]:
            return CANT_TARGET_THAT_UNIT
        s.chrono_until[j] = s.loop + CHRONO_LOOPS
    else:
        if not r.minerals_here[s.kind[j]]:
            return MUST_TARGET_RESOURCES
        mule = spawn(s, r, MULE_UNIT, p, s.x[j], s.y[j] - 1.0, 1.0)
        if mule >= 0:
            s.dies_at[mule] = s.loop + MULE_LOOPS
            push_order(s, mule, GATHER, 0, j, s.x[j], s.y[j])
    s.energy[i] -= MULE_PRICE
    return SUCCESS


@kernel
def price_of(spell: int) -> float:
    """The energy that a spell costs."""
    if spell == SCAN:
        return MULE_PRICE
    return STORM_PRICE if spell in (STORM, FUNGAL) else 0.0


@kernel
def reach_of_spell(spell: int) -> float:
    """The range of a spell."""
    return FUNGAL_REACH if spell == FUNGAL else SPELL_REACH


@kernel
def begin_spell(s: Any, t: Any, r: Any, p: int, i: int, spell: int, x: float, y: float, queued: bool) -> int:
    """Cast on a point: at once for spells without range, otherwise as an order to go there and cast."""
    k = s.kind[i]
    caster = (
        (spell == SCAN and k == ORBITAL)
        or (spell == BLINK and k == STALKER)
        or (spell == STORM and k == HIGH_TEMPLAR)
        or (spell == FUNGAL and k == INFESTOR)
        or (spell == BILE and k == RAVAGER)
    )
    if not caster:
        return NOT_SUPPORTED
    if (spell == BLINK and not s.upgrade[p, BLINK_TECH]) or (spell == STORM and not s.upgrade[p, PSI_STORM]):
        return TECH_NOT_MET
    if x < 0.0:
        return ERROR
    if s.energy[i] < price_of(spell):
        return NOT_ENOUGH_ENERGY
    if s.spell_at[i] > s.loop:
        return COOLING_DOWN
    if spell == SCAN:
        s.energy[i] -= price_of(SCAN)
        add_area(s, SCAN, p, x, y, SCAN_LOOPS)
        return SUCCESS
    if spell == BLINK:
        return blink(s, t, i, x, y)
    return take(s, i, CAST, spell, -1, x, y, queued)


@kernel
def blink(s: Any, t: Any, i: int, x: float, y: float) -> int:
    """Jump to a point, or as far towards it as possible."""
    dx, dy = x - s.x[i], y - s.y[i]
    part = min(1.0, BLINK_WAY / max(length(dx, dy), TINY))
    nx, ny = s.x[i] + dx * part, s.y[i] + dy * part
    if not walkable(t, nx, ny):
        return ERROR
    s.x[i], s.y[i], s.way_goal[i] = nx, ny, -1
    s.spell_at[i] = s.loop + BLINK_COOLDOWN
    return SUCCESS


@kernel
def add_area(s: Any, spell: int, p: int, x: float, y: float, loops: int) -> None:
    """Add a spell that stays on the ground; without a free slot, nothing happens."""
    for n in range(AREAS):
        if s.area_spell[n] == 0:
            s.area_spell[n], s.area_owner[n], s.area_until[n] = spell, p, s.loop + loops
            s.area_x[n], s.area_y[n] = x, y
            s.areas += 1
            return


@kernel
def cast_on_ground(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """Walk into range, then cast."""
    spell, x, y, p = s.argument[i, 0], s.order_x[i, 0], s.order_y[i, 0], s.owner[i]
    if length(x - s.x[i], y - s.y[i]) > reach_of_spell(spell):
        go(s, t, r, w, i, x, y, reach_of_spell(spell))
        return
    if s.energy[i] >= price_of(spell) and s.spell_at[i] <= s.loop:
        s.energy[i] -= price_of(spell)
        if spell == STORM:
            add_area(s, STORM, p, x, y, STORM_LOOPS)
        elif spell == BILE:
            add_area(s, BILE, p, x, y, BILE_LOOPS)
            s.spell_at[i] = s.loop + BILE_COOLDOWN
        else:
            strike_ground(s, r, w, p, x, y, FUNGAL_RADIUS, FUNGAL_DAMAGE, FUNGAL_LOOPS, False)
    pop_order(s, i)


@kernel
def work_areas(s: Any, r: Any, w: Any) -> None:
    """One loop of all spells that stay on the ground."""
    for n in range(AREAS):
        if s.area_spell[n] == 0:
            continue
        x, y, p = s.area_x[n], s.area_y[n], s.area_owner[n]
        if s.area_spell[n] == STORM:
            strike_ground(s, r, w, p, x, y, STORM_RADIUS, STORM_DAMAGE / STORM_LOOPS, 0, True)
        if s.area_until[n] <= s.loop:
            if s.area_spell[n] == FORCE:
                if s.alive[p] and s.kind[p] == FORCE_FIELD:  # the owner of this area is the slot of the field
                    remove(s, r, p)
            elif s.area_spell[n] == BILE:
                strike_ground(s, r, w, p, x, y, BILE_RADIUS, BILE_DAMAGE, 0, True)
            elif s.area_spell[n] >= FIRST_SPELL:
                spell = s.area_spell[n] - FIRST_SPELL
                strike_ground(s, r, w, p, x, y, r.spell_radius[spell], r.spell_amount[spell], 0, True)
            s.area_spell[n] = 0
            s.areas -= 1


@kernel
def strike_ground(
    s: Any, r: Any, w: Any, p: int, x: float, y: float, radius: float, damage: float, root: int, friends: bool
) -> None:
    """Damage everything in a circle and root it for some loops; only biles damage structures."""
    structures = damage == BILE_DAMAGE
    far = radius + 3.0
    for owner in range(2):
        if owner == p and not friends:
            continue
        for by in range(max(0, int(y - far) // WIDE), min(COARSE, int(y + far) // WIDE + 1)):
            for bx in range(max(0, int(x - far) // WIDE), min(COARSE, int(x + far) // WIDE + 1)):
                j = w.coarse[owner, by * COARSE + bx]
                while j >= 0:
                    k = s.kind[j]
                    reached = np.hypot(s.x[j] - x, s.y[j] - y) - r.radius[k] <= radius
                    if reached and s.alive[j] and (structures or not r.structure[k]):
                        if root > 0:
                            s.rooted_until[j] = s.loop + root
                        wound(s, r, j, damage, p)
                    j = w.coarse_next[j]


@kernel
def wound(s: Any, r: Any, j: int, damage: float, by: int) -> None:
    """Damage of a spell: it ignores armour; shields go first."""
    if s.owner[j] < NEUTRAL and s.cheats[s.owner[j]] & CHEAT_GOD:
        return
    s.hit_at[j] = s.loop
    if s.buffs[j] & (1 << HALLUCINATED):
        damage *= 2.0
    on_shield = min(s.shield[j], damage)
    s.shield[j] -= on_shield
    on_health = min(s.health[j], damage - on_shield)
    s.health[j] -= on_health
    s.score[by, DAMAGE_DEALT_SHIELDS] += on_shield
    s.score[by, DAMAGE_DEALT_LIFE] += on_health
    if s.health[j] <= 0.0:
        destroy(s, r, j, by)
