"""Healing, repairs and shields: medivacs, shield batteries, queens, SCVs."""

from __future__ import annotations

from typing import Any

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.casting import INJECTION, TRANSFUSION
from understudy.games.zerg.proving_ground.kernels.combat import gap
from understudy.games.zerg.proving_ground.kernels.economy import INJECT_LOOPS
from understudy.games.zerg.proving_ground.kernels.movement import go
from understudy.games.zerg.proving_ground.kernels.order_queue import pop_order
from understudy.games.zerg.proving_ground.kernels.transports import BIOLOGICAL
from understudy.games.zerg.proving_ground.kernels.units import same
from understudy.games.zerg.proving_ground.spells import OVERCHARGED
from understudy.games.zerg.proving_ground.state import BATTERY, HEALED, INJECT, MEDIVAC, REPAIR, TRANSFUSE

BATTERY_REACH, BATTERY_RATE = 6.0, 1.6  # shields a loop
HEAL_EVERY = 8  # loops between two looks of a medivac for somebody to heal
HEAL_WITHIN, HEAL_REACH, HEALING, HEALTH_PER_ENERGY = 8.0, 4.0, 0.5625, 3.0  # medivacs: distances, health per loop
TRANSFUSE_REACH, TOUCH_REACH, TRANSFUSED = 7.0, 0.5, 125.0


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
