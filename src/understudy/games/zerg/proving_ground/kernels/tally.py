"""Counts and sums over a player's units, for its observation."""

from __future__ import annotations

from typing import Any

from understudy.games.zerg.proving_ground.compiled import door
from understudy.games.zerg.proving_ground.kernels.tech import supply_cap, supply_used
from understudy.games.zerg.proving_ground.spells import HALLUCINATED
from understudy.games.zerg.proving_ground.state import LARVA, WARP_GATE

# Columns of the result; of each group of three: army, economy, technology.
SUPPLY_USED, SUPPLY_CAP, FOOD_WORKERS, WORKERS_IDLE, ARMY_COUNT, WARP_GATES, LARVAE = range(7)
MINERALS, VESPENE, FOOD = 7, 10, 13
COLUMNS = 16


@door
def tally(states: Any, rules: Any, p: int, sums: Any) -> None:
    """Fill one row of numbers about player p."""
    s, r = states[0], rules[0]
    sums[:] = 0.0
    sums[SUPPLY_USED], sums[SUPPLY_CAP] = supply_used(s, r, p), supply_cap(s, r, p)
    for i in range(s.top):
        if not s.alive[i] or s.owner[i] != p or s.buffs[i] & (1 << HALLUCINATED):
            continue
        k = s.kind[i]
        if r.worker[k]:
            sums[FOOD_WORKERS] += r.supply[k]
            if s.orders[i] == 0:
                sums[WORKERS_IDLE] += 1.0
        sums[ARMY_COUNT] += r.army[k]
        if k == WARP_GATE:
            sums[WARP_GATES] += 1.0
        elif k == LARVA:
            sums[LARVAE] += 1.0
        group = 1 if r.worker[k] or r.townhall[k] or r.gas[k] else 2 if r.structure[k] else 0
        sums[MINERALS + group] += r.value_minerals[k]
        sums[VESPENE + group] += r.value_vespene[k]
        sums[FOOD + group] += r.supply[k]
