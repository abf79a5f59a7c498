from __future__ import annotations

from typing import Any

from s2clientprotocol import sc2api_pb2
from sc2.dicts.unit_train_build_abilities import TRAIN_INFO
from sc2.ids.ability_id import AbilityId
from sc2.ids.unit_typeid import UnitTypeId

from understudy.games.zerg.proving_ground.abilities import command_for
from understudy.games.zerg.proving_ground.rules import rules
from understudy.games.zerg.proving_ground.static_responses import data_response
from understudy.games.zerg.proving_ground.unit_data import kind, kinds_by_id, unit_types, upgrades
from understudy.games.zerg.proving_ground.vitals import UNKNOWN
from understudy.games.zerg.starcraft import ZERG

# Written down from the game's own numbers (patch 4.10 and later), independently of the tables.
KNOWN: dict[str, dict[str, float]] = {
    "Zergling": {"minerals": 25, "vespene": 0, "build_time": 384, "food_required": 0.5, "sight_range": 8},
    "Roach": {"minerals": 75, "vespene": 25, "build_time": 432, "food_required": 2, "armor": 1},
    "Marine": {"minerals": 50, "vespene": 0, "build_time": 400, "food_required": 1, "movement_speed": 2.25},
    "Stalker": {"minerals": 125, "vespene": 50, "food_required": 2, "armor": 1, "sight_range": 10},
    "Hatchery": {"build_time": 1600, "food_provided": 6, "armor": 1},
    "Overlord": {"minerals": 100, "build_time": 400, "food_provided": 8},
}


def test_known_numbers_are_in_the_tables() -> None:
    for name, numbers in KNOWN.items():
        unit = unit_types()[kind(name)]
        assert {field: getattr(unit, field) for field in numbers} == numbers, name


def test_every_unit_a_race_can_make_has_health_of_its_own() -> None:
    table: Any = TRAIN_INFO
    makable = {product for products in table.values() for product in products} - {UnitTypeId.LOCUSTMPFLYING}
    unknown = [u.name for u in unit_types()[1:] if u.unit_id in {m.value for m in makable} and u.vitals is UNKNOWN]
    assert unknown == []


def test_prices_leave_out_what_is_used_up() -> None:
    block = rules()[0]

    def price(source: str, result: str) -> tuple[float, float]:
        return block["minerals"][kind(source), kind(result)], block["vespene"][kind(source), kind(result)]

    assert price("Larva", "Zergling") == (50, 0)  # a pair
    assert price("Drone", "SpawningPool") == (200, 0)
    assert price("Hatchery", "Lair") == (150, 100)
    assert price("Zergling", "Baneling") == (25, 25)
    assert price("Roach", "Ravager") == (25, 75)
    assert price("CommandCenter", "OrbitalCommand") == (150, 0)
    assert price("SCV", "Barracks") == (150, 0)


def test_weapons_carry_bonus_damage_and_cooldown_in_loops() -> None:
    block = rules()[0]
    marauder = kind("Marauder")
    assert block["damage"][marauder].tolist() == [10, 0]  # nothing against air
    assert block["bonus"][marauder, 0] == 10
    assert block["bonus_mask"][marauder, 0] == 1 << 2  # armored
    assert block["cooldown"][marauder, 0] == 24.0


def test_lair_and_hive_count_as_a_hatchery() -> None:
    counts = rules()["counts_as"][0]
    assert counts[kind("Lair"), kind("Hatchery")] == 1
    assert counts[kind("Hive"), kind("Lair")] == 1
    assert counts[kind("Hatchery"), kind("Lair")] == 0


def test_ids_and_kinds_are_one_to_one() -> None:
    assert len(kinds_by_id()) == len(unit_types()) - 1
    assert sum(unit.race == ZERG for unit in unit_types()) > 50
    assert len({upgrade.upgrade_id for upgrade in upgrades()}) == len(upgrades())


def test_every_ability_that_burnysc2_names_is_in_the_data_and_unknown_ones_are_refused() -> None:
    response = sc2api_pb2.Response.FromString(data_response())
    there = {ability.ability_id: ability for ability in response.data.abilities}
    assert {ability.value for ability in AbilityId if ability.value} <= set(there)
    assert len(there) == len(response.data.abilities)
    assert command_for(kind("SCV"), AbilityId.LOADOUTSPRAY_LOADOUTSPRAY1.value) is None
