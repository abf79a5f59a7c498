"""Research, and what a finished upgrade changes."""

# ruff: noqa: PLR0912 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.order_queue import pop_order
from understudy.games.zerg.proving_ground.kernels.production import CHRONO_RATE, quick
from understudy.games.zerg.proving_ground.spells import CONTAMINATED
from understudy.games.zerg.proving_ground.upgrade_effects import (
    ARMOR,
    BONUS,
    BONUS_AIR,
    COOLDOWN,
    DAMAGE,
    DAMAGE_AIR,
    HEALTH,
    RANGE,
    SHIELD_ARMOR,
    SPEED,
)
from understudy.games.zerg.starcraft import LOOPS_PER_DATA_SECOND


@kernel
def research(s: Any, r: Any, i: int) -> None:
    """One loop of research; a finished upgrade takes effect at once."""
    u, p = s.argument[i, 0], s.owner[i]
    if not s.powered[i] or s.buffs[i] & (1 << CONTAMINATED):
        return
    faster = (CHRONO_RATE if s.chrono_until[i] > s.loop else 1.0) * quick(s, p)
    s.order_progress[i, 0] += faster / max(1.0, r.upgrade_time[u])
    if s.order_progress[i, 0] >= 1.0:
        pop_order(s, i)
        finish_upgrade(s, r, p, u)


@kernel
def finish_upgrade(s: Any, r: Any, p: int, u: int) -> None:
    """Apply the effects of an upgrade to the player's numbers."""
    if s.upgrade[p, u]:
        return
    s.upgrade[p, u], s.pending[p, u] = 1, 0
    for n in range(r.effects):
        if r.effect_upgrade[n] != u:
            continue
        k, stat, amount = r.effect_kind[n], r.effect_stat[n], r.effect_amount[n]
        if stat == SPEED:
            s.speed[p, k] += amount / LOOPS_PER_DATA_SECOND
        elif stat == RANGE:
            s.range_bonus[p, k] += amount
        elif stat == ARMOR:
            s.armor_bonus[p, k] += amount
        elif stat in (DAMAGE, DAMAGE_AIR):
            s.damage_bonus[p, k, 1 if stat == DAMAGE_AIR else 0] += amount
        elif stat in (BONUS, BONUS_AIR):
            s.bonus_bonus[p, k, 1 if stat == BONUS_AIR else 0] += amount
        elif stat == COOLDOWN:
            s.cooldown_factor[p, k] *= amount
        elif stat == SHIELD_ARMOR:
            s.shield_armor[p, k] += amount
        elif stat == HEALTH:
            s.health_bonus[p, k] += amount
            for i in range(s.top):
                if s.alive[i] and s.owner[i] == p and s.kind[i] == k:
                    s.health[i] += amount
