"""The abilities on offer are those that burnysc2 has recorded from the game."""

from __future__ import annotations

import pytest
from sc2.dicts.unit_abilities import UNIT_ABILITIES
from sc2.ids.ability_id import AbilityId
from sc2.ids.unit_typeid import UnitTypeId

from games.zerg.proving_ground.scenes import new_game, rich
from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.offers import available
from understudy.games.zerg.proving_ground.unit_data import kind, unit_types
from understudy.games.zerg.starcraft import PROTOSS, TERRAN, ZERG

HERE = 84.0
# Offered in other versions of the game or in states that the record does not have (loaded, at work, just created).
ALSO_OFFERED = {
    "Bunker": {"EFFECT_SALVAGE"},
    "Nexus": {"BATTERYOVERCHARGE_BATTERYOVERCHARGE"},
    "NydusNetwork": {"UNLOADALL_NYDASNETWORK"},
    "NydusCanal": {"UNLOADALL_NYDUSWORM"},
    "SwarmHostBurrowedMP": {"BURROWUP_SWARMHOST"},
    "WidowMineBurrowed": {"ATTACK_ATTACK", "STOP_STOP"},
}
NOT_MADE_BY_PLAYERS = ("Changeling", "Cocoon", "Egg", "Locust", "Void", "Replicant", "Bypass", "QueenMP")


def offered(name: str, upgraded: bool) -> set[str]:
    game = rich(new_game(TERRAN, ZERG))
    game.state["cheats"][0] = names.CHEAT_TECH
    game.state["upgrade"][0] = upgraded
    if upgraded:
        game.state["speed"][0, kind("RoachBurrowed")] = 0.1
    slot = game.spawn(kind(name), 0, HERE, HERE)
    game.state["energy"][slot] = 200
    return {AbilityId(ability).name for ability in available(game, 0, slot, True)}


def made_by_players() -> list[str]:
    recorded = {unit.value for unit, abilities in UNIT_ABILITIES.items() if abilities}
    return [
        unit.name
        for unit in unit_types()[1:]
        if unit.unit_id in recorded
        and unit.race in (TERRAN, ZERG, PROTOSS)
        and not any(part in unit.name for part in NOT_MADE_BY_PLAYERS)
    ]


@pytest.mark.slow
def test_no_unit_offers_what_it_does_not_offer_in_the_game() -> None:
    checked = 0
    for name in made_by_players():
        unit = next(unit for unit in unit_types()[1:] if unit.name == name)
        real = {ability.name for ability in UNIT_ABILITIES[UnitTypeId(unit.unit_id)]}
        for upgraded in (False, True):
            assert offered(name, upgraded) <= real | ALSO_OFFERED.get(name, set()), name
        checked += 1
    assert checked > 100


@pytest.mark.parametrize(
    ("name", "abilities"),
    [
        ("Overlord", {"SCAN_MOVE", "SMART", "MOVE_MOVE", "MORPH_OVERSEER"}),
        ("Overseer", {"SPAWNCHANGELING_SPAWNCHANGELING"}),
        ("Raven", {"BUILDAUTOTURRET_AUTOTURRET"}),
        ("Medivac", {"LOAD_MEDIVAC", "MEDIVACHEAL_HEAL"}),
        ("Queen", {"BUILD_CREEPTUMOR_QUEEN", "EFFECT_INJECTLARVA"}),
        ("CreepTumorBurrowed", {"BUILD_CREEPTUMOR_TUMOR"}),
        ("Battlecruiser", {"MOVE_BATTLECRUISER", "ATTACK_BATTLECRUISER"}),
        ("Hatchery", {"RALLY_HATCHERY_UNITS", "RALLY_HATCHERY_WORKERS"}),
        ("WarpPrismPhasing", {"LOAD_WARPPRISM", "MORPH_WARPPRISMTRANSPORTMODE"}),
        ("RoachBurrowed", {"MOVE_MOVE", "BURROWUP_ROACH"}),
    ],
)
def test_units_offer_what_they_offer_in_the_game(name: str, abilities: set[str]) -> None:
    assert abilities <= offered(name, upgraded=True)


def test_a_roach_moves_below_the_ground_after_tunneling_claws() -> None:
    game = new_game(ZERG, TERRAN)
    roach = game.spawn(kind("RoachBurrowed"), 0, HERE, HERE)
    assert game.order(0, roach, names.MOVE, x=HERE + 10, y=HERE) == names.NOT_SUPPORTED
    game.finish_upgrade(0, 3)
    assert game.order(0, roach, names.MOVE, x=HERE + 10, y=HERE) == names.SUCCESS
    game.step(40)
    assert game.state["x"][roach] == pytest.approx(HERE + 5, abs=0.3)  # 2.8 a second
