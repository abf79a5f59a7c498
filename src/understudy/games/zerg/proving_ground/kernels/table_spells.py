"""Spells of the table in `spells.py`: their conditions and effects."""

# ruff: noqa: PLR0911, PLR0912 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.casting import add_area, wound
from understudy.games.zerg.proving_ground.kernels.combat import burst
from understudy.games.zerg.proving_ground.kernels.movement import go
from understudy.games.zerg.proving_ground.kernels.order_queue import pop_order, push_order, take
from understudy.games.zerg.proving_ground.kernels.paths import walkable
from understudy.games.zerg.proving_ground.kernels.tech import has_building
from understudy.games.zerg.proving_ground.kernels.units import length, remove, same, spawn
from understudy.games.zerg.proving_ground.rules import FORCE
from understudy.games.zerg.proving_ground.spells import (
    BOMB,
    BUFF,
    CHARGE,
    CLOAK,
    CONSUME,
    CONTAMINATED,
    DAMAGE,
    DRAIN,
    ENEMY,
    EXPLODE,
    FEEDBACK,
    FIELD,
    FIRST_SPELL,
    FOREVER,
    HALLUCINATED,
    JUMP,
    MOST_SPELLS,
    OVERCHARGED,
    OWN,
    PULL,
    RECALL,
    REVEALED,
    RUSH,
    SALVAGE,
    SELF,
    SHADE,
    SUMMON,
    SUPPLIED,
    SWITCH_OFF,
    SWITCH_ON,
    UNIT,
)
from understudy.games.zerg.proving_ground.state import (
    ATTACK,
    BATTERY,
    CANT_TARGET_THAT_UNIT,
    CAST,
    CHEAT_COOLDOWN,
    COOLING_DOWN,
    DEPOT_LOWERED,
    ERROR,
    MOVE,
    MUST_TARGET_UNIT,
    NEUTRAL,
    NOT_ENOUGH_ENERGY,
    NOT_SUPPORTED,
    SUCCESS,
    SUPPLY_DEPOT,
    TECH_NOT_MET,
    UNITS_VALUE,
)

CONSUMED = 50.0  # energy
SALVAGED = 0.75  # the share of a bunker's price that salvaging returns


@kernel
def begin_table_spell(
    s: Any, t: Any, r: Any, p: int, i: int, spell: int, j: int, x: float, y: float, queued: bool
) -> int:
    """Check a spell; those on the caster itself act at once, the others become an order."""
    n, k = spell - FIRST_SPELL, s.kind[i]
    if n < 0 or n >= MOST_SPELLS or not r.casts[k, n]:
        return NOT_SUPPORTED
    if r.spell_upgrade[n] and not s.upgrade[p, r.spell_upgrade[n]]:
        return TECH_NOT_MET
    if r.spell_needs[n] and not has_building(s, r, p, r.spell_needs[n]):
        return TECH_NOT_MET
    if s.energy[i] < r.spell_energy[n]:
        return NOT_ENOUGH_ENERGY
    if s.spell_at[i] > s.loop and r.spell_cooldown[n] > 0:
        return COOLING_DOWN
    if r.spell_effect[n] == EXPLODE:
        return take(s, i, CAST, spell, -1, s.x[i], s.y[i], queued)
    if r.spell_target[n] == SELF:
        spend(s, r, p, i, n)
        take_effect(s, t, r, p, i, n, i, s.x[i], s.y[i])
        return SUCCESS
    if r.spell_target[n] == UNIT:
        if j < 0:
            return MUST_TARGET_UNIT
        if not may_target(s, r, p, n, j):
            return CANT_TARGET_THAT_UNIT
        return take(s, i, CAST, spell, j, x, y, queued)
    if x < 0.0:
        return ERROR
    return take(s, i, CAST, spell, -1, x, y, queued)


@kernel
def may_target(s: Any, r: Any, p: int, n: int, j: int) -> bool:
    """Whether a spell of player p may be cast on a unit."""
    side, k = r.spell_side[n], s.kind[j]
    if s.owner[j] >= NEUTRAL or (side == OWN and s.owner[j] != p) or (side == ENEMY and s.owner[j] == p):
        return False
    if s.owner[j] != p and not s.seen[p, j]:
        return False
    if r.spell_effect[n] == BUFF and r.spell_buff[n] == OVERCHARGED:
        return bool(k == BATTERY)
    if r.spell_effect[n] == BUFF and r.spell_buff[n] == SUPPLIED:
        return bool(k in (SUPPLY_DEPOT, DEPOT_LOWERED) and s.progress[j] >= 1.0 and not s.buffs[j] & (1 << SUPPLIED))
    if r.spell_effect[n] == CONSUME or (r.spell_effect[n] == BUFF and r.spell_buff[n] == CONTAMINATED):
        return bool(r.structure[k] and s.progress[j] >= 1.0)
    if r.spell_effect[n] == CHARGE and r.energy[k] == 0.0:
        return False
    if r.spell_attributes[n] and not r.attributes[k] & r.spell_attributes[n]:
        return False
    return not (r.structure[k] and r.spell_effect[n] in (FEEDBACK, PULL))


@kernel
def spend(s: Any, r: Any, p: int, i: int, n: int) -> None:
    """Take the energy and start the cooldown."""
    s.energy[i] -= r.spell_energy[n]
    if r.spell_cooldown[n] > 0 and not s.cheats[p] & CHEAT_COOLDOWN:
        s.spell_at[i] = s.loop + r.spell_cooldown[n]


@kernel
def cast_table_spell(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """One loop of an order to cast: go into range, then cast."""
    n, p, j = s.argument[i, 0] - FIRST_SPELL, s.owner[i], s.order_target[i, 0]
    x, y = s.order_x[i, 0], s.order_y[i, 0]
    if r.spell_effect[n] == EXPLODE:
        burst(s, r, w, i)
        return
    room = r.radius[s.kind[i]]
    if r.spell_target[n] == UNIT:
        if not same(s, j, s.order_generation[i, 0]) or not may_target(s, r, p, n, j):
            pop_order(s, i)
            return
        x, y = s.x[j], s.y[j]
        room += r.radius[s.kind[j]]
    if length(x - s.x[i], y - s.y[i]) > r.spell_reach[n] + room:
        if r.speed[s.kind[i]] == 0.0:
            pop_order(s, i)
        else:
            go(s, t, r, w, i, x, y, r.spell_reach[n] + room)
        return
    if s.energy[i] >= r.spell_energy[n] and (s.spell_at[i] <= s.loop or r.spell_cooldown[n] == 0):
        spend(s, r, p, i, n)
        pop_order(s, i)
        take_effect(s, t, r, p, i, n, j if r.spell_target[n] == UNIT else i, x, y)
    else:
        pop_order(s, i)


@kernel
def take_effect(s: Any, t: Any, r: Any, p: int, i: int, n: int, j: int, x: float, y: float) -> None:
    """What a spell does; j is its target, or the caster."""
    effect = r.spell_effect[n]
    if r.spell_summons[n] and effect in (SUMMON, BOMB, SHADE):
        summon(s, r, p, i, n, x, y)
    if effect in (BUFF, DRAIN, RECALL):
        on_all(s, t, r, p, i, n, j, x, y)
    elif effect == DAMAGE:
        wound(s, r, j, r.spell_amount[n], p)
    elif effect == FEEDBACK:
        amount = 0.5 * s.energy[j]
        s.energy[j] = 0.0
        wound(s, r, j, amount, p)
    elif effect == PULL:
        s.x[j], s.y[j], s.way_goal[j] = s.x[i], s.y[i], -1
        if not r.flying[s.kind[j]] and not walkable(t, s.x[j], s.y[j]):
            s.x[j], s.y[j] = x, y
    elif effect == JUMP:
        s.x[i], s.y[i] = x, y
    elif effect == SWITCH_ON:
        give_buff(s, i, r.spell_buff[n], FOREVER)
    elif effect == SWITCH_OFF:
        s.buffs[i] &= ~(1 << r.spell_buff[n])
    elif effect == RUSH:
        give_buff(s, i, r.spell_buff[n], s.loop + r.spell_loops[n])
        push_order(s, i, ATTACK, 0, j, x, y)
    elif effect == CONSUME:
        s.energy[i] = min(r.energy[s.kind[i]], s.energy[i] + CONSUMED)
        wound(s, r, j, r.spell_amount[n], p)
    elif effect == FIELD:
        field = spawn(s, r, r.spell_summons[n], NEUTRAL, x, y, 1.0)
        if field >= 0:
            add_area(s, FORCE, field, x, y, r.spell_loops[n])
    elif effect == CHARGE:
        s.energy[j] = min(r.energy[s.kind[j]], s.energy[j] + r.spell_amount[n])
    elif effect == SALVAGE:
        s.minerals[p] += SALVAGED * r.value_minerals[s.kind[i]]
        remove(s, r, i)
    elif effect == BOMB:
        add_area(s, FIRST_SPELL + n, p, x, y, r.spell_loops[n])


@kernel
def summon(s: Any, r: Any, p: int, i: int, n: int, x: float, y: float) -> None:
    """Put a unit with a limited life into the game. A shade starts at its adept, which follows it at the end."""
    shade = r.spell_effect[n] == SHADE
    for number in range(max(1, int(r.spell_amount[n])) if r.spell_effect[n] == SUMMON else 1):
        new = spawn(s, r, r.spell_summons[n], p, s.x[i] if shade else x + number, s.y[i] if shade else y, 1.0)
        if new < 0:
            return
        s.dies_at[new] = s.loop + r.spell_loops[n]
        if r.spell_effect[n] == SUMMON and r.spell_buff[n] == HALLUCINATED:
            give_buff(s, new, HALLUCINATED, FOREVER)
            s.score[p, UNITS_VALUE] -= r.value_minerals[s.kind[new]] + r.value_vespene[s.kind[new]]
    if shade:
        s.resource[new], s.target_generation[new] = i, s.generation[i]
        s.heading_x[new], s.heading_y[new] = x - s.x[i], y - s.y[i]
        push_order(s, new, MOVE, 0, -1, x, y)


@kernel
def on_all(s: Any, t: Any, r: Any, p: int, i: int, n: int, target: int, x: float, y: float) -> None:
    """Buff, drain or recall one unit, or all on the spell's side within its radius."""
    effect, radius = r.spell_effect[n], r.spell_radius[n]
    if radius == 0.0:
        give_buff(s, target, r.spell_buff[n], s.loop + r.spell_loops[n])
        return
    for j in range(s.top):
        k = s.kind[j]
        if not s.alive[j] or s.owner[j] >= NEUTRAL or s.carrier[j]:
            continue
        if r.structure[k] and r.spell_buff[n] != REVEALED:
            continue
        if (s.owner[j] == p) != (r.spell_side[n] == OWN):
            continue
        if np.hypot(s.x[j] - x, s.y[j] - y) - r.radius[k] > radius:
            continue
        if effect == BUFF:
            give_buff(s, j, r.spell_buff[n], s.loop + r.spell_loops[n])
        elif effect == DRAIN:
            s.shield[j] = max(0.0, s.shield[j] - r.spell_amount[n])
            s.energy[j] = 0.0
            s.buffs[j] &= ~(1 << CLOAK)
        elif r.speed[k] > 0.0:
            s.x[j], s.y[j], s.way_goal[j] = s.x[i] + 4.0, s.y[i] + 4.0, -1


@kernel
def give_buff(s: Any, j: int, buff: int, until: int) -> None:
    """Put a buff on a unit."""
    s.buffs[j] |= 1 << buff
    s.buff_until[j, buff] = until


@kernel
def follow_shade(s: Any, i: int) -> None:
    """A shade ends: its adept takes its place."""
    j = s.resource[i]
    if same(s, j, s.target_generation[i]):
        s.x[j], s.y[j], s.way_goal[j] = s.x[i], s.y[i], -1
