"""Spells and shapes of all three races: each does what the game's does, and is offered when it can be used."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from s2clientprotocol import raw_pb2

from games.zerg.proving_ground.scenes import new_game, rich
from games.zerg.proving_ground.test_casting import caster, order_of, stage
from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.kernels.tally import ARMY_COUNT, COLUMNS, SUPPLY_CAP, SUPPLY_USED, tally
from understudy.games.zerg.proving_ground.offers import available
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.proving_ground.wire import UnitWriter
from understudy.games.zerg.starcraft import PROTOSS, TERRAN, ZERG

PULSAR_ON, PULSAR_OFF, PHOENIX, FORCE_FIELD, EXTRA_SUPPLIES = 2375, 2376, 154, 1526, 255
SHADOW_STRIDE, EXPLODE, CONTAMINATE, CONSUME, REVELATION, CHARGE = 2700, 42, 1825, 2073, 2146, 1819
HEAL, CREEP_ON, HOLD_FIRE, UPROOT, ROOT, WORM, ZONE = 386, 1692, 2550, 1725, 1729, 1768, 2558


def sums(game: Simulation) -> Any:
    numbers = np.zeros(COLUMNS)
    tally(game.block, game.rules, 0, numbers)
    return numbers


def offered(game: Simulation, slot: int, ability: int) -> bool:
    return ability in available(game, 0, slot, False)


def cast(game: Simulation, slot: int, ability: int, **target: Any) -> int:
    return game.order(0, slot, *order_of(game, slot, ability), **target)


def hold_still(game: Simulation, *units: int) -> None:
    """These units stay where they are."""
    for slot in units:
        game.state["speed"][:, game.state["kind"][slot]] = 0.0


def test_an_oracle_shoots_only_with_its_beam_which_costs_energy() -> None:
    game, (x, y) = stage(PROTOSS, TERRAN)
    oracle, marine = caster(game, "Oracle", (x, y), 60.0), game.spawn(kind("SCV"), 1, x + 3, y)
    hold_still(game, marine)
    game.step(40)
    assert game.state["health"][marine] == 45.0
    assert (offered(game, oracle, PULSAR_ON), offered(game, oracle, PULSAR_OFF)) == (True, False)
    assert cast(game, oracle, PULSAR_ON) == names.SUCCESS
    assert (offered(game, oracle, PULSAR_ON), offered(game, oracle, PULSAR_OFF)) == (False, True)
    game.step(40)
    assert not game.state["alive"][marine] or game.state["health"][marine] < 45.0
    assert game.state["energy"][oracle] < 35.0


def test_hallucinations_need_no_supply_hurt_nobody_and_suffer_twice() -> None:
    game, (x, y) = stage(PROTOSS, TERRAN)
    sentry = caster(game, "Sentry", (x, y))
    before = sums(game)
    assert cast(game, sentry, PHOENIX) == names.SUCCESS
    (bird,) = np.flatnonzero((game.state["kind"] == kind("Phoenix")) & (game.state["alive"] == 1))
    assert sums(game)[[SUPPLY_USED, ARMY_COUNT]].tolist() == before[[SUPPLY_USED, ARMY_COUNT]].tolist()
    units = raw_pb2.ObservationRaw.FromString(UnitWriter(game, 0).write()).units
    assert [unit.is_hallucination for unit in units if unit.unit_type == 78] == [True]
    assert game.order(0, int(bird), names.MOVE, x=x + 5, y=y) == names.SUCCESS
    victim = game.spawn(kind("Medivac"), 1, x + 4, y)
    shooter = game.spawn(kind("VikingFighter"), 1, x + 9, y)
    hold_still(game, victim, shooter)
    assert game.order(1, shooter, names.ATTACK, target=int(bird)) == names.SUCCESS
    game.step(20)
    assert game.state["health"][victim] == 150.0
    assert game.state["shield"][bird] == 60.0 - 2 * 2 * 10.0
    assert game.state["score"][0, names.LOST_MINERALS_ARMY] == 0
    game.step(963)
    assert not game.state["alive"][bird]


def test_a_force_field_keeps_ground_units_out_and_breaks_under_a_massive_one() -> None:
    game, (x, y) = stage(PROTOSS, ZERG)
    sentry = caster(game, "Sentry", (x, y))
    zergling = game.spawn(kind("Zergling"), 1, x + 7, y)
    assert cast(game, sentry, FORCE_FIELD, x=x + 7, y=y) == names.SUCCESS
    game.step(4)
    assert np.hypot(game.state["x"][zergling] - x - 7, game.state["y"][zergling] - y) >= 1.7
    field = (game.state["kind"] == kind("ForceField")) & (game.state["alive"] == 1)
    assert field.sum() == 1
    game.spawn(kind("Ultralisk"), 1, x + 7, y)
    game.step(4)
    assert not ((game.state["kind"] == kind("ForceField")) & (game.state["alive"] == 1)).any()
    assert game.state["areas"] == 0


def test_extra_supplies_go_to_a_depot_once() -> None:
    game, place = stage(TERRAN)
    orbital, depot = caster(game, "OrbitalCommand", place), game.spawn(kind("SupplyDepot"), 0, place[0] + 6, place[1])
    before = sums(game)[SUPPLY_CAP]
    assert cast(game, orbital, EXTRA_SUPPLIES, target=orbital) == names.CANT_TARGET_THAT_UNIT
    assert cast(game, orbital, EXTRA_SUPPLIES, target=depot) == names.SUCCESS
    game.step(2)
    assert sums(game)[SUPPLY_CAP] == before + 8
    assert cast(game, orbital, EXTRA_SUPPLIES, target=depot) == names.CANT_TARGET_THAT_UNIT


def test_a_medivac_heals_whom_it_is_told_to() -> None:
    game, (x, y) = stage(TERRAN)
    medivac, marine = caster(game, "Medivac", (x, y)), game.spawn(kind("Marine"), 0, x + 8, y)
    tank = game.spawn(kind("SiegeTank"), 0, x, y + 3)
    game.state["health"][marine] = 5.0
    assert cast(game, medivac, HEAL, target=tank) == names.CANT_TARGET_THAT_UNIT
    assert cast(game, medivac, HEAL, target=marine) == names.SUCCESS
    units = raw_pb2.ObservationRaw.FromString(UnitWriter(game, 0).write()).units
    assert [order.ability_id for unit in units if unit.unit_type == 54 for order in unit.orders] == [HEAL]
    game.step(160)
    assert game.state["health"][marine] == 45.0
    assert game.state["orders"][medivac] == 0


def test_a_nydus_network_carries_units_to_a_worm_and_keeps_them_when_the_worm_dies() -> None:
    game = rich(new_game(ZERG, TERRAN))
    (x, y), goal = game.map.bases[2].center, game.map.bases[4].center
    network, roach = game.spawn(kind("NydusNetwork"), 0, x, y), game.spawn(kind("Roach"), 0, x + 3, y)
    assert cast(game, network, WORM, x=goal[0], y=goal[1]) == names.CANT_BUILD_HERE  # not in sight
    game.spawn(kind("Overlord"), 0, *goal)
    game.step(16)
    assert cast(game, network, WORM, x=goal[0], y=goal[1]) == names.SUCCESS
    game.step(400)
    (worm,) = np.flatnonzero((game.state["kind"] == kind("NydusCanal")) & (game.state["alive"] == 1))
    assert game.state["progress"][worm] == 1
    assert game.order(0, network, names.LOAD, target=roach) == names.SUCCESS
    game.step(60)
    assert game.state["carrier"][roach] == network + 1
    assert game.order(0, int(worm), names.UNLOAD) == names.SUCCESS
    game.step(2)
    assert np.hypot(game.state["x"][roach] - goal[0], game.state["y"][roach] - goal[1]) < 6
    assert game.state["loaded"][network] == 0
    game.order(0, roach, names.SMART, target=int(worm))
    game.step(60)
    assert game.state["carrier"][roach] == worm + 1
    game.destroy(int(worm))
    assert game.state["carrier"][roach] == network + 1
    game.destroy(network)
    assert not game.state["alive"][roach]


def test_a_liberator_hits_only_in_its_zone() -> None:
    game, (x, y) = stage(TERRAN, ZERG)
    liberator = game.spawn(kind("Liberator"), 0, x, y)
    inside, outside = game.spawn(kind("Roach"), 1, x + 9, y), game.spawn(kind("Roach"), 1, x, y + 2)
    hold_still(game, inside)
    assert cast(game, liberator, ZONE, x=x + 9, y=y) == names.SUCCESS
    game.step(140)
    assert game.state["kind"][liberator] == kind("LiberatorAG")
    assert not game.state["alive"][inside] or game.state["health"][inside] < 145.0
    assert game.state["health"][outside] == 145.0


def test_a_spine_crawler_walks_and_roots_on_creep_only() -> None:
    game = new_game(ZERG, TERRAN)
    x, y = game.map.starts[0]
    spine = game.spawn(kind("SpineCrawler"), 0, x + 7, y + 3)
    assert cast(game, spine, UPROOT) == names.SUCCESS
    game.step(40)
    assert game.state["kind"][spine] == kind("SpineCrawlerUprooted")
    assert cast(game, spine, ROOT, x=x + 60, y=y + 60) == names.CANT_LAND
    assert game.order(0, spine, names.SMART, x=x + 7, y=y + 5) == names.SUCCESS
    assert game.state["order"][spine, 0] == names.MOVE
    game.step(64)
    assert cast(game, spine, ROOT, x=x + 7, y=y + 6) == names.SUCCESS
    game.step(200)
    assert game.state["kind"][spine] == kind("SpineCrawler")


def test_a_baneling_explodes_on_command() -> None:
    game, (x, y) = stage(ZERG, TERRAN)
    baneling, marine = game.spawn(kind("BanelingBurrowed"), 0, x, y), game.spawn(kind("Marine"), 1, x + 1, y)
    friend = game.spawn(kind("Zergling"), 0, x - 1, y)
    hold_still(game, marine, friend)
    assert cast(game, baneling, EXPLODE) == names.SUCCESS
    game.step(1)
    assert not game.state["alive"][baneling]
    assert game.state["health"][marine] == 45.0 - 35.0
    assert game.state["health"][friend] == 35.0


def test_a_templar_strides_a_zealot_charges_and_both_need_their_upgrade() -> None:
    game, (x, y) = stage(PROTOSS, TERRAN)
    templar, zealot = game.spawn(kind("DarkTemplar"), 0, x, y), game.spawn(kind("Zealot"), 0, x, y + 2)
    depot = game.spawn(kind("SupplyDepot"), 1, x + 6, y + 2)
    assert cast(game, templar, SHADOW_STRIDE, x=x + 5, y=y) == names.TECH_NOT_MET
    game.finish_upgrade(0, 141)
    game.finish_upgrade(0, 86)
    game.step(16)
    assert cast(game, templar, SHADOW_STRIDE, x=x + 5, y=y) == names.SUCCESS
    assert cast(game, zealot, CHARGE, target=depot) == names.SUCCESS
    game.step(8)
    assert game.state["x"][templar] == pytest.approx(x + 5, abs=1.0)
    assert game.state["order"][zealot, 0] in (names.ATTACK, names.CAST)
    assert cast(game, templar, SHADOW_STRIDE, x=x, y=y) == names.COOLING_DOWN


def test_contamination_stops_production_and_consuming_gives_energy() -> None:
    game, (x, y) = stage(ZERG, TERRAN)
    rich(game)
    barracks = game.spawn(kind("Barracks"), 1, x + 4, y)
    overseer, viper = caster(game, "Overseer", (x, y)), caster(game, "Viper", (x, y), 10.0)
    hatchery = game.spawn(kind("EvolutionChamber"), 0, x - 4, y)
    game.step(16)
    assert cast(game, overseer, CONTAMINATE, target=barracks) == names.SUCCESS
    assert cast(game, viper, CONSUME, target=hatchery) == names.SUCCESS
    game.step(60)
    game.order(1, barracks, names.MAKE, kind("Marine"))
    game.step(60)
    assert game.state["order_progress"][barracks, 0] == 0
    assert game.state["energy"][viper] >= 60.0
    assert game.state["health"][hatchery] == pytest.approx(550.0, abs=10.0)


def test_a_revealed_unit_is_seen_and_an_overlord_makes_creep_with_a_lair() -> None:
    game, (x, y) = stage(PROTOSS, TERRAN)
    oracle, banshee = caster(game, "Oracle", (x, y)), game.spawn(kind("Banshee"), 1, x + 8, y)
    game.state["buffs"][banshee] |= 1 << 2
    game.state["buff_until"][banshee, 2] = 1 << 40
    game.state["energy"][banshee] = 200.0
    game.step(16)
    assert not game.state["seen"][0, banshee]
    assert cast(game, oracle, REVELATION, x=x + 8, y=y) == names.SUCCESS
    game.step(32)
    assert game.state["seen"][0, banshee]

    game = new_game(ZERG, TERRAN)
    x, y = game.map.bases[2].center
    overlord = game.spawn(kind("Overlord"), 0, x, y)
    assert cast(game, overlord, CREEP_ON) == names.TECH_NOT_MET
    game.spawn(kind("Lair"), 0, *game.map.bases[4].center)
    assert cast(game, overlord, CREEP_ON) == names.SUCCESS
    game.step(640)
    assert game.state["creep_grid"][int(y), int(x)]


def test_a_lurker_that_holds_fire_waits_for_the_order() -> None:
    game, (x, y) = stage(ZERG, TERRAN)
    lurker, marine = game.spawn(kind("LurkerMPBurrowed"), 0, x, y), game.spawn(kind("Marauder"), 1, x + 4, y)
    hold_still(game, marine)
    assert cast(game, lurker, HOLD_FIRE) == names.SUCCESS
    game.step(60)
    assert game.state["health"][marine] == 125.0
    assert game.order(0, lurker, names.ATTACK, target=marine) == names.SUCCESS
    game.step(60)
    assert not game.state["alive"][marine] or game.state["health"][marine] < 125.0
