"""Details of what a bot is told: deaths, orders of builders, addons, power, exhausted geysers, tumours that rest."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
from s2clientprotocol import raw_pb2

from games.zerg.proving_ground.clients import client_in_game, command, own
from games.zerg.proving_ground.scenes import new_game, rich, slots
from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.observation import tag
from understudy.games.zerg.proving_ground.offers import available
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.proving_ground.wire import UnitWriter
from understudy.games.zerg.starcraft import PROTOSS, TERRAN, ZERG

HERE = 84.0
SPREAD_CREEP, BUILD_EXTRACTOR, DRONE_ID, PRISM_PHASING_ID = 1733, 1154, 104, 136


def seen_by(game: Simulation, player: int) -> dict[int, Any]:
    raw = raw_pb2.ObservationRaw.FromString(UnitWriter(game, player).write())
    return {unit.tag: unit for unit in raw.units}


def test_a_drone_that_becomes_a_building_is_reported_as_dead() -> None:
    async def play() -> None:
        client = await client_in_game()
        await client.ask(debug={"debug": [{"game_state": 7}]})  # minerals
        first = await client.ask(observation={})
        drone = own(first, DRONE_ID)[0]
        geyser = min(
            (u for u in first.observation.observation.raw_data.units if u.vespene_contents),
            key=lambda u: abs(u.pos.x - drone.pos.x) + abs(u.pos.y - drone.pos.y),
        )
        await client.ask(action=command(BUILD_EXTRACTOR, [drone.tag], tag=geyser.tag))
        dead: set[int] = set()
        for _ in range(20):
            await client.ask(step={"count": 16})
            dead |= set((await client.ask(observation={})).observation.observation.raw_data.event.dead_units)
        assert dead == {drone.tag}

    asyncio.run(play())


def test_a_death_is_reported_to_its_owner_and_to_whoever_saw_it() -> None:
    game = new_game(TERRAN, ZERG)
    hidden = game.spawn(kind("Zergling"), 1, *game.map.bases[5].center)
    game.spawn(kind("Marine"), 0, HERE, HERE)
    open_to_view = game.spawn(kind("Overlord"), 1, HERE + 3, HERE)
    game.step(16)
    for slot in (hidden, open_to_view):
        game.destroy(slot)
    ring = slice(int(game.state["deaths"]) - 2, int(game.state["deaths"]))
    assert game.state["dead_slot"][ring].tolist() == [hidden, open_to_view]
    assert game.state["dead_known"][:, ring].tolist() == [[0, 1], [1, 1]]


def test_an_scv_at_work_shows_where_it_builds_and_only_the_building_shows_its_addon() -> None:
    game = rich(new_game(TERRAN, ZERG))
    x, y = (round(v) for v in game.map.starts[0])
    scv, barracks = slots(game, "SCV")[0], game.spawn(kind("Barracks"), 0, x + 10.5, y + 2.5)
    assert game.order(0, scv, names.BUILD_AT, kind("SupplyDepot"), x=x + 8, y=y - 4) == names.SUCCESS
    assert game.order(0, barracks, names.MAKE, kind("BarracksReactor")) == names.SUCCESS
    game.step(200)
    units, reactor = seen_by(game, 0), slots(game, "BarracksReactor")[0]
    assert slots(game, "SupplyDepot")
    order = units[tag(game.state, scv)].orders[0]
    assert (order.target_world_space_pos.x, order.target_world_space_pos.y) == (x + 8, y - 4)
    assert not order.HasField("target_unit_tag")
    assert units[tag(game.state, barracks)].add_on_tag == tag(game.state, reactor)
    assert not units[tag(game.state, reactor)].HasField("add_on_tag")


def test_a_prism_in_phasing_mode_is_a_source_of_power() -> None:
    async def play() -> None:
        client = await client_in_game(race=PROTOSS)
        create = {"unit_type": PRISM_PHASING_ID, "owner": 1, "pos": {"x": HERE, "y": HERE}, "quantity": 1}
        await client.ask(debug={"debug": [{"create_unit": create}]})
        await client.ask(step={"count": 1})
        sources = (await client.ask(observation={})).observation.observation.raw_data.player.power_sources
        assert [(source.pos.x, source.pos.y, source.radius) for source in sources] == [(HERE, HERE, 3.75)]

    asyncio.run(play())


def test_workers_leave_an_exhausted_geyser_and_are_not_sent_to_it() -> None:
    game = rich(new_game(ZERG, TERRAN))
    drones = slots(game, "Drone")
    geyser = min(
        slots(game, "VespeneGeyser", names.NEUTRAL), key=lambda j: abs(game.state["x"][j] - game.map.starts[0][0])
    )
    x, y = float(game.state["x"][geyser]), float(game.state["y"][geyser])
    assert game.order(0, drones[0], names.BUILD_AT, kind("Extractor"), x=x, y=y) == names.SUCCESS
    game.step(900)
    extractor = slots(game, "Extractor")[0]
    assert game.order(0, drones[1], names.GATHER, target=extractor) == names.SUCCESS
    game.state["contents"][[extractor, geyser]] = 4.0
    before = float(game.state["vespene"][0])
    game.step(400)
    assert game.state["vespene"][0] == before + 4
    assert game.state["orders"][drones[1]] == 0
    assert game.order(0, drones[1], names.GATHER, target=extractor) == names.MUST_TARGET_RESOURCES


def test_a_new_tumour_rests_before_it_spreads() -> None:
    game = new_game(ZERG, TERRAN)
    x, y = game.map.starts[0]
    game.state["creep_grid"][:] = 1
    tumour = game.spawn(kind("CreepTumorQueen"), 0, x + 5.5, y + 5.5, 0.999)
    game.step(10)
    assert game.state["kind"][tumour] == kind("CreepTumorBurrowed")
    assert SPREAD_CREEP not in available(game, 0, tumour, False)
    assert game.order(0, tumour, names.BUILD_AT, kind("CreepTumor"), x=x + 9, y=y + 5) == names.COOLING_DOWN
    game.step(304)
    game.state["creep_grid"][:] = 1
    assert SPREAD_CREEP in available(game, 0, tumour, False)
    assert game.order(0, tumour, names.BUILD_AT, kind("CreepTumor"), x=x + 9, y=y + 5) == names.SUCCESS


def test_a_right_click_of_an_scv_repairs_what_is_damaged() -> None:
    game = new_game(TERRAN, ZERG)
    scv, hall = slots(game, "SCV")[0], slots(game, "CommandCenter")[0]
    game.order(0, scv, names.SMART, target=hall)
    assert game.state["order"][scv, 0] == names.MOVE
    game.state["health"][hall] -= 100
    game.order(0, scv, names.SMART, target=hall)
    assert game.state["order"][scv, 0] == names.REPAIR
    before = float(game.state["health"][hall])
    game.step(200)
    assert game.state["health"][hall] > before
    assert np.isfinite(game.state["health"][hall])
