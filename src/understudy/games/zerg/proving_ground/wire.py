"""A player's view of all units, written as protobuf by a compiled kernel.

Building two hundred `Unit` messages in Python would take longer than the simulation and the bot together.
The field numbers are those of raw.proto; a test decodes the bytes with protobuf and compares them with the state.
Lengths are two-byte varints, which every protobuf reader accepts, so no bytes need to be moved afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg.proving_ground.abilities import labels
from understudy.games.zerg.proving_ground.compiled import door, kernel
from understudy.games.zerg.proving_ground.rules import BILE, STORM
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.spells import BUFFS, CLOAK, FIRST_SPELL, SPELLS
from understudy.games.zerg.proving_ground.state import (
    BUILD_AT,
    CAST,
    FIRST_TAG,
    GATHER,
    MAKE,
    MARAUDER,
    MORPH_INTO,
    NEUTRAL,
    RESEARCH,
    RETURN,
    SLOTS,
    TAG_SHIFT,
)
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.proving_ground.upgrade_effects import LEVELS

VISIBLE, SNAPSHOT = 1, 2
SELF, NEUTRAL_ALLIANCE, ENEMY = 1, 3, 4
CLOAK_UNKNOWN, CLOAKED_DETECTED, NOT_CLOAKED, CLOAKED_ALLIED = 0, 2, 3, 4
NEUTRAL_OWNER = 16
CARRIES_MINERALS, STIMMED, STIMMED_MARAUDER, CHRONO_BOOSTED, INJECTED, FUNGAL_GROWTH = 271, 27, 24, 281, 11, 17
BUFFER = 400 * SLOTS
spell_shown = np.array([spell.abilities[0] for spell in SPELLS])


@kernel
def put_varint(out: Any, at: int, value: int) -> int:
    """Write a number that is not negative."""
    while value > 127:
        out[at] = (value & 127) | 128
        value >>= 7
        at += 1
    out[at] = value
    return at + 1


@kernel
def put_number(out: Any, at: int, field: int, value: int) -> int:
    """Write a varint field."""
    return put_varint(out, put_varint(out, at, field << 3), value)


@kernel
def put_float(out: Any, at: int, field: int, value: float, cell: Any) -> int:
    """Write a 32-bit float field; `cell` is one number, as float32 and as the same four bytes in a uint32."""
    at = put_varint(out, at, field << 3 | 5)
    cell[0][0] = value
    bits = cell[1][0]
    out[at], out[at + 1], out[at + 2], out[at + 3] = bits & 255, (bits >> 8) & 255, (bits >> 16) & 255, bits >> 24
    return at + 4


@kernel
def open_message(out: Any, at: int, field: int) -> int:
    """Start an embedded message and leave two bytes for its length."""
    return put_varint(out, at, field << 3 | 2) + 2


@kernel
def close_message(out: Any, start: int, at: int) -> None:
    """Fill in the length of the message that began at `start`."""
    size = at - start
    out[start - 2] = (size & 127) | 128
    out[start - 1] = size >> 7


@kernel
def tag_of(s: Any, i: int) -> int:
    """The unit's tag: slot and generation."""
    return FIRST_TAG + (i << TAG_SHIFT) + s.generation[i]


@kernel
def put_point(out: Any, at: int, field: int, x: float, y: float, z: float, cell: Any) -> int:
    """Write a Point."""
    start = open_message(out, at, field)
    at = put_float(out, start, 1, x, cell)
    at = put_float(out, at, 2, y, cell)
    at = put_float(out, at, 3, z, cell)
    close_message(out, start, at)
    return at


@kernel
def z_at(s: Any, t: Any, r: Any, i: int) -> float:
    """Height of a unit above the world's zero."""
    ground = t.height[int(s.y[i]), int(s.x[i])] / 8.0 - 16.0
    return ground + 3.75 if r.flying[s.kind[i]] else ground


@kernel
def ability_shown(s: Any, i: int, q: int, plain: Any, make: Any, research: Any, gather: Any, bring: Any) -> int:
    """The ability that an order is shown as; 0 for none."""
    order, argument = s.order[i, q], s.argument[i, q]
    if order == GATHER:
        return bring[s.kind[i]] if q == 0 and s.phase[i] == 2 else gather[s.kind[i]]
    if order == RETURN:
        return bring[s.kind[i]]
    if order in (MAKE, BUILD_AT, MORPH_INTO):
        return make[argument]
    if order == RESEARCH:
        return research[argument]
    if order == CAST:
        plain_spell = 1036 if argument == STORM else 2338 if argument == BILE else 74
        return spell_shown[argument - FIRST_SPELL] if argument >= FIRST_SPELL else plain_spell
    return plain[order]


@kernel
def put_orders(
    out: Any, at: int, s: Any, i: int, plain: Any, make: Any, research: Any, gather: Any, bring: Any, cell: Any
) -> int:
    """Write a unit's queue of orders."""
    for q in range(s.orders[i]):
        ability = ability_shown(s, i, q, plain, make, research, gather, bring)
        if ability == 0:
            continue
        start = open_message(out, at, 22)
        at = put_number(out, start, 1, ability)
        order, j = s.order[i, q], s.order_target[i, q]
        if q == 0 and order == GATHER and s.phase[i] == 2:
            j = s.host[i]
        if order in (MAKE, RESEARCH, MORPH_INTO):
            at = put_float(out, at, 4, s.order_progress[i, q], cell)
        elif j >= 0:
            at = put_number(out, at, 3, tag_of(s, j))
        elif order != RETURN:
            at = put_point(out, at, 2, s.order_x[i, q], s.order_y[i, q], 0.0, cell)
        close_message(out, start, at)
    return at


@kernel
def put_buffs(out: Any, at: int, s: Any, r: Any, i: int) -> int:
    """Write the buffs of a unit."""
    if s.carry_minerals[i] > 0.0:
        at = put_number(out, at, 27, CARRIES_MINERALS)
    if s.carry_vespene[i] > 0.0:
        race = s.race[s.owner[i]]
        at = put_number(out, at, 27, 273 if race == 1 else 275 if race == 2 else 274)
    if s.stim_until[i] > s.loop:
        at = put_number(out, at, 27, STIMMED_MARAUDER if s.kind[i] == MARAUDER else STIMMED)
    if s.chrono_until[i] > s.loop:
        at = put_number(out, at, 27, CHRONO_BOOSTED)
    if s.injects[i] > 0:
        at = put_number(out, at, 27, INJECTED)
    if s.rooted_until[i] > s.loop:
        at = put_number(out, at, 27, FUNGAL_GROWTH)
    if s.buffs[i]:
        for b in range(BUFFS):
            if s.buffs[i] & (1 << b):
                at = put_number(out, at, 27, r.buff_id[b])
    return at


@kernel
def count_harvesters(s: Any, r: Any, p: int, working: Any, wanted: Any, halls: Any) -> None:
    """For a player's townhalls and gas buildings: workers assigned, and workers wanted."""
    working[:] = 0
    wanted[:] = 0
    n = 0
    for j in range(s.top):
        if s.alive[j] and s.owner[j] == p and r.townhall[s.kind[j]] and s.progress[j] >= 1.0:
            halls[n] = j
            n += 1
    for j in range(s.top):
        if not s.alive[j]:
            continue
        k = s.kind[j]
        if r.minerals_here[k]:
            hall = hall_near(s, halls, n, s.x[j], s.y[j])
            if hall >= 0:
                wanted[hall] += 2
        elif r.gas[k] and s.owner[j] == p and s.progress[j] >= 1.0 and s.contents[j] > 0.0:
            wanted[j] = 3
        elif (
            r.worker[k] and s.owner[j] == p and s.orders[j] > 0 and (s.order[j, 0] == GATHER or s.order[j, 0] == RETURN)
        ):
            source = s.order_target[j, 0] if s.order[j, 0] == GATHER else s.resource[j]
            if source >= 0 and s.alive[source]:
                if r.gas[s.kind[source]]:
                    working[source] += 1
                else:
                    hall = hall_near(s, halls, n, s.x[source], s.y[source])
                    if hall >= 0:
                        working[hall] += 1


@kernel
def hall_near(s: Any, halls: Any, count: int, x: float, y: float) -> int:
    """Which of the townhalls a resource belongs to; -1 for none."""
    best, hall = 100.0, -1
    for n in range(count):
        j = halls[n]
        d = (s.x[j] - x) ** 2 + (s.y[j] - y) ** 2
        if d < best:
            best, hall = d, j
    return hall


@kernel
def put_cargo(out: Any, at: int, s: Any, r: Any, i: int, cell: Any) -> int:
    """Write what a transport holds, for its owner."""
    for j in range(s.top):
        if s.alive[j] and s.carrier[j] == i + 1:
            k, p = s.kind[j], s.owner[j]
            start = open_message(out, at, 24)
            at = put_number(out, start, 1, tag_of(s, j))
            at = put_float(out, at, 2, s.health[j], cell)
            at = put_float(out, at, 3, r.health[k] + s.health_bonus[p, k], cell)
            at = put_float(out, at, 4, s.shield[j], cell)
            at = put_float(out, at, 7, r.shields[k], cell)
            at = put_float(out, at, 5, s.energy[j], cell)
            at = put_float(out, at, 8, r.energy[k], cell)
            at = put_number(out, at, 6, r.unit_id[k])
            close_message(out, start, at)
    at = put_number(out, at, 25, s.loaded[i])
    return put_number(out, at, 26, r.room[s.kind[i]])


@kernel
def put_rally(out: Any, at: int, s: Any, i: int, cell: Any) -> int:
    """Write where a building sends what it makes."""
    start = open_message(out, at, 45)
    at = put_point(out, start, 1, s.rally_x[i], s.rally_y[i], 0.0, cell)
    j = s.rally_target[i]
    if j >= 0 and s.alive[j]:
        at = put_number(out, at, 2, tag_of(s, j))
    close_message(out, start, at)
    return at


@kernel
def put_vitals(out: Any, at: int, s: Any, r: Any, i: int, cell: Any) -> int:
    """Write what only visible units show: health, shields, contents, weapon."""
    k, p = s.kind[i], s.owner[i]
    full = r.health[k] + (s.health_bonus[p, k] if p < NEUTRAL else 0.0)
    at = put_float(out, at, 14, s.health[i], cell)
    at = put_float(out, at, 15, full, cell)
    at = put_float(out, at, 16, s.shield[i], cell)
    at = put_float(out, at, 36, r.shields[k], cell)
    at = put_float(out, at, 17, s.energy[i], cell)
    at = put_float(out, at, 37, r.energy[k], cell)
    at = put_number(out, at, 20, r.flying[k])
    at = put_number(out, at, 21, 1 if r.cloaked[k] and not r.structure[k] and r.race[k] == 2 else 0)
    at = put_number(out, at, 38, 0)
    at = put_float(out, at, 30, max(0.0, s.cooldown[i]), cell)
    if r.minerals_here[k]:
        at = put_number(out, at, 18, int(s.contents[i]))
    if r.geyser[k] or r.gas[k]:
        at = put_number(out, at, 19, max(0, int(s.contents[i])))
    if r.detector[k]:
        at = put_float(out, at, 31, r.sight[k], cell)
    return at


@kernel
def put_unit(
    out: Any, at: int, s: Any, t: Any, r: Any, p: int, i: int, working: Any, wanted: Any, levels: Any,
    plain: Any, make: Any, research: Any, gather: Any, bring: Any, cell: Any,
) -> int:  # fmt: skip
    """Write one unit as player p sees it."""
    k, owner = s.kind[i], s.owner[i]
    seen = s.seen[p, i] == 1
    start = open_message(out, at, 2)
    at = put_number(out, start, 1, VISIBLE if seen else SNAPSHOT)
    at = put_number(out, at, 2, SELF if owner == p else NEUTRAL_ALLIANCE if owner == NEUTRAL else ENEMY)
    at = put_number(out, at, 3, tag_of(s, i))
    at = put_number(out, at, 4, r.unit_id[k])
    at = put_number(out, at, 5, owner + 1 if owner < NEUTRAL else NEUTRAL_OWNER)
    at = put_point(out, at, 6, s.x[i], s.y[i], z_at(s, t, r, i), cell)
    facing = np.arctan2(s.heading_y[i], s.heading_x[i])
    at = put_float(out, at, 7, facing if facing >= 0.0 else facing + 6.283185307179586, cell)
    at = put_float(out, at, 8, r.radius[k], cell)
    at = put_float(out, at, 9, s.progress[i], cell)
    cloak = NOT_CLOAKED if seen else CLOAK_UNKNOWN
    if (r.cloaked[k] or s.buffs[i] & (1 << CLOAK)) and seen and owner < NEUTRAL:
        cloak = CLOAKED_ALLIED if owner == p else CLOAKED_DETECTED
    at = put_number(out, at, 10, cloak)
    at = put_number(out, at, 11, 0)
    at = put_number(out, at, 12, 0)
    at = put_number(out, at, 13, 0)
    at = put_number(out, at, 35, 1 if r.needs_power[k] and s.powered[i] else 0)
    if seen:
        at = put_vitals(out, at, s, r, i, cell)
        if owner < NEUTRAL:
            at = put_buffs(out, at, s, r, i)
            at = put_number(out, at, 40, levels[owner, k, 0])
            at = put_number(out, at, 41, levels[owner, k, 1])
            at = put_number(out, at, 42, levels[owner, k, 2])
    if owner == p:
        at = put_number(out, at, 39, 1 if s.orders[i] > 0 else 0)
        at = put_orders(out, at, s, i, plain, make, research, gather, bring, cell)
        if r.structure[k] and s.host[i] >= 0 and not r.townhall[k]:
            at = put_number(out, at, 23, tag_of(s, s.host[i]))
        if r.townhall[k] or r.gas[k]:
            at = put_number(out, at, 28, working[i])
            at = put_number(out, at, 29, wanted[i])
        if s.target[i] >= 0:
            at = put_number(out, at, 34, tag_of(s, s.target[i]))
        if r.room[k] > 0:
            at = put_cargo(out, at, s, r, i, cell)
        if r.structure[k] and s.rally_x[i] >= 0.0:
            at = put_rally(out, at, s, i, cell)
    close_message(out, start, at)
    return at


@kernel
def put_ghost(out: Any, at: int, s: Any, t: Any, r: Any, p: int, g: int, cell: Any) -> int:
    """Write a destroyed structure that the player still remembers."""
    k = s.ghost_kind[p, g]
    start = open_message(out, at, 2)
    at = put_number(out, start, 1, SNAPSHOT)
    at = put_number(out, at, 2, ENEMY if s.ghost_owner[p, g] < NEUTRAL else NEUTRAL_ALLIANCE)
    at = put_number(out, at, 3, FIRST_TAG + (s.ghost_slot[p, g] << TAG_SHIFT) + s.ghost_generation[p, g])
    at = put_number(out, at, 4, r.unit_id[k])
    at = put_number(out, at, 5, s.ghost_owner[p, g] + 1 if s.ghost_owner[p, g] < NEUTRAL else NEUTRAL_OWNER)
    x, y = s.ghost_x[p, g], s.ghost_y[p, g]
    at = put_point(out, at, 6, x, y, t.height[int(y), int(x)] / 8.0 - 16.0, cell)
    at = put_float(out, at, 8, r.radius[k], cell)
    at = put_float(out, at, 9, 1.0, cell)
    at = put_number(out, at, 10, CLOAK_UNKNOWN)
    close_message(out, start, at)
    return at


@door
def write_units(
    states: Any, terrains: Any, rules: Any, p: int, out: Any, working: Any, wanted: Any, halls: Any, levels: Any,
    plain: Any, make: Any, research: Any, gather: Any, bring: Any,
) -> int:  # fmt: skip
    """Write all units that player p sees or remembers; the number of bytes."""
    s, t, r = states[0], terrains[0], rules[0]
    number = np.zeros(1, np.float32)
    cell = (number, number.view(np.uint32))
    count_harvesters(s, r, p, working, wanted, halls)
    at = 0
    for i in range(s.top):
        if s.alive[i] and s.carrier[i] == 0:
            known = s.owner[i] != 1 - p or s.seen[p, i] == 1 or s.known[p, i] == 1
            if known:
                at = put_unit(
                    out, at, s, t, r, p, i, working, wanted, levels, plain, make, research, gather, bring, cell
                )
    for g in range(s.ghosts[p]):
        at = put_ghost(out, at, s, t, r, p, g, cell)
    return at


class UnitWriter:
    """Writes the units of one game for one player; it owns the buffers."""

    def __init__(self, simulation: Simulation, player: int) -> None:
        self._simulation, self._player = simulation, player
        self._out: NDArray[np.uint8] = np.zeros(BUFFER, np.uint8)
        self._working: NDArray[np.int32] = np.zeros(SLOTS, np.int32)
        self._wanted: NDArray[np.int32] = np.zeros(SLOTS, np.int32)
        self._halls: NDArray[np.int32] = np.zeros(SLOTS, np.int32)
        self._levels: NDArray[np.int32] = np.zeros((2, simulation.rules["speed"].shape[1], 3), np.int32)
        self._upgrades = b""

    def write(self) -> bytes:
        """The repeated `units` of an ObservationRaw."""
        game = self._simulation
        upgrades = game.state["upgrade"].tobytes()
        if upgrades != self._upgrades:
            self._upgrades = upgrades
            self._count_levels()
        arrays = (self._out, self._working, self._wanted, self._halls, self._levels, *labels())
        size = write_units(game.block, game.terrain, game.rules, self._player, *arrays)
        return self._out[:size].tobytes()

    def _count_levels(self) -> None:
        """Upgrade levels a kind has: weapons, armour, shields."""
        known = self._simulation.state["upgrade"]
        self._levels[:] = 0
        for upgrade, unit, column, steps in LEVELS:
            for player in range(2):
                if known[player, upgrade]:
                    self._levels[player, kind(unit), column] += steps
