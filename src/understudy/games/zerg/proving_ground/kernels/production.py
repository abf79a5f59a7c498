"""Building, training, hatching, morphing, research."""

# ruff: noqa: PLR0912, SIM102 - kernels pass plain numbers and leave early

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import kernel
from understudy.games.zerg.proving_ground.kernels.movement import go
from understudy.games.zerg.proving_ground.kernels.paths import nearest_walkable, walkable
from understudy.games.zerg.proving_ground.kernels.placement import can_place, geyser_at, snap
from understudy.games.zerg.proving_ground.kernels.units import (
    clear_orders,
    fail,
    give_back,
    length,
    pop_order,
    push_order,
    remove,
    same,
    spawn,
    stamp,
    supply_cap,
    supply_used,
)
from understudy.games.zerg.proving_ground.map_parts import SIZE
from understudy.games.zerg.proving_ground.state import (
    ARCHON,
    BUILD_AT,
    CHEAT_FAST,
    CHEAT_FREE,
    DRONE,
    EGG,
    FAST,
    GATHER,
    HATCHERY,
    MAKE,
    MERGE,
    MOVE,
    NOT_ENOUGH_ENERGY,
    NOT_ENOUGH_MINERALS,
    NOT_ENOUGH_VESPENE,
    QUEEN,
    SCV,
    SPENT_MINERALS,
    SPENT_VESPENE,
    SUCCESS,
    TUMOR,
    TUMOR_BURROWED,
    TUMOR_QUEEN,
    ZERGLING,
)
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

WARP_LOOPS, ARCHON_LOOPS, MERGE_WITHIN = 112.0, 192.0, 1.2
CANT_ALLOCATE = 37  # the game's ActionResult CouldntAllocateUnit
TUMOR_ENERGY = 25.0
ADDON_X, ADDON_Y = 2.5, -0.5
DRONE_SITE, QUEEN_SITE, GAS_SITE, BUILDER_GAP = 0.6, 1.5, 2.6, 1.2  # how near a builder goes to its site
BUILT_SHARE = 0.9  # of health and shields that construction adds; it begins with the rest
FIRST_LARVA = 240.0  # the timer of a new hatchery: its first larva comes soon
EXIT_GAP, TWIN_GAP = 0.1, 0.3  # cells between a new unit and its building, and between a pair of zerglings
CHRONO_RATE, MORPH_ENERGY = 1.5, 50.0
SOUTH = 4.7123889804  # radians: the side of a building where units leave it without a rally point


@kernel
def pay(s: Any, p: int, minerals: float, vespene: float) -> int:
    """Take the price from the player's bank, or return what is missing."""
    if s.cheats[p] & CHEAT_FREE:
        return SUCCESS
    if s.minerals[p] < minerals:
        return NOT_ENOUGH_MINERALS
    if s.vespene[p] < vespene:
        return NOT_ENOUGH_VESPENE
    s.minerals[p] -= minerals
    s.vespene[p] -= vespene
    s.score[p, SPENT_MINERALS] += minerals
    s.score[p, SPENT_VESPENE] += vespene
    return SUCCESS


@kernel
def start_building(s: Any, t: Any, r: Any, i: int, kind: int, x: float, y: float) -> int:
    """The builder is there: lay the foundation. The new structure's slot, or a negative ActionResult."""
    p = s.owner[i]
    allowed = can_place(s, t, r, p, kind, x, y, True)
    if allowed != SUCCESS:
        return -allowed
    tumor = kind in (TUMOR, TUMOR_QUEEN)
    if tumor and s.kind[i] == QUEEN and s.energy[i] < TUMOR_ENERGY:
        return -NOT_ENOUGH_ENERGY
    geyser = geyser_at(s, r, x, y) if r.gas[kind] else -1
    b = spawn(s, r, kind, p, snap(r, kind, x), snap(r, kind, y), 0.0)
    if b < 0:
        return -CANT_ALLOCATE
    if geyser >= 0:
        s.x[b], s.y[b] = s.x[geyser], s.y[geyser]
        s.resource[b], s.contents[b] = geyser, s.contents[geyser]
    if tumor and s.kind[i] == QUEEN:
        s.energy[i] -= TUMOR_ENERGY
    elif tumor:
        s.spent[i] = 1
    return b


@kernel
def build(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """One loop of a build order: walk there, start, and (Terran) stay until it is finished."""
    kind, x, y = s.argument[i, 0], s.order_x[i, 0], s.order_y[i, 0]
    if s.phase[i] == 1:
        stay_and_build(s, r, i)
        return
    j = s.order_target[i, 0]
    resumed = j >= 0 and s.owner[j] == s.owner[i]  # an SCV goes on with what another one began
    if resumed and (not same(s, j, s.order_generation[i, 0]) or s.progress[j] >= 1.0):
        pop_order(s, i)
        return
    near = DRONE_SITE if s.kind[i] == DRONE else r.footprint[kind] / 2.0 + BUILDER_GAP
    if s.kind[i] == QUEEN:
        near = QUEEN_SITE
    if r.gas[kind]:
        near = GAS_SITE
    if r.speed[s.kind[i]] > 0.0 and length(s.x[i] - x, s.y[i] - y) > near:
        go(s, t, r, w, i, x, y, near)
        return
    if resumed:
        s.phase[i], s.moving[i] = 1, 0
        return
    b = start_building(s, t, r, i, kind, x, y)
    minerals, vespene = r.minerals[s.kind[i], kind], r.vespene[s.kind[i], kind]
    if b < 0:
        give_back(s, i, minerals, vespene)
        fail(s, i, BUILD_AT, kind, -b)
        pop_order(s, i)
        return
    s.reserved_minerals[i] -= minerals
    s.reserved_vespene[i] -= vespene
    if s.kind[i] == DRONE:
        clear_orders(s, i)
        s.alive[i] = 0
    elif s.kind[i] == SCV:
        s.phase[i], s.moving[i] = 1, 0
        s.order_target[i, 0], s.order_generation[i, 0] = b, s.generation[b]
    else:
        pop_order(s, i)


@kernel
def stay_and_build(s: Any, r: Any, i: int) -> None:
    """An SCV at its building site."""
    b = s.order_target[i, 0]
    if not same(s, b, s.order_generation[i, 0]) or s.progress[b] >= 1.0:
        pop_order(s, i)
        return
    raise_building(s, r, b, quick(s, s.owner[i]) / r.time[s.kind[b]])
    if s.progress[b] >= 1.0:
        gas = bool(r.gas[s.kind[b]])
        pop_order(s, i)
        if gas and s.orders[i] == 0:
            push_order(s, i, GATHER, 0, b, s.x[b], s.y[b])


@kernel
def raise_building(s: Any, r: Any, i: int, part: float) -> None:
    """One loop of construction: progress and health."""
    k = s.kind[i]
    s.progress[i] = min(1.0, s.progress[i] + part)
    if s.progress[i] > 1.0 - 1e-9:
        s.progress[i] = 1.0
    s.health[i] = min(r.health[k], s.health[i] + BUILT_SHARE * r.health[k] * part)
    s.shield[i] = min(r.shields[k], s.shield[i] + BUILT_SHARE * r.shields[k] * part)
    if s.progress[i] < 1.0:
        return
    if k in (TUMOR, TUMOR_QUEEN):
        s.kind[i] = TUMOR_BURROWED
    elif k == HATCHERY:
        s.larva_timer[i] = FIRST_LARVA


@kernel
def quick(s: Any, p: int) -> float:
    """How many times as fast a player makes things: 1, or more with the debug switch."""
    return FAST if s.cheats[p] & CHEAT_FAST else 1.0


@kernel
def merge(s: Any, t: Any, r: Any, w: Any, i: int) -> None:
    """One loop of a templar that looks for another one to become an archon with."""
    j, best = -1, 1e18
    for n in range(s.top):
        if n != i and s.alive[n] and s.owner[n] == s.owner[i] and s.orders[n] > 0 and s.order[n, 0] == MERGE:
            d = (s.x[n] - s.x[i]) ** 2 + (s.y[n] - s.y[i]) ** 2
            if d < best:
                best, j = d, n
    if j < 0:
        return
    if best > MERGE_WITHIN * MERGE_WITHIN:
        go(s, t, r, w, i, s.x[j], s.y[j], MERGE_WITHIN)
        return
    x, y, p = (s.x[i] + s.x[j]) / 2.0, (s.y[i] + s.y[j]) / 2.0, s.owner[i]
    remove(s, r, i)
    remove(s, r, j)
    spawn(s, r, ARCHON, p, x, y, 1.0 / ARCHON_LOOPS)


@kernel
def construct(s: Any, r: Any, i: int) -> None:
    """One loop of what is built without a worker: Zerg and Protoss structures, addons, warp-ins."""
    k, part = s.kind[i], quick(s, s.owner[i])
    if not r.structure[k]:
        raise_building(s, r, i, part / (ARCHON_LOOPS if k == ARCHON else WARP_LOOPS))
    elif r.race[k] != 1 or s.host[i] >= 0:
        raise_building(s, r, i, part / r.time[k])


@kernel
def exit_of(s: Any, t: Any, r: Any, i: int, kind: int) -> tuple[float, float]:
    """Where a new unit leaves a building: on the side of its rally point, on walkable ground."""
    angle = SOUTH
    if s.rally_x[i] >= 0.0:
        angle = np.arctan2(s.rally_y[i] - s.y[i], s.rally_x[i] - s.x[i])
    out = r.radius[s.kind[i]] + r.radius[kind] + EXIT_GAP
    x, y = s.x[i] + out * np.cos(angle), s.y[i] + out * np.sin(angle)
    if not r.flying[kind] and not walkable(t, x, y):
        cell = nearest_walkable(t, x, y)
        x, y = cell % SIZE + 0.5, cell // SIZE + 0.5
    return x, y


@kernel
def send_to_rally(s: Any, r: Any, i: int, source: int) -> None:
    """Send a new unit to the rally point of its building."""
    if s.rally_x[source] < 0.0 or r.speed[s.kind[i]] == 0.0:
        return
    j = s.rally_target[source]
    if j >= 0 and s.alive[j] and r.worker[s.kind[i]] and (r.minerals_here[s.kind[j]] or r.gas[s.kind[j]]):
        push_order(s, i, GATHER, 0, j, s.x[j], s.y[j])
    else:
        push_order(s, i, MOVE, 0, -1, s.rally_x[source], s.rally_y[source])


@kernel
def drop_order(s: Any, i: int, q: int) -> None:
    """Take one order out of a production queue."""
    for n in range(q + 1, s.orders[i]):
        s.order[i, n - 1], s.argument[i, n - 1] = s.order[i, n], s.argument[i, n]
        s.order_progress[i, n - 1] = s.order_progress[i, n]
        s.order_x[i, n - 1], s.order_y[i, n - 1] = s.order_x[i, n], s.order_y[i, n]
        s.order_target[i, n - 1], s.order_generation[i, n - 1] = s.order_target[i, n], s.order_generation[i, n]
    s.orders[i] -= 1
    s.order[i, s.orders[i]] = 0


@kernel
def has_reactor(s: Any, r: Any, i: int) -> bool:
    """Whether two units are trained at a time."""
    addon = s.host[i]
    return (
        r.structure[s.kind[i]] == 1
        and addon >= 0
        and s.alive[addon] == 1
        and s.progress[addon] >= 1.0
        and not has_techlab(s, r, i)
    )


@kernel
def has_techlab(s: Any, r: Any, i: int) -> bool:
    """Whether the building's addon is a finished tech lab."""
    addon = s.host[i]
    return addon >= 0 and s.alive[addon] == 1 and s.progress[addon] >= 1.0 and r.is_techlab[s.kind[addon]] == 1


@kernel
def train(s: Any, t: Any, r: Any, i: int) -> None:
    """One loop of a production queue."""
    if not s.powered[i]:
        return
    p, lines = s.owner[i], 2 if has_reactor(s, r, i) else 1
    faster = (CHRONO_RATE if s.chrono_until[i] > s.loop else 1.0) * quick(s, p)
    q = 0
    while q < min(lines, s.orders[i]):
        kind = s.argument[i, q]
        if s.order[i, q] != MAKE:
            return
        if s.order_progress[i, q] == 0.0 and r.supply[kind] > 0.0:
            if (s.loop + i) & 7 or supply_used(s, r, p) + r.supply[kind] > supply_cap(s, r, p):
                q += 1
                continue
        s.order_progress[i, q] += faster / max(1.0, r.time[kind])
        if s.order_progress[i, q] >= 1.0:
            drop_order(s, i, q)
            x, y = exit_of(s, t, r, i, kind)
            new = spawn(s, r, kind, p, x, y, 1.0)
            if new >= 0:
                send_to_rally(s, r, new, i)
        else:
            q += 1


@kernel
def change_kind(s: Any, r: Any, i: int, kind: int) -> None:
    """Change the kind of a unit; it keeps its share of health."""
    old, p = s.kind[i], s.owner[i]
    share = s.health[i] / (r.health[old] + s.health_bonus[p, old])
    if r.structure[old]:
        stamp(s, r, i, 0)
    s.kind[i], s.becomes[i] = kind, 0
    s.health[i] = min(1.0, share) * (r.health[kind] + s.health_bonus[p, kind])
    s.shield[i] = min(s.shield[i], r.shields[kind])
    if r.energy[kind] > 0.0 and r.energy[old] == 0.0:
        s.energy[i] = MORPH_ENERGY
    if r.structure[kind]:
        stamp(s, r, i, i + 1)


@kernel
def morph(s: Any, t: Any, r: Any, i: int) -> None:
    """One loop of an egg, a cocoon, or a unit or structure that changes its shape."""
    kind = s.argument[i, 0]
    s.moving[i] = 0
    part = quick(s, s.owner[i])
    s.order_progress[i, 0] += part / max(1.0, r.time[kind] if s.timer[i] <= 0.0 else s.timer[i])
    if s.order_progress[i, 0] < 1.0:
        return
    egg = s.kind[i] == EGG
    change_kind(s, r, i, kind)
    pop_order(s, i)
    if egg:
        s.health[i] = r.health[kind] + s.health_bonus[s.owner[i], kind]
        s.energy[i] = min(MORPH_ENERGY, r.energy[kind])
        send_to_rally(s, r, i, i)
        if kind == ZERGLING:
            twin = spawn(s, r, kind, s.owner[i], s.x[i] + TWIN_GAP, s.y[i], 1.0)
            if twin >= 0:
                send_to_rally(s, r, twin, i)


@kernel
def research(s: Any, r: Any, i: int) -> None:
    """One loop of research; a finished upgrade takes effect at once."""
    u, p = s.argument[i, 0], s.owner[i]
    if not s.powered[i]:
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


@kernel
def add_on(s: Any, t: Any, r: Any, i: int, kind: int) -> int:
    """Start an addon at a Terran production building."""
    if s.host[i] >= 0:
        return -CANT_ALLOCATE
    x, y = s.x[i] + ADDON_X, s.y[i] + ADDON_Y
    allowed = can_place(s, t, r, s.owner[i], kind, x, y, True)
    if allowed != SUCCESS:
        return -allowed
    paid = pay(s, s.owner[i], r.minerals[s.kind[i], kind], r.vespene[s.kind[i], kind])
    if paid != SUCCESS:
        return -paid
    b = spawn(s, r, kind, s.owner[i], x, y, 0.0)
    if b >= 0:
        s.host[i], s.host[b] = b, i
    return b
