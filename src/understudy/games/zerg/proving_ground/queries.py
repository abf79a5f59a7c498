"""Queries of a client: pathing, placement, available abilities."""

from __future__ import annotations

import numpy as np
from s2clientprotocol import query_pb2

from understudy.games.zerg.proving_ground import state as orders
from understudy.games.zerg.proving_ground.abilities import abilities_of, labels, product_by_ability
from understudy.games.zerg.proving_ground.input_checks import in_turns, point_on_map
from understudy.games.zerg.proving_ground.kernels.construction import TUMOR_ENERGY
from understudy.games.zerg.proving_ground.observation import slot_of
from understudy.games.zerg.proving_ground.rules import BLINK_TECH, BURROW, PSI_STORM, STIMPACK, WARP_GATE_TECH
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.spells import BEAM, FIRST_SPELL, SWITCH_OFF, SWITCH_ON
from understudy.games.zerg.proving_ground.unit_data import unit_types

MOVING = (4, 16, 17, 18)  # stop, move, patrol, hold
ATTACK, LOAD, UNLOAD_ALL, UNLOAD_AT, MERGE_TO_ARCHON = 23, 3668, 3664, 3669, 1766
# By kind: ability, energy, upgrade it needs (0 for none).
SPELLS: dict[int, tuple[tuple[int, float, int], ...]] = {
    orders.QUEEN: ((251, 25.0, 0), (1664, 50.0, 0)),
    orders.ORBITAL: ((171, 50.0, 0), (399, 50.0, 0)),
    orders.NEXUS: ((3755, 50.0, 0),),
    orders.MARINE: ((380, 0.0, STIMPACK),),
    orders.MARAUDER: ((253, 0.0, STIMPACK),),
    orders.STALKER: ((1442, 0.0, BLINK_TECH),),
    orders.HIGH_TEMPLAR: ((1036, 75.0, PSI_STORM),),
    orders.INFESTOR: ((74, 75.0, 0),),
    orders.RAVAGER: ((2338, 0.0, 0),),
}


async def answer(
    game: Simulation, player: int, query: query_pb2.RequestQuery, response: query_pb2.ResponseQuery
) -> None:
    """Answer all queries of one request, in their order; requests of other clients are answered in between."""
    response.SetInParent()
    async for way in in_turns(query.pathing):
        response.pathing.add().distance = _distance(game, way)
    async for place in in_turns(query.placements):
        response.placements.add().result = _placement(game, player, place)
    async for asked in in_turns(query.abilities):
        entry = response.abilities.add()
        entry.unit_tag = asked.unit_tag
        slot = slot_of(game, asked.unit_tag)
        if slot >= 0:
            entry.unit_type_id = int(game.tables["unit_id"][game.state["kind"][slot]])
            for ability in _available(game, player, slot, query.ignore_resource_requirements):
                entry.abilities.add().ability_id = ability


def _placement(game: Simulation, player: int, place: query_pb2.RequestQueryBuildingPlacement) -> int:
    product = product_by_ability().get(place.ability_id)
    if not product:
        return orders.NOT_SUPPORTED
    x, y = place.target_pos.x, place.target_pos.y
    if point_on_map(x, y) != (x, y):
        return orders.CANT_BUILD_HERE
    return game.can_place(player, product, x, y)


def _distance(game: Simulation, way: query_pb2.RequestQueryPathing) -> float:
    start = point_on_map(way.start_pos.x, way.start_pos.y)
    goal = (way.end_pos.x, way.end_pos.y)
    if start is None or point_on_map(*goal) != goal:
        return 0.0
    if way.HasField("unit_tag"):
        slot = slot_of(game, way.unit_tag)
        if slot < 0:
            return 0.0
        start = (float(game.state["x"][slot]), float(game.state["y"][slot]))
        if game.tables["flying"][game.state["kind"][slot]]:
            return float(np.hypot(goal[0] - start[0], goal[1] - start[1]))
    return game.way_length(start, goal)


def _available(game: Simulation, player: int, slot: int, free: bool) -> list[int]:
    """The abilities that a unit can use now; `free` ignores prices."""
    state, rules = game.state, game.tables
    unit = int(state["kind"][slot])
    if state["owner"][slot] != player or state["progress"][slot] < 1 or state["becomes"][slot]:
        return []
    if (rules["needs_power"][unit] and not state["powered"][slot]) or _occupied(game, slot):
        return []
    found: list[int] = []
    if rules["speed"][unit] > 0 and unit != orders.LARVA:
        found += MOVING
    beam = unit != orders.ORACLE or state["buffs"][slot] & 1 << BEAM
    if rules["damage"][unit].any() and beam:
        found.append(ATTACK)
    if rules["worker"][unit]:
        found.append(int(labels().gather[unit]))
        if state["carry_minerals"][slot] or state["carry_vespene"][slot]:
            found.append(int(labels().bring[unit]))
    found += _ready_spells(game, player, slot)
    if unit in (orders.HIGH_TEMPLAR, orders.DARK_TEMPLAR):
        found.append(MERGE_TO_ARCHON)
    if rules["room"][unit]:
        found.append(LOAD)
        if state["loaded"][slot] or unit in (orders.NYDUS_NETWORK, orders.NYDUS_WORM):
            found.append(UNLOAD_AT if rules["speed"][unit] else UNLOAD_ALL)
    bank = (np.inf, np.inf) if free else (state["minerals"][player], state["vespene"][player])
    for ability, meant in abilities_of(unit):
        if _possible(game, player, slot, meant.order, meant.argument, bank):
            found.append(ability)
    return found


def _ready_spells(game: Simulation, player: int, slot: int) -> list[int]:
    state = game.state
    if state["spell_at"][slot] > state["loop"]:
        return []
    return [
        ability
        for ability, energy, upgrade in SPELLS.get(int(state["kind"][slot]), ())
        if state["energy"][slot] >= energy and (not upgrade or state["upgrade"][player, upgrade])
    ]


def _possible(  # noqa: PLR0911 - one reason a line
    game: Simulation, player: int, slot: int, order: int, argument: int, bank: tuple[float, float]
) -> bool:
    state, rules = game.state, game.tables
    unit = state["kind"][slot]
    if order == orders.LAND:
        return True
    if order == orders.CAST:
        n = argument - FIRST_SPELL
        ready = not rules["spell_cooldown"][n] or state["spell_at"][slot] <= state["loop"]
        known = not rules["spell_upgrade"][n] or state["upgrade"][player, rules["spell_upgrade"][n]]
        known = known and (not rules["spell_needs"][n] or _has(game, player, int(rules["spell_needs"][n])))
        if rules["spell_effect"][n] in (SWITCH_ON, SWITCH_OFF):
            on = bool(state["buffs"][slot] & 1 << rules["spell_buff"][n])
            known = known and on == (rules["spell_effect"][n] == SWITCH_OFF)
        return bool(ready and known and state["energy"][slot] >= rules["spell_energy"][n])
    if order == orders.RESEARCH:
        before, building = rules["upgrade_before"][argument], rules["upgrade_building"][argument]
        known = state["upgrade"][player, argument] or state["pending"][player, argument]
        if (
            known
            or (before and not state["upgrade"][player, before])
            or (building and not _has(game, player, int(building)))
        ):
            return False
        return bool(bank[0] >= rules["upgrade_minerals"][argument] and bank[1] >= rules["upgrade_vespene"][argument])
    if rules["techlab"][unit, argument] and not _has_techlab(game, slot):
        return False
    if unit == orders.WARP_GATE and order == orders.MAKE and state["spell_at"][slot] > state["loop"]:
        return False
    if argument == orders.WARP_GATE and order == orders.MORPH_INTO and not state["upgrade"][player, WARP_GATE_TECH]:
        return False
    if unit == orders.TUMOR_BURROWED and (state["spent"][slot] or state["spell_at"][slot] > state["loop"]):
        return False
    if order == orders.MORPH_INTO and _burrows(unit, argument) and not state["upgrade"][player, BURROW]:
        return False
    if argument == orders.TUMOR_QUEEN and state["energy"][slot] < TUMOR_ENERGY:
        return False
    affordable = bank[0] >= rules["minerals"][unit, argument] and bank[1] >= rules["vespene"][unit, argument]
    return bool(affordable) and game.tech_met(player, argument)


def _occupied(game: Simulation, slot: int) -> bool:
    """Whether a unit is changing, or a building waits for its addon; as `kernels.orders.occupied`."""
    state = game.state
    if state["orders"][slot] == 0:
        return False
    first = state["order"][slot, 0]
    addon = first == orders.MAKE and state["order_target"][slot, 0] >= 0
    return bool(addon or (first == orders.MORPH_INTO and state["order_progress"][slot, 0] > 0))


def _burrows(unit: int, product: int) -> bool:
    name = unit_types()[product].name
    return name == f"{unit_types()[unit].name}Burrowed" and name not in ("WidowMineBurrowed", "LurkerMPBurrowed")


def _has(game: Simulation, player: int, building: int) -> bool:
    state, rules = game.state, game.tables
    mine = (state["alive"] == 1) & (state["owner"] == player) & (state["progress"] >= 1)
    return bool(rules["counts_as"][state["kind"][mine], building].any())


def _has_techlab(game: Simulation, slot: int) -> bool:
    addon = int(game.state["host"][slot])
    return (
        addon >= 0 and bool(game.tables["is_techlab"][game.state["kind"][addon]]) and game.state["progress"][addon] >= 1
    )
