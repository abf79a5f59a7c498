from __future__ import annotations

import numpy as np
from s2clientprotocol import raw_pb2

from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.observation import tag
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.unit_data import kind, unit_types
from understudy.games.zerg.proving_ground.wire import UnitWriter
from understudy.games.zerg.starcraft import TERRAN, ZERG


def units_of(game: Simulation, player: int) -> dict[int, raw_pb2.Unit]:
    decoded = raw_pb2.ObservationRaw.FromString(UnitWriter(game, player).write())
    return {unit.tag: unit for unit in decoded.units}


def test_decoded_units_are_the_states_units() -> None:
    game = Simulation(make_map(4), (ZERG, TERRAN))
    game.step(300)
    state = game.state
    seen = units_of(game, 0)
    mine = np.flatnonzero((state["alive"] == 1) & (state["owner"] == 0))
    assert {tag(state, int(i)) for i in mine} == {t for t, unit in seen.items() if unit.alliance == raw_pb2.Self}
    for i in mine:
        unit = seen[tag(state, int(i))]
        assert unit.unit_type == unit_types()[state["kind"][i]].unit_id
        assert [unit.pos.x, unit.pos.y] == [float(np.float32(state["x"][i])), float(np.float32(state["y"][i]))]
        assert unit.health == np.float32(state["health"][i])
        assert unit.build_progress == 1
        assert 0 <= unit.facing < 6.2832


def test_orders_are_shown_with_their_abilities_targets_and_progress() -> None:
    game = Simulation(make_map(4), (ZERG, TERRAN))
    state = game.state
    larva = int(np.flatnonzero((state["alive"] == 1) & (state["kind"] == kind("Larva")))[0])
    overlord = int(np.flatnonzero((state["alive"] == 1) & (state["kind"] == kind("Overlord")))[0])
    game.order(0, larva, names.MAKE, kind("Drone"))
    game.order(0, overlord, names.MOVE, x=80, y=90)
    game.order(0, overlord, names.ATTACK, x=10, y=20, queued=True)
    game.step(136)
    seen = units_of(game, 0)
    egg = seen[tag(state, larva)]
    assert egg.unit_type == 103
    assert [(order.ability_id, round(order.progress, 2)) for order in egg.orders] == [(1342, 0.5)]
    flying = seen[tag(state, overlord)]
    assert [order.ability_id for order in flying.orders] == [16, 23]
    assert (flying.orders[0].target_world_space_pos.x, flying.orders[1].target_world_space_pos.y) == (80, 20)
    drones = [unit for unit in seen.values() if unit.unit_type == 104]
    assert {order.ability_id for drone in drones for order in drone.orders} <= {1183, 1184}
    hall = next(unit for unit in seen.values() if unit.unit_type == 86)
    assert (hall.assigned_harvesters, hall.ideal_harvesters) == (12, 16)


def test_enemies_out_of_sight_are_not_sent_and_their_orders_never() -> None:
    game = Simulation(make_map(4), (ZERG, TERRAN))
    assert all(unit.alliance != raw_pb2.Enemy for unit in units_of(game, 0).values())
    x, y = game.map.starts[1]
    scout = game.spawn(kind("Overlord"), 0, x, y)
    game.step(16)
    enemies = [unit for unit in units_of(game, 0).values() if unit.alliance == raw_pb2.Enemy]
    assert {unit.unit_type for unit in enemies} == {18, 45}
    assert all(not unit.orders for unit in enemies)
    game.destroy(scout)
    game.step(16)
    remembered = [unit for unit in units_of(game, 0).values() if unit.alliance == raw_pb2.Enemy]
    assert [(unit.unit_type, unit.display_type) for unit in remembered] == [(18, raw_pb2.Snapshot)]
    assert not remembered[0].HasField("health")


def test_cloaked_units_are_sent_only_when_detected() -> None:
    game = Simulation(make_map(4), (ZERG, TERRAN))
    x, y = game.map.starts[1]
    lurker = game.spawn(kind("LurkerMPBurrowed"), 0, x + 5, y)
    game.step(16)
    assert tag(game.state, lurker) not in units_of(game, 1)
    game.spawn(kind("Raven"), 1, x + 5, y + 3)
    game.step(16)
    assert tag(game.state, lurker) in units_of(game, 1)
