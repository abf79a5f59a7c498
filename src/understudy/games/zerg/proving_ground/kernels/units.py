"""Creating and removing units."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.order_queue import clear_orders, give_back
from understudy.games.zerg.proving_ground.map_parts import SIZE
from understudy.games.zerg.proving_ground.spells import HALLUCINATED
from understudy.games.zerg.proving_ground.state import (
    BUNKER,
    DEAD_RING,
    EGG,
    GHOSTS,
    KILLED_STRUCTURES,
    KILLED_UNITS,
    LARVA,
    LOST_MINERALS_ARMY,
    LOST_VESPENE_ARMY,
    NEUTRAL,
    NYDUS_NETWORK,
    NYDUS_WORM,
    SLOTS,
    STRUCTURES_VALUE,
    UNITS_VALUE,
)

TINY = 1e-9  # less than any length that matters; keeps a division by a length finite
EDGE = 0.01  # cells: keeps rounding errors from adding a cell to a footprint
XORSHIFT, MANTISSA = (13, 7, 17), 53  # of the random numbers: shifts, bits of a double
FIRST_SHARE = 0.1  # of health and shields when construction begins
STRUCTURE_ENERGY, UNIT_ENERGY = 50.0, 25.0  # at first
LONG_AGO = -9999  # stands for the last hit of a unit that was never hit
TUMOR_CREEP = 10.0  # the creep radius that only tumours have


@kernel
def random(s: Any) -> float:
    """The next number in [0, 1) of the game's own generator (xorshift64)."""
    z = np.uint64(s.random)
    z ^= z << np.uint64(XORSHIFT[0])
    z ^= z >> np.uint64(XORSHIFT[1])
    z ^= z << np.uint64(XORSHIFT[2])
    s.random = z
    return float(z >> np.uint64(64 - MANTISSA)) / 2.0**MANTISSA


@kernel
def length(dx: float, dy: float) -> float:
    """Length of a vector."""
    return np.sqrt(dx * dx + dy * dy)


@kernel
def stamp(s: Any, r: Any, i: int, value: int) -> None:
    """Mark the cells under a structure or resource."""
    k = s.kind[i]
    wide = r.footprint[k]
    high = wide
    if r.minerals_here[k]:
        wide, high = 2, 1
    elif r.geyser[k] or r.gas[k]:
        wide, high = 3, 3
    x0, y0 = int(np.floor(s.x[i] - wide / 2 + EDGE)), int(np.floor(s.y[i] - high / 2 + EDGE))
    for y in range(max(0, y0), min(SIZE, y0 + high)):
        for x in range(max(0, x0), min(SIZE, x0 + wide)):
            s.occupied[y, x] = value


@kernel
def spawn(s: Any, r: Any, kind: int, owner: int, x: float, y: float, progress: float) -> int:
    """Put a unit into the first free slot; -1 if there is none."""
    i = 0
    while i < SLOTS and s.alive[i]:
        i += 1
    if i == SLOTS:
        return -1
    s.top = max(s.top, i + 1)
    s.alive[i], s.kind[i], s.owner[i] = 1, kind, owner
    s.generation[i] += 1
    s.x[i], s.y[i], s.heading_x[i], s.heading_y[i] = x, y, 0.0, -1.0
    extra = s.health_bonus[owner, kind] if owner < NEUTRAL else 0.0
    share = 1.0 if progress >= 1.0 else FIRST_SHARE
    s.health[i], s.shield[i] = (r.health[kind] + extra) * share, r.shields[kind] * share
    s.energy[i] = min(STRUCTURE_ENERGY if r.structure[kind] else UNIT_ENERGY if kind != EGG else 0.0, r.energy[kind])
    s.progress[i] = progress
    s.cooldown[i], s.carry_minerals[i], s.carry_vespene[i], s.contents[i] = 0.0, 0.0, 0.0, 0.0
    s.resource[i], s.host[i], s.rally_target[i] = -1, -1, -1
    s.rally_x[i], s.rally_y[i] = -1.0, -1.0
    s.busy_until[i], s.assigned[i], s.larva_timer[i], s.injects[i] = 0, 0, 0.0, 0
    s.inject_until[i], s.chrono_until[i], s.stim_until[i], s.dies_at[i], s.hit_at[i] = 0, 0, 0, 0, LONG_AGO
    s.creep[i], s.powered[i], s.spent[i], s.becomes[i], s.was[i] = 0.0, 1, 0, 0, 0
    s.seen[0, i], s.seen[1, i], s.known[0, i], s.known[1, i] = 0, 0, 0, 0
    s.way_until[i] = 0
    s.carrier[i], s.loaded[i], s.spell_at[i], s.rooted_until[i] = 0, 0, 0, 0
    s.reserved_minerals[i], s.reserved_vespene[i], s.buffs[i] = 0.0, 0.0, 0
    clear_orders(s, i)
    if r.structure[kind] or r.minerals_here[kind] or r.geyser[kind]:
        stamp(s, r, i, i + 1)
    if owner < NEUTRAL:
        s.seen[owner, i] = 1
        s.score[owner, STRUCTURES_VALUE if r.structure[kind] else UNITS_VALUE] += (
            r.value_minerals[kind] + r.value_vespene[kind]
        )
    return i


@kernel
def same(s: Any, i: int, generation: int) -> bool:
    """Whether the slot still holds the same unit."""
    return i >= 0 and s.alive[i] == 1 and s.generation[i] == generation


@kernel
def category(r: Any, kind: int) -> int:
    """0 army, 1 economy, 2 technology: as the score divides values."""
    if r.worker[kind] or r.townhall[kind] or r.gas[kind] or kind == LARVA or r.provides[kind] > 0:
        return 1
    return 2 if r.structure[kind] else 0


@kernel
def remember(s: Any, p: int, i: int) -> None:
    """Let a player remember a structure that was destroyed out of sight."""
    n = s.ghosts[p]
    if n == GHOSTS:
        return
    s.ghost_slot[p, n], s.ghost_generation[p, n], s.ghost_kind[p, n], s.ghost_owner[p, n] = (
        i,
        s.generation[i],
        s.kind[i],
        s.owner[i],
    )
    s.ghost_x[p, n], s.ghost_y[p, n] = s.x[i], s.y[i]
    s.ghosts[p] = n + 1


@kernel
def report_death(s: Any, i: int) -> None:
    """Report a removed unit to its owner, and to the other player if it was in sight."""
    at = s.deaths % DEAD_RING
    s.dead_slot[at], s.dead_generation[at] = i, s.generation[i]
    for p in range(2):
        s.dead_known[p, at] = s.owner[i] == p or s.seen[p, i]
    s.deaths += 1


@kernel
def remove(s: Any, r: Any, i: int) -> None:
    """Remove a unit from the game without counting a loss."""
    k = s.kind[i]
    s.alive[i] = 0
    if s.reserved_minerals[i] > 0.0 or s.reserved_vespene[i] > 0.0:
        give_back(s, i, s.reserved_minerals[i], s.reserved_vespene[i])
    if r.structure[k] or r.minerals_here[k] or r.geyser[k]:
        stamp(s, r, i, 0)
        for p in range(2):
            if s.known[p, i] and not s.seen[p, i] and s.owner[i] != p:
                remember(s, p, i)
    report_death(s, i)
    if r.townhall[k]:
        for j in range(s.top):
            if s.alive[j] and s.kind[j] == LARVA and s.host[j] == i:
                vanish(s, j)
    if s.host[i] >= 0 and k != LARVA and s.host[s.host[i]] == i:
        other = s.host[i]
        s.host[other] = -1
        if s.alive[other] and s.progress[other] < 1.0:  # an addon is not completed without its building
            stamp(s, r, other, 0)
            vanish(s, other)
    if s.loaded[i] > 0:
        lose_cargo(s, r, i)
    if s.carrier[i] > 0:
        s.loaded[s.carrier[i] - 1] -= r.cargo[k]


@kernel
def lose_cargo(s: Any, r: Any, i: int) -> None:
    """A transport was destroyed: units in a bunker get out, those in a nydus stay in the network, all others die."""
    other = another_network(s, i) if s.kind[i] in (NYDUS_NETWORK, NYDUS_WORM) else -1
    for j in range(s.top):
        if s.alive[j] and s.carrier[j] == i + 1:
            s.carrier[j] = other + 1
            if other >= 0:
                s.loaded[other] += r.cargo[s.kind[j]]
                continue
            if s.kind[i] == BUNKER:
                s.x[j], s.y[j] = s.x[i], s.y[i]
            else:
                count_loss(s, r, j, NEUTRAL)
                vanish(s, j)
    s.loaded[i] = 0


@kernel
def another_network(s: Any, i: int) -> int:
    """A finished nydus network of the same player; -1 for none."""
    for j in range(s.top):
        if j != i and s.alive[j] and s.owner[j] == s.owner[i] and s.kind[j] == NYDUS_NETWORK and s.progress[j] >= 1.0:
            return j
    return -1


@kernel
def vanish(s: Any, i: int) -> None:
    """Remove a unit together with another: larvae with their hatchery, passengers with their transport."""
    s.alive[i] = 0
    report_death(s, i)


@kernel
def count_loss(s: Any, r: Any, i: int, by: int) -> None:
    """Add a lost unit to the scores of its owner and its killer (2: nobody)."""
    k, p = s.kind[i], s.owner[i]
    if p < NEUTRAL and not s.buffs[i] & (1 << HALLUCINATED):
        value = s.becomes[i] if s.becomes[i] else k
        group = category(r, value)
        s.score[p, LOST_MINERALS_ARMY + group] += r.value_minerals[value]
        s.score[p, LOST_VESPENE_ARMY + group] += r.value_vespene[value]
        if by == 1 - p:
            row = KILLED_STRUCTURES if r.structure[k] else KILLED_UNITS
            s.active_at = s.loop if r.structure[k] else s.active_at
            s.score[by, row] += r.value_minerals[value] + r.value_vespene[value]


@kernel
def destroy(s: Any, r: Any, i: int, by: int) -> None:
    """Kill a unit and count it for its killer (2: nobody)."""
    count_loss(s, r, i, by)
    remove(s, r, i)
