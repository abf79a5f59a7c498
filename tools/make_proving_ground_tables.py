"""Writes the proving ground's tables of units, abilities, upgrades and production.

    python tools/make_proving_ground_tables.py RECORDED_GAME_DATA.pb

The numbers come from a ResponseData that the game itself sent; who builds what comes from burnysc2's dictionaries.
Only what a melee
game can hold is kept. What the game does not tell (health, radius, upgrades' effects) is written by hand in
`unit_data.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from s2clientprotocol import sc2api_pb2
from sc2.dicts.unit_abilities import UNIT_ABILITIES
from sc2.dicts.unit_research_abilities import RESEARCH_INFO
from sc2.dicts.unit_train_build_abilities import TRAIN_INFO
from sc2.ids.ability_id import AbilityId
from sc2.ids.unit_typeid import UnitTypeId

from understudy.games.zerg.proving_ground.recorded_data import UNIT_FIELDS

TABLES = Path(__file__).resolve().parent.parent / "src/understudy/games/zerg/proving_ground/data"
# Types that no dictionary of burnysc2 names and that a melee game holds all the same.
ALSO = [
    "LARVA",
    "EGG",
    "BROODLORDCOCOON",
    "OVERLORDCOCOON",
    "RAVAGERCOCOON",
    "LURKERMPEGG",
    "BANELINGCOCOON",
    "TRANSPORTOVERLORDCOCOON",
    "MULE",
    "BROODLING",
    "INTERCEPTOR",
    "MINERALFIELD",
    "MINERALFIELD750",
    "RICHMINERALFIELD",
    "RICHMINERALFIELD750",
    "LABMINERALFIELD",
    "LABMINERALFIELD750",
    "PURIFIERMINERALFIELD",
    "PURIFIERMINERALFIELD750",
    "VESPENEGEYSER",
    "RICHVESPENEGEYSER",
    "SPACEPLATFORMGEYSER",
    "EXTRACTORRICH",
    "REFINERYRICH",
    "ASSIMILATORRICH",
    "AUTOTURRET",
    "CHANGELING",
    "LOCUSTMP",
    "CREEPTUMOR",
    "CREEPTUMORQUEEN",
    "CREEPTUMORBURROWED",
    "NYDUSCANAL",
    "TECHLAB",
    "REACTOR",
    "ARCHON",
    "UNBUILDABLEPLATESDESTRUCTIBLE",
    "XELNAGATOWER",
    "DESTRUCTIBLEROCK6X6",
    "KD8CHARGE",
    "ADEPTPHASESHIFT",
    "FORCEFIELD",
    "DISRUPTORPHASED",
    "ORACLESTASISTRAP",
    "POINTDEFENSEDRONE",
    "BARRACKSREACTOR",
    "FACTORYREACTOR",
    "STARPORTREACTOR",
]


def main(recorded: Path) -> None:
    """Write the four tables from one recorded ResponseData."""
    data = sc2api_pb2.Response.FromString(recorded.read_bytes()).data
    kept = {unit.value for unit in melee_types()}
    write("units", UNIT_COLUMNS, (unit_row(unit) for unit in data.units if unit.available and unit.unit_id in kept))
    known = {ability.value for ability in AbilityId}
    made_by = {int(str(row[3])) for row in production_rows()} | {u.ability_id for u in data.units if u.unit_id in kept}
    offered = (a for a in data.abilities if a.ability_id in known and (a.available or a.ability_id in made_by))
    write("abilities", ABILITY_COLUMNS, map(ability_row, offered))
    upgrades = (u for u in data.upgrades if u.ability_id)
    write("upgrades", UPGRADE_COLUMNS, ([getattr(u, c) for c in UPGRADE_COLUMNS] for u in upgrades))
    write("production", PRODUCTION_COLUMNS, production_rows())


def melee_types() -> set[UnitTypeId]:
    """Every type that burnysc2 knows an ability, a producer or a product of, and a few more."""
    types = (
        set(UNIT_ABILITIES) | set(TRAIN_INFO) | {product for products in TRAIN_INFO.values() for product in products}
    )
    return types | {UnitTypeId[name] for name in ALSO}


UNIT_COLUMNS = ["unit_id", "name", "race", *(field for field in UNIT_FIELDS if field != "race")]


def unit_row(unit: Any) -> list[object]:
    """One line of units.tsv; a weapon is type,damage,attacks,range,speed and then attribute:bonus."""
    weapons = ";".join(
        ",".join(
            [plain(w.type), plain(w.damage), plain(w.attacks), plain(w.range), plain(w.speed)]
            + [f"{b.attribute}:{plain(b.bonus)}" for b in w.damage_bonus]
        )
        for w in unit.weapons
    )
    lists = [",".join(map(str, unit.tech_alias)), ",".join(map(str, unit.attributes)), weapons]
    return [getattr(unit, column) for column in UNIT_COLUMNS[:-3]] + lists


ABILITY_COLUMNS = [
    "ability_id",
    "remaps_to_ability_id",
    "target",
    "allow_minimap",
    "allow_autocast",
    "is_building",
    "is_instant_placement",
    "footprint_radius",
    "cast_range",
    "link_index",
    "link_name",
    "button_name",
    "friendly_name",
]


def ability_row(ability: Any) -> list[object]:
    """One line of abilities.tsv."""
    return [getattr(ability, column) for column in ABILITY_COLUMNS]


UPGRADE_COLUMNS = ["upgrade_id", "name", "mineral_cost", "vespene_cost", "research_time", "ability_id"]
PRODUCTION_COLUMNS = [
    "producer",
    "product",
    "is_upgrade",
    "ability",
    "required_building",
    "required_upgrade",
    "techlab",
]


def production_rows() -> Iterable[list[object]]:
    """Who makes what, by which ability, and what must stand or be known before."""
    for is_upgrade, info in ((0, TRAIN_INFO), (1, RESEARCH_INFO)):
        for producer, products in info.items():
            for product, how in products.items():
                details: dict[str, Any] = dict(how)
                building, upgrade = details.get("required_building"), details.get("required_upgrade")
                yield [
                    producer.value,
                    product.value,
                    is_upgrade,
                    details["ability"].value,
                    building.value if building else 0,
                    upgrade.value if upgrade else 0,
                    int(details.get("requires_techlab", False)),
                ]


def plain(value: object) -> str:
    """A number as short as it can be without losing a bit of its 32."""
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def write(name: str, columns: list[str], rows: Iterable[list[object]]) -> None:
    """Write one table, sorted, so that a new game version shows as a small difference."""
    lines = ["\t".join(columns)] + [
        "\t".join(plain(value) for value in row) for row in sorted(rows, key=lambda r: [str(v).zfill(8) for v in r[:2]])
    ]
    (TABLES / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{name}: {len(lines) - 1} rows")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
