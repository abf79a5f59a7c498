"""Weapons: target choice, range, damage."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.movement import go
from understudy.games.zerg.proving_ground.kernels.units import destroy, remove, same, spawn
from understudy.games.zerg.proving_ground.spells import (
    ALIGNED,
    ARMOR_DOWN,
    BEAM,
    BLINDED,
    GUARDED,
    HALLUCINATED,
    HOLDS_FIRE,
)
from understudy.games.zerg.proving_ground.state import (
    BANELING,
    BROOD_LORD,
    BROODLING,
    CHEAT_GOD,
    COARSE,
    COLOSSUS,
    DAMAGE_DEALT_LIFE,
    DAMAGE_DEALT_SHIELDS,
    LIBERATOR_AG,
    NEUTRAL,
    ORACLE,
    VOID_RAY,
    WIDE,
)

ACQUIRE = 5.5  # a unit reacts to enemies within this distance, or a little beyond its range
LEAST_DAMAGE = 0.5
TARGET_EVERY, ENEMY_EVERY = 64, 8  # loops between two looks for a better target, and for a first one
NO_REACH = -99.0  # of a weapon that a unit does not have
STAND = 8.0  # loops that a unit stands still after a shot
ROUNDING = 1e-6  # more than the rounding error of a squared distance
ARMOR_LOST, GUARD, RANGED = 2.0, 2.0, 2.0  # anti-armour missile; guardian shield, against weapons of this range
ALIGNMENT, ARMORED, BLIND_REACH = 6.0, 4, 1.0
BUILDING_BONUS = 64.0  # banelings: 80 against structures
ZONE_RADIUS = 5.0  # of the only area that a liberator in defender mode hits
STIM_RATE, BROODLING_LOOPS, REACH_MARGIN = 1.5, 86, 0.05


@kernel
def force_of(s: Any, r: Any, i: int, j: int, weapon: int) -> float:
    """Damage of one hit of a weapon of i on j, before armour."""
    k, p, other = s.kind[i], s.owner[i], s.kind[j]
    damage = r.damage[k, weapon] + s.damage_bonus[p, k, weapon]
    if r.bonus_mask[k, weapon] & r.attributes[other]:
        damage += r.bonus[k, weapon] + s.bonus_bonus[p, k, weapon]
    if k == BANELING and r.structure[other]:
        damage += BUILDING_BONUS
    if k == VOID_RAY and s.buffs[i] & (1 << ALIGNED) and r.attributes[other] & ARMORED:
        damage += ALIGNMENT
    return damage


@kernel
def weapon_for(s: Any, r: Any, i: int, j: int) -> int:
    """The weapon that i uses against j: 0 against ground, 1 against air, -1 for none. Both can hit a colossus."""
    k, weapon = s.kind[i], r.flying[s.kind[j]]
    if (k == ORACLE and not s.buffs[i] & (1 << BEAM)) or (k == LIBERATOR_AG and not in_zone(s, r, i, j)):
        return -1
    if s.kind[j] == COLOSSUS and r.damage[k, 1] > 0.0:
        ground = force_of(s, r, i, j, 0) * r.attacks[k, 0]
        weapon = 1 if r.damage[k, 0] == 0.0 or force_of(s, r, i, j, 1) * r.attacks[k, 1] > ground else 0
    return weapon if r.damage[k, weapon] > 0.0 else -1


@kernel
def in_zone(s: Any, r: Any, i: int, j: int) -> bool:
    """Whether a liberator's zone holds a unit; structures are not hit."""
    k = s.kind[j]
    x, y = (s.rally_x[i], s.rally_y[i]) if s.rally_x[i] >= 0.0 else (s.x[i], s.y[i])
    return bool(not r.structure[k] and np.hypot(s.x[j] - x, s.y[j] - y) - r.radius[k] <= ZONE_RADIUS)


@kernel
def reach_of(s: Any, r: Any, i: int, j: int) -> float:
    """The range of i against j, edge to edge; negative if it cannot attack it."""
    weapon = weapon_for(s, r, i, j)
    if weapon < 0:
        return -1.0
    reach = r.reach[s.kind[i], weapon] + s.range_bonus[s.owner[i], s.kind[i]]
    if s.kind[i] == LIBERATOR_AG:
        reach += ZONE_RADIUS
    return min(reach, BLIND_REACH) if s.buffs[i] & (1 << BLINDED) else reach


@kernel
def gap(s: Any, r: Any, i: int, j: int) -> float:
    """Distance between the edges of two units."""
    return np.sqrt((s.x[i] - s.x[j]) ** 2 + (s.y[i] - s.y[j]) ** 2) - r.radius[s.kind[i]] - r.radius[s.kind[j]]


@kernel
def acquire(s: Any, r: Any, w: Any, i: int, beyond: float) -> int:
    """The best visible target within range and a little beyond; -1 for none."""
    k, p = s.kind[i], s.owner[i]
    bonus = s.range_bonus[p, k]
    ground = r.reach[k, 0] + bonus if r.damage[k, 0] > 0.0 else NO_REACH
    zone = k == LIBERATOR_AG
    if zone:
        ground += ZONE_RADIUS
    air = r.reach[k, 1] + bonus if r.damage[k, 1] > 0.0 else NO_REACH
    if beyond > 0.0:
        ground = max(ground + 1.0, beyond) if ground >= 0.0 else ground
        air = max(air + 1.0, beyond) if air >= 0.0 else air
    reach = max(ground, air) + r.radius[k]
    far = reach + 1.0
    x, y = s.x[i], s.y[i]
    best, found = np.inf, -1
    limit = (reach + r.largest) ** 2 + ROUNDING  # no unit farther away can be better, whatever its kind
    for by in range(max(0, int(y - far) // WIDE), min(COARSE, int(y + far) // WIDE + 1)):
        for bx in range(max(0, int(x - far) // WIDE), min(COARSE, int(x + far) // WIDE + 1)):
            j = w.coarse[1 - p, by * COARSE + bx]
            while j >= 0:
                dx, dy = x - s.x[j], y - s.y[j]
                d2 = dx * dx + dy * dy
                if d2 <= limit:
                    other = s.kind[j]
                    room = air if r.flying[other] or (other == COLOSSUS and air > ground) else ground
                    room += r.radius[k] + r.radius[other]
                    if d2 <= room * room and room > 0.0 and r.put_off[other] < best and s.alive[j] and s.seen[p, j]:
                        if zone and not in_zone(s, r, i, j):
                            j = w.coarse_next[j]
                            continue
                        score = np.sqrt(d2) - r.radius[other] + r.put_off[other]
                        if score < best:
                            best, found = score, j
                            limit = min(limit, max(0.0, best + r.largest_lead) ** 2 + ROUNDING)
                j = w.coarse_next[j]
    return found


@kernel
def hurt(s: Any, r: Any, j: int, damage: float, attacks: float, by: int, ranged: bool) -> None:
    """Damage after armour, shields first."""
    k, p = s.kind[j], s.owner[j]
    s.hit_at[j] = s.loop
    if p < NEUTRAL and s.cheats[p] & CHEAT_GOD:
        return
    extra = 0.0
    if s.buffs[j]:
        damage *= 2.0 if s.buffs[j] & (1 << HALLUCINATED) else 1.0
        extra -= ARMOR_LOST if s.buffs[j] & (1 << ARMOR_DOWN) else 0.0
        extra += GUARD if ranged and s.buffs[j] & (1 << GUARDED) else 0.0
    left = attacks
    while left > 0.0 and s.alive[j]:
        left -= 1.0
        force = damage
        if s.shield[j] > 0.0:
            on_shield = max(LEAST_DAMAGE, force - extra - (s.shield_armor[p, k] if p < NEUTRAL else 0.0))
            taken = min(s.shield[j], on_shield)
            s.shield[j] -= taken
            s.score[by, DAMAGE_DEALT_SHIELDS] += taken
            force = on_shield - taken
            if force <= 0.0:
                continue
        armor = r.armor[k] + extra + (s.armor_bonus[p, k] if p < NEUTRAL else 0.0)
        taken = min(max(LEAST_DAMAGE, force - armor), s.health[j])
        s.health[j] -= taken
        s.score[by, DAMAGE_DEALT_LIFE] += taken
        if s.health[j] <= 0.0:
            destroy(s, r, j, by)


@kernel
def strike(s: Any, r: Any, w: Any, i: int, j: int) -> None:
    """One attack of i on j, with splash damage."""
    k, p, flying, weapon = s.kind[i], s.owner[i], r.flying[s.kind[j]], weapon_for(s, r, i, j)
    radius = r.splash[k]
    x, y = s.x[j], s.y[j]
    s.cooldown[i] = r.cooldown[k, weapon] * s.cooldown_factor[p, k]
    if s.stim_until[i] > s.loop:
        s.cooldown[i] /= STIM_RATE
    s.busy_until[i] = s.loop + int(min(s.cooldown[i], STAND))
    shot(s, r, i, j, weapon, 1.0)
    if radius > 0.0:
        splash(s, r, w, i, j, x, y, flying, weapon)
    if k == BANELING:
        remove(s, r, i)
    elif k == BROOD_LORD:
        brood = spawn(s, r, BROODLING, p, x, y, 1.0)
        if brood >= 0:
            s.dies_at[brood] = s.loop + BROODLING_LOOPS


@kernel
def splash(s: Any, r: Any, w: Any, i: int, j: int, x: float, y: float, flying: int, weapon: int) -> None:
    """The damage of an attack of i on the neighbours of its target j."""
    k, p = s.kind[i], s.owner[i]
    for by in range(max(0, int(y - 4) // WIDE), min(COARSE, int(y + 4) // WIDE + 1)):
        for bx in range(max(0, int(x - 4) // WIDE), min(COARSE, int(x + 4) // WIDE + 1)):
            other = w.coarse[1 - p, by * COARSE + bx]
            while other >= 0:
                if other != j and s.alive[other] and r.flying[s.kind[other]] == flying:
                    d = np.sqrt((s.x[other] - x) ** 2 + (s.y[other] - y) ** 2) - r.radius[s.kind[other]]
                    if d <= r.splash[k]:
                        shot(s, r, i, other, weapon, 1.0 if k == BANELING else 0.5)
                other = w.coarse_next[other]


@kernel
def burst(s: Any, r: Any, w: Any, i: int) -> None:
    """A baneling explodes where it is, also while burrowed."""
    s.kind[i] = BANELING
    splash(s, r, w, i, -1, s.x[i], s.y[i], 0, 0)
    remove(s, r, i)


@kernel
def shot(s: Any, r: Any, i: int, j: int, weapon: int, share: float) -> None:
    """The damage of one weapon on one unit."""
    k = s.kind[i]
    if s.buffs[i] & (1 << HALLUCINATED):
        return
    hurt(s, r, j, force_of(s, r, i, j, weapon) * share, r.attacks[k, weapon], s.owner[i], r.reach[k, weapon] >= RANGED)


@kernel
def engage(s: Any, t: Any, r: Any, w: Any, i: int, j: int, chase: bool) -> bool:
    """Attack j, or walk into range; False if i can do neither."""
    reach = reach_of(s, r, i, j)
    if reach < 0.0:
        return False
    if gap(s, r, i, j) <= reach + REACH_MARGIN:
        s.moving[i] = 0
        if s.cooldown[i] <= 0.0:
            dx, dy = s.x[j] - s.x[i], s.y[j] - s.y[i]
            s.heading_x[i], s.heading_y[i] = dx, dy
            strike(s, r, w, i, j)
        else:
            s.busy_until[i] = s.loop + int(min(s.cooldown[i], 4.0))
        return True
    if chase and r.speed[s.kind[i]] > 0.0:
        go(s, t, r, w, i, s.x[j], s.y[j], reach + r.radius[s.kind[j]])
        return True
    return False


@kernel
def defend(s: Any, t: Any, r: Any, w: Any, i: int, beyond: float, chase: bool) -> bool:
    """Fight enemies nearby, searched every few loops; True while there is one."""
    k = s.kind[i]
    if (r.damage[k, 0] == 0.0 and r.damage[k, 1] == 0.0) or s.buffs[i] & (1 << HOLDS_FIRE):
        return False
    if k == ORACLE and not s.buffs[i] & (1 << BEAM):
        return False
    j = s.target[i]
    valid = j >= 0 and same(s, j, s.target_generation[i]) and s.seen[s.owner[i], j] == 1
    if valid and (s.loop + i) % TARGET_EVERY and engage(s, t, r, w, i, j, chase):
        return True
    if not valid and (s.loop + i) % ENEMY_EVERY:
        s.target[i] = -1
        return False
    j = acquire(s, r, w, i, beyond)
    s.target[i] = j
    if j < 0:
        return False
    s.target_generation[i] = s.generation[j]
    return engage(s, t, r, w, i, j, chase)
