"""Questions that a client may ask between two steps: ways, places, abilities."""

from __future__ import annotations

import numpy as np
from s2clientprotocol import query_pb2

from understudy.games.zerg.proving_ground import state as orders
from understudy.games.zerg.proving_ground.abilities import abilities_of, labels, product_by_ability
from understudy.games.zerg.proving_ground.observation import slot_of
from understudy.games.zerg.proving_ground.simulation import Simulation

MOVING = (4, 16, 17, 18)  # stop, move, patrol, hold
ATTACK, INJECT, TRANSFUSE, MULE, CHRONO = 23, 251, 1664, 171, 3755
SPELLS = {
    orders.QUEEN: ((INJECT, 25.0), (TRANSFUSE, 50.0)),
    orders.ORBITAL: ((MULE, 50.0),),
    orders.NEXUS: ((CHRONO, 50.0),),
}


def answer(game: Simulation, player: int, query: query_pb2.RequestQuery, response: query_pb2.ResponseQuery) -> None:
    """Answer all questions of one request, in their order."""
    response.SetInParent()
    for way in query.pathing:
        response.pathing.add().distance = _distance(game, way)
    for place in query.placements:
        product = product_by_ability().get(place.ability_id)
        x, y = place.target_pos.x, place.target_pos.y
        allowed = game.can_place(player, product, x, y) if product else orders.NOT_SUPPORTED
        response.placements.add().result = allowed
    for asked in query.abilities:
        entry = response.abilities.add()
        entry.unit_tag = asked.unit_tag
        slot = slot_of(game, asked.unit_tag)
        if slot >= 0:
            entry.unit_type_id = int(game.rules["unit_id"][0][game.state["kind"][slot]])
            for ability in _available(game, player, slot, query.ignore_resource_requirements):
                entry.abilities.add().ability_id = ability


def _distance(game: Simulation, way: query_pb2.RequestQueryPathing) -> float:
    start = (way.start_pos.x, way.start_pos.y)
    goal = (way.end_pos.x, way.end_pos.y)
    if way.HasField("unit_tag"):
        slot = slot_of(game, way.unit_tag)
        if slot < 0:
            return 0.0
        start = (float(game.state["x"][slot]), float(game.state["y"][slot]))
        if game.rules["flying"][0][game.state["kind"][slot]]:
            return float(np.hypot(goal[0] - start[0], goal[1] - start[1]))
    return game.way_length(start, goal)


def _available(game: Simulation, player: int, slot: int, free: bool) -> list[int]:
    """The abilities a unit could use now; `free` leaves prices aside."""
    state, rules = game.state, game.rules[0]
    unit = int(state["kind"][slot])
    if state["owner"][slot] != player or state["progress"][slot] < 1 or state["becomes"][slot]:
        return []
    found: list[int] = []
    if rules["speed"][unit] > 0 and unit != orders.LARVA:
        found += MOVING
    if rules["damage"][unit].any():
        found.append(ATTACK)
    if rules["worker"][unit]:
        found.append(int(labels().gather[unit]))
        if state["carry_minerals"][slot] or state["carry_vespene"][slot]:
            found.append(int(labels().bring[unit]))
    found += [ability for ability, energy in SPELLS.get(unit, ()) if state["energy"][slot] >= energy]
    bank = (np.inf, np.inf) if free else (state["minerals"][player], state["vespene"][player])
    for ability, meant in abilities_of(unit):
        if _possible(game, player, slot, meant.order, meant.argument, bank):
            found.append(ability)
    return found


def _possible(game: Simulation, player: int, slot: int, order: int, argument: int, bank: tuple[float, float]) -> bool:
    state, rules = game.state, game.rules[0]
    unit = state["kind"][slot]
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
    if unit == orders.TUMOR_BURROWED and state["spent"][slot]:
        return False
    affordable = bank[0] >= rules["minerals"][unit, argument] and bank[1] >= rules["vespene"][unit, argument]
    return bool(affordable) and game.tech_met(player, argument)


def _has(game: Simulation, player: int, building: int) -> bool:
    state, rules = game.state, game.rules[0]
    mine = (state["alive"] == 1) & (state["owner"] == player) & (state["progress"] >= 1)
    return bool(rules["counts_as"][state["kind"][mine], building].any())


def _has_techlab(game: Simulation, slot: int) -> bool:
    addon = int(game.state["host"][slot])
    return (
        addon >= 0
        and bool(game.rules["is_techlab"][0][game.state["kind"][addon]])
        and game.state["progress"][addon] >= 1
    )
