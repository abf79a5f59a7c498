"""Queries of a client: pathing, placement, available abilities."""

from __future__ import annotations

import numpy as np
from s2clientprotocol import query_pb2

from understudy.games.zerg.proving_ground import state as orders
from understudy.games.zerg.proving_ground.abilities import product_by_ability
from understudy.games.zerg.proving_ground.input_checks import in_turns, point_on_map
from understudy.games.zerg.proving_ground.observation import slot_of
from understudy.games.zerg.proving_ground.offers import available
from understudy.games.zerg.proving_ground.simulation import Simulation


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
            for ability in available(game, player, slot, query.ignore_resource_requirements):
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
