"""What a player may make: required buildings, and supply."""

from __future__ import annotations

from typing import Any

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.spells import HALLUCINATED, SUPPLIED
from understudy.games.zerg.proving_ground.state import CHEAT_FOOD, CHEAT_TECH, EGG, MAKE, ZERGLING

NO_SUPPLY_LIMIT, MOST_SUPPLY = 10000.0, 200.0
EXTRA_SUPPLY = 8.0  # of a depot with extra supplies


@kernel
def has_building(s: Any, r: Any, p: int, kind: int) -> bool:
    """Whether the player has this building, or one that counts as it, finished."""
    for i in range(s.top):
        if s.alive[i] and s.owner[i] == p and s.progress[i] >= 1.0 and r.counts_as[s.kind[i], kind]:
            return True
    return False


@kernel
def tech_met(s: Any, r: Any, p: int, kind: int) -> bool:
    """Whether the player has all buildings that this kind requires."""
    if s.cheats[p] & CHEAT_TECH:
        return True
    for q in range(2):
        need = r.needs[kind, q]
        if need and not has_building(s, r, p, need):
            return False
    return True


@kernel
def supply_used(s: Any, r: Any, p: int) -> float:
    """Supply of all units, those in eggs and those being trained."""
    used = 0.0
    for i in range(s.top):
        if not s.alive[i] or s.owner[i] != p or s.buffs[i] & (1 << HALLUCINATED):
            continue
        k = s.kind[i]
        if s.becomes[i]:
            used += r.supply[s.becomes[i]] * (2.0 if s.becomes[i] == ZERGLING and k == EGG else 1.0)
        else:
            used += r.supply[k]
        for q in range(s.orders[i]):
            if s.order[i, q] == MAKE and s.order_progress[i, q] > 0.0:
                used += r.supply[s.argument[i, q]]
    return used


@kernel
def supply_cap(s: Any, r: Any, p: int) -> float:
    """Supply that standing structures and overlords provide, at most 200; no limit with the debug switch."""
    if s.cheats[p] & CHEAT_FOOD:
        return NO_SUPPLY_LIMIT
    cap = 0.0
    for i in range(s.top):
        if s.alive[i] and s.owner[i] == p and s.progress[i] >= 1.0:
            cap += r.provides[s.kind[i]]
            if s.buffs[i] & (1 << SUPPLIED):
                cap += EXTRA_SUPPLY
    return min(cap, MOST_SUPPLY)
