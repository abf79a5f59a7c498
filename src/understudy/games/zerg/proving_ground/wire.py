"""A player's view of all units, written as protobuf by a compiled kernel.

Building two hundred `Unit` messages in Python would take longer than the simulation and the bot together.
A test decodes the bytes with protobuf and compares them with the state.
"""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
from numpy.typing import NDArray
from s2clientprotocol import raw_pb2

from understudy.games.zerg.proving_ground.abilities import labels
from understudy.games.zerg.proving_ground.compiled import door, kernel
from understudy.games.zerg.proving_ground.kernels.protobuf import (
    close_message,
    open_message,
    put_float,
    put_number,
    put_point,
)
from understudy.games.zerg.proving_ground.kernels.transports import aboard
from understudy.games.zerg.proving_ground.rules import BILE, STORM
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.spells import BUFFS, CLOAK, FIRST_SPELL, HALLUCINATED, SPELLS
from understudy.games.zerg.proving_ground.state import (
    BUILD_AT,
    CAST,
    FIRST_TAG,
    GATHER,
    MAKE,
    MARAUDER,
    MEDIVAC,
    MORPH_INTO,
    NEUTRAL,
    REPAIR,
    RESEARCH,
    RETURN,
    SLOTS,
    TAG_SHIFT,
)
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.proving_ground.upgrade_effects import LEVELS
from understudy.games.zerg.starcraft import ZERG


def _fields(message: Any) -> Any:
    """The field numbers of a protobuf message, by name."""
    numbers = {field.name: field.number for field in message.DESCRIPTOR.fields}
    return namedtuple(message.DESCRIPTOR.name, numbers)(**numbers)


OBSERVED, UNIT, ORDER = _fields(raw_pb2.ObservationRaw), _fields(raw_pb2.Unit), _fields(raw_pb2.UnitOrder)
PASSENGER, RALLY = _fields(raw_pb2.PassengerUnit), _fields(raw_pb2.RallyTarget)
VISIBLE, SNAPSHOT = 1, 2
SELF, NEUTRAL_ALLIANCE, ENEMY = 1, 3, 4
CLOAK_UNKNOWN, CLOAKED_DETECTED, NOT_CLOAKED, CLOAKED_ALLIED = 0, 2, 3, 4
NEUTRAL_OWNER = 16
# buff ids
CARRIES_MINERALS, STIMMED, STIMMED_MARAUDER, CHRONO_BOOSTED, INJECTED, FUNGAL_GROWTH = 271, 27, 24, 281, 11, 17
CARRIES_GAS = (273, 275, 274)  # Terran, Zerg, Protoss
SHOWN_STORM, SHOWN_BILE, SHOWN_FUNGAL, SHOWN_HEAL = 1036, 2338, 74, 386  # ability ids
CELL_HEIGHT, HEIGHT_ZERO = 0.125, -16.0  # of the terrain's bytes
FULL_TURN = 2.0 * np.pi
FLIGHT = 3.75  # height of flyers above the ground
BASE_RANGE = 10.0  # cells between a townhall and its resources, at most
PER_PATCH, PER_GEYSER = 2, 3  # workers wanted
BUFFER = 400 * SLOTS
spell_shown = np.array([spell.abilities[0] for spell in SPELLS])


@kernel
def tag_of(s: Any, i: int) -> int:
    """The unit's tag: slot and generation."""
    return FIRST_TAG + (i << TAG_SHIFT) + s.generation[i]


@kernel
def height_at(t: Any, x: float, y: float) -> float:
    """Height of the ground above the world's zero."""
    return t.height[int(y), int(x)] * CELL_HEIGHT + HEIGHT_ZERO


@kernel
def z_at(s: Any, t: Any, r: Any, i: int) -> float:
    """Height of a unit above the world's zero."""
    ground = height_at(t, s.x[i], s.y[i])
    return ground + FLIGHT if r.flying[s.kind[i]] else ground


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
        plain_spell = SHOWN_STORM if argument == STORM else SHOWN_BILE if argument == BILE else SHOWN_FUNGAL
        return spell_shown[argument - FIRST_SPELL] if argument >= FIRST_SPELL else plain_spell
    return SHOWN_HEAL if order == REPAIR and s.kind[i] == MEDIVAC else plain[order]


@kernel
def put_orders(
    out: Any, at: int, s: Any, r: Any, i: int, plain: Any, make: Any, research: Any, gather: Any, bring: Any, cell: Any
) -> int:
    """Write a unit's queue of orders."""
    for q in range(s.orders[i]):
        ability = ability_shown(s, i, q, plain, make, research, gather, bring)
        if ability == 0:
            continue
        start = open_message(out, at, UNIT.orders)
        at = put_number(out, start, ORDER.ability_id, ability)
        order, argument, j = s.order[i, q], s.argument[i, q], s.order_target[i, q]
        if q == 0 and order == GATHER and s.phase[i] == 2:
            j = s.host[i]
        if order in (MAKE, RESEARCH, MORPH_INTO):
            at = put_float(out, at, ORDER.progress, s.order_progress[i, q], cell)
        elif j >= 0 and not (order == BUILD_AT and q == 0 and s.phase[i] == 1 and not r.gas[argument]):
            at = put_number(out, at, ORDER.target_unit_tag, tag_of(s, j))
        elif order != RETURN:
            at = put_point(out, at, ORDER.target_world_space_pos, s.order_x[i, q], s.order_y[i, q], 0.0, cell)
        close_message(out, start, at)
    return at


@kernel
def put_buffs(out: Any, at: int, s: Any, r: Any, i: int) -> int:
    """Write the buffs of a unit."""
    if s.carry_minerals[i] > 0.0:
        at = put_number(out, at, UNIT.buff_ids, CARRIES_MINERALS)
    if s.carry_vespene[i] > 0.0:
        race = s.race[s.owner[i]]
        at = put_number(out, at, UNIT.buff_ids, CARRIES_GAS[race - 1])
    if s.stim_until[i] > s.loop:
        at = put_number(out, at, UNIT.buff_ids, STIMMED_MARAUDER if s.kind[i] == MARAUDER else STIMMED)
    if s.chrono_until[i] > s.loop:
        at = put_number(out, at, UNIT.buff_ids, CHRONO_BOOSTED)
    if s.injects[i] > 0:
        at = put_number(out, at, UNIT.buff_ids, INJECTED)
    if s.rooted_until[i] > s.loop:
        at = put_number(out, at, UNIT.buff_ids, FUNGAL_GROWTH)
    if s.buffs[i]:
        for b in range(BUFFS):
            if s.buffs[i] & (1 << b) and r.buff_id[b]:
                at = put_number(out, at, UNIT.buff_ids, r.buff_id[b])
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
                wanted[hall] += PER_PATCH
        elif r.gas[k] and s.owner[j] == p and s.progress[j] >= 1.0 and s.contents[j] > 0.0:
            wanted[j] = PER_GEYSER
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
    best, hall = BASE_RANGE * BASE_RANGE, -1
    for n in range(count):
        j = halls[n]
        d = (s.x[j] - x) ** 2 + (s.y[j] - y) ** 2
        if d < best:
            best, hall = d, j
    return hall


@kernel
def put_cargo(out: Any, at: int, s: Any, r: Any, i: int, cell: Any) -> int:
    """Write what a transport holds, for its owner."""
    taken = 0
    for j in range(s.top):
        if aboard(s, i, j):
            taken += r.cargo[s.kind[j]]
            k, p = s.kind[j], s.owner[j]
            start = open_message(out, at, UNIT.passengers)
            at = put_number(out, start, PASSENGER.tag, tag_of(s, j))
            at = put_float(out, at, PASSENGER.health, s.health[j], cell)
            at = put_float(out, at, PASSENGER.health_max, r.health[k] + s.health_bonus[p, k], cell)
            at = put_float(out, at, PASSENGER.shield, s.shield[j], cell)
            at = put_float(out, at, PASSENGER.shield_max, r.shields[k], cell)
            at = put_float(out, at, PASSENGER.energy, s.energy[j], cell)
            at = put_float(out, at, PASSENGER.energy_max, r.energy[k], cell)
            at = put_number(out, at, PASSENGER.unit_type, r.unit_id[k])
            close_message(out, start, at)
    at = put_number(out, at, UNIT.cargo_space_taken, taken)
    return put_number(out, at, UNIT.cargo_space_max, r.room[s.kind[i]])


@kernel
def put_rally(out: Any, at: int, s: Any, i: int, cell: Any) -> int:
    """Write where a building sends what it makes."""
    start = open_message(out, at, UNIT.rally_targets)
    at = put_point(out, start, RALLY.point, s.rally_x[i], s.rally_y[i], 0.0, cell)
    j = s.rally_target[i]
    if j >= 0 and s.alive[j]:
        at = put_number(out, at, RALLY.tag, tag_of(s, j))
    close_message(out, start, at)
    return at


@kernel
def put_vitals(out: Any, at: int, s: Any, r: Any, i: int, own: bool, cell: Any) -> int:
    """Write what only visible units show: health, shields, contents, weapon."""
    k, p = s.kind[i], s.owner[i]
    full = r.health[k] + (s.health_bonus[p, k] if p < NEUTRAL else 0.0)
    at = put_float(out, at, UNIT.health, s.health[i], cell)
    at = put_float(out, at, UNIT.health_max, full, cell)
    at = put_float(out, at, UNIT.shield, s.shield[i], cell)
    at = put_float(out, at, UNIT.shield_max, r.shields[k], cell)
    at = put_float(out, at, UNIT.energy, s.energy[i], cell)
    at = put_float(out, at, UNIT.energy_max, r.energy[k], cell)
    at = put_number(out, at, UNIT.is_flying, r.flying[k])
    at = put_number(out, at, UNIT.is_burrowed, 1 if r.cloaked[k] and not r.structure[k] and r.race[k] == ZERG else 0)
    at = put_number(out, at, UNIT.is_hallucination, 1 if own and s.buffs[i] & (1 << HALLUCINATED) else 0)
    at = put_float(out, at, UNIT.weapon_cooldown, max(0.0, s.cooldown[i]), cell)
    if r.minerals_here[k]:
        at = put_number(out, at, UNIT.mineral_contents, int(s.contents[i]))
    if r.geyser[k] or r.gas[k]:
        at = put_number(out, at, UNIT.vespene_contents, max(0, int(s.contents[i])))
    if r.detector[k]:
        at = put_float(out, at, UNIT.detect_range, r.sight[k], cell)
    return at


@kernel
def put_unit(
    out: Any, at: int, s: Any, t: Any, r: Any, p: int, i: int, working: Any, wanted: Any, levels: Any,
    plain: Any, make: Any, research: Any, gather: Any, bring: Any, cell: Any,
) -> int:  # fmt: skip
    """Write one unit as player p sees it."""
    k, owner = s.kind[i], s.owner[i]
    seen = s.seen[p, i] == 1
    start = open_message(out, at, OBSERVED.units)
    at = put_number(out, start, UNIT.display_type, VISIBLE if seen else SNAPSHOT)
    at = put_number(out, at, UNIT.alliance, SELF if owner == p else NEUTRAL_ALLIANCE if owner == NEUTRAL else ENEMY)
    at = put_number(out, at, UNIT.tag, tag_of(s, i))
    at = put_number(out, at, UNIT.unit_type, r.unit_id[k])
    at = put_number(out, at, UNIT.owner, owner + 1 if owner < NEUTRAL else NEUTRAL_OWNER)
    at = put_point(out, at, UNIT.pos, s.x[i], s.y[i], z_at(s, t, r, i), cell)
    facing = np.arctan2(s.heading_y[i], s.heading_x[i])
    at = put_float(out, at, UNIT.facing, facing if facing >= 0.0 else facing + FULL_TURN, cell)
    at = put_float(out, at, UNIT.radius, r.radius[k], cell)
    at = put_float(out, at, UNIT.build_progress, s.progress[i], cell)
    cloak = NOT_CLOAKED if seen else CLOAK_UNKNOWN
    if (r.cloaked[k] or s.buffs[i] & (1 << CLOAK)) and seen and owner < NEUTRAL:
        cloak = CLOAKED_ALLIED if owner == p else CLOAKED_DETECTED
    at = put_number(out, at, UNIT.cloak, cloak)
    at = put_number(out, at, UNIT.is_selected, 0)
    at = put_number(out, at, UNIT.is_on_screen, 0)
    at = put_number(out, at, UNIT.is_blip, 0)
    at = put_number(out, at, UNIT.is_powered, 1 if r.needs_power[k] and s.powered[i] else 0)
    if seen:
        at = put_vitals(out, at, s, r, i, owner == p, cell)
        if owner < NEUTRAL:
            at = put_buffs(out, at, s, r, i)
            at = put_number(out, at, UNIT.attack_upgrade_level, levels[owner, k, 0])
            at = put_number(out, at, UNIT.armor_upgrade_level, levels[owner, k, 1])
            at = put_number(out, at, UNIT.shield_upgrade_level, levels[owner, k, 2])
    if owner == p:
        at = put_number(out, at, UNIT.is_active, 1 if s.orders[i] > 0 else 0)
        at = put_orders(out, at, s, r, i, plain, make, research, gather, bring, cell)
        if r.techlab_of[k] and s.host[i] >= 0:
            at = put_number(out, at, UNIT.add_on_tag, tag_of(s, s.host[i]))
        if r.townhall[k] or r.gas[k]:
            at = put_number(out, at, UNIT.assigned_harvesters, working[i])
            at = put_number(out, at, UNIT.ideal_harvesters, wanted[i])
        if s.target[i] >= 0:
            at = put_number(out, at, UNIT.engaged_target_tag, tag_of(s, s.target[i]))
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
    start = open_message(out, at, OBSERVED.units)
    at = put_number(out, start, UNIT.display_type, SNAPSHOT)
    at = put_number(out, at, UNIT.alliance, ENEMY if s.ghost_owner[p, g] < NEUTRAL else NEUTRAL_ALLIANCE)
    at = put_number(out, at, UNIT.tag, FIRST_TAG + (s.ghost_slot[p, g] << TAG_SHIFT) + s.ghost_generation[p, g])
    at = put_number(out, at, UNIT.unit_type, r.unit_id[k])
    at = put_number(out, at, UNIT.owner, s.ghost_owner[p, g] + 1 if s.ghost_owner[p, g] < NEUTRAL else NEUTRAL_OWNER)
    x, y = s.ghost_x[p, g], s.ghost_y[p, g]
    at = put_point(out, at, UNIT.pos, x, y, height_at(t, x, y), cell)
    at = put_float(out, at, UNIT.radius, r.radius[k], cell)
    at = put_float(out, at, UNIT.build_progress, 1.0, cell)
    at = put_number(out, at, UNIT.cloak, CLOAK_UNKNOWN)
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
