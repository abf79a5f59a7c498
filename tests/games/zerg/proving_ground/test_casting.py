from __future__ import annotations

import numpy as np
import pytest

from games.zerg.proving_ground.scenes import new_game
from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.abilities import command_for
from understudy.games.zerg.proving_ground.map_parts import Point
from understudy.games.zerg.proving_ground.rules import BILE, BLINK, BLINK_TECH, FUNGAL, PSI_STORM, SCAN, STORM
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.starcraft import PROTOSS, TERRAN, ZERG


def stage(first: int, second: int = ZERG) -> tuple[Simulation, Point]:
    game = new_game(first, second)
    return game, game.map.bases[2].center


def caster(game: Simulation, name: str, place: Point, energy: float = 200.0) -> int:
    slot = game.spawn(kind(name), 0, *place)
    game.state["energy"][slot] = energy
    return slot


@pytest.mark.slow
def test_a_scan_shows_a_far_place_and_what_is_hidden_there_for_a_while() -> None:
    game, _ = stage(TERRAN)
    goal = game.map.starts[1]
    hidden = game.spawn(kind("RoachBurrowed"), 1, goal[0] + 4, goal[1])
    orbital = caster(game, "OrbitalCommand", game.map.bases[2].center, 60.0)
    game.step(16)
    assert game.state["seen"][0, hidden] == 0
    assert game.order(0, orbital, names.CAST, SCAN, x=goal[0], y=goal[1]) == names.SUCCESS
    assert game.order(0, orbital, names.CAST, SCAN, x=goal[0], y=goal[1]) == names.NOT_ENOUGH_ENERGY
    game.step(16)
    assert game.state["seen"][0, hidden] == 1
    game.step(300)
    assert game.state["seen"][0, hidden] == 0
    assert game.state["areas"] == 0


def test_a_storm_hurts_everybody_in_it_and_no_structure() -> None:
    game, (x, y) = stage(PROTOSS)
    templar = caster(game, "HighTemplar", (x, y))
    assert game.order(0, templar, names.CAST, STORM, x=x + 8, y=y) == names.TECH_NOT_MET
    game.finish_upgrade(0, PSI_STORM)
    roach, pool = game.spawn(kind("Roach"), 1, x + 8, y), game.spawn(kind("EvolutionChamber"), 1, x + 8, y + 2)
    game.state["speed"][1] = 0.0
    before = float(game.state["health"][pool])
    assert game.order(0, templar, names.CAST, STORM, x=x + 8, y=y) == names.SUCCESS
    game.order(0, templar, names.HOLD, queued=True)
    game.step(80)
    assert 60 <= 145.0 - game.state["health"][roach] <= 81
    assert game.state["health"][pool] >= before
    assert game.state["energy"][templar] < 130


def test_a_bile_falls_after_a_while_and_hits_structures_too() -> None:
    game, (x, y) = stage(ZERG, TERRAN)
    ravager = caster(game, "Ravager", (x, y))
    depot = game.spawn(kind("SupplyDepot"), 1, x + 9, y)
    assert game.order(0, ravager, names.CAST, BILE, x=x + 9, y=y) == names.SUCCESS
    game.order(0, ravager, names.HOLD, queued=True)
    game.step(30)
    assert game.state["health"][depot] == 400.0
    assert game.order(0, ravager, names.CAST, BILE, x=x + 9, y=y) == names.COOLING_DOWN
    game.step(40)
    assert game.state["health"][depot] <= 340.0


def test_fungal_growth_hurts_enemies_and_holds_them() -> None:
    game, (x, y) = stage(ZERG, TERRAN)
    infestor = caster(game, "Infestor", (x, y))
    reaper = game.spawn(kind("Hellion"), 1, x + 9, y)
    game.order(0, infestor, names.CAST, FUNGAL, x=x + 9, y=y)
    game.step(2)
    at = float(game.state["x"][reaper])
    assert game.state["health"][reaper] == 60.0
    game.order(1, reaper, names.MOVE, x=x + 30, y=y)
    game.step(40)
    assert abs(game.state["x"][reaper] - at) < 0.5
    game.step(60)
    assert abs(game.state["x"][reaper] - at) > 2


def test_a_stalker_blinks_eight_cells_and_then_has_to_wait() -> None:
    game, (x, y) = stage(PROTOSS)
    stalker = caster(game, "Stalker", (x, y))
    assert game.order(0, stalker, names.CAST, BLINK, x=x, y=y + 20) == names.TECH_NOT_MET
    game.finish_upgrade(0, BLINK_TECH)
    ground = game.terrain["pathable"][0]
    ways = ((8, 0), (0, 8), (-8, 0), (0, -8))
    forward = next((dx, dy) for dx, dy in ways if ground[int(y + dy), int(x + dx)])
    assert game.order(0, stalker, names.CAST, BLINK, x=x + 2 * forward[0], y=y + 2 * forward[1]) == names.SUCCESS
    assert np.hypot(game.state["x"][stalker] - x, game.state["y"][stalker] - y) == 8.0
    assert game.order(0, stalker, names.CAST, BLINK, x=x, y=y) == names.COOLING_DOWN
    assert game.order(0, stalker, names.CAST, STORM, x=x, y=y) == names.NOT_SUPPORTED


def order_of(game: Simulation, slot: int, ability: int) -> tuple[int, int]:
    meant = command_for(int(game.state["kind"][slot]), ability)
    assert meant is not None
    return meant.order, meant.argument


@pytest.mark.parametrize("ability", [4128, 32, 1624])
def test_a_salvaged_bunker_returns_three_quarters_of_its_price_and_its_crew(ability: int) -> None:
    game, place = stage(TERRAN)
    bunker, marine = game.spawn(kind("Bunker"), 0, *place), game.spawn(kind("Marine"), 0, place[0] + 2.5, place[1])
    game.order(0, bunker, names.LOAD, target=marine)
    game.step(30)
    assert game.state["carrier"][marine] == bunker + 1
    game.state["minerals"][0] = 0
    assert game.order(0, bunker, *order_of(game, bunker, ability)) == names.SUCCESS
    assert game.state["minerals"][0] == 75
    assert (game.state["alive"][bunker], game.state["alive"][marine], game.state["carrier"][marine]) == (0, 1, 0)


def test_a_nexus_gives_energy_to_a_unit_that_has_some() -> None:
    game, place = stage(PROTOSS)
    nexus, templar = caster(game, "Nexus", place, 60.0), caster(game, "HighTemplar", (place[0] + 5, place[1]), 20.0)
    zealot = game.spawn(kind("Zealot"), 0, place[0] + 5, place[1] + 2)
    recharge = order_of(game, nexus, 4126)
    assert game.order(0, nexus, *recharge, target=zealot) == names.CANT_TARGET_THAT_UNIT
    assert game.order(0, nexus, *recharge, target=templar) == names.SUCCESS
    game.step(2)
    assert 120 <= game.state["energy"][templar] < 121
    assert game.state["energy"][nexus] < 11
