"""The game's own numbers: units, abilities, upgrades, and who makes what.

A unit type has two numbers: `unit_id` of the game, and `kind`, a dense index for the simulation: the row in units.tsv
plus 1; 0 is "none".
"""

from __future__ import annotations

import csv
from functools import cache
from importlib import resources
from typing import NamedTuple

from understudy.games.zerg.proving_ground.vitals import EXTRA_WEAPONS, UNKNOWN, VITALS, Vitals

LIGHT, ARMORED, BIOLOGICAL, MECHANICAL, ROBOTIC, PSIONIC, MASSIVE, STRUCTURE = range(1, 9)
GROUND_WEAPON, AIR_WEAPON, ANY_WEAPON = 1, 2, 3


class Weapon(NamedTuple):
    """One weapon; `speed` is the cooldown in the game's "normal" seconds of 16 loops."""

    type: int
    damage: float
    attacks: int
    range: float
    speed: float
    bonuses: tuple[tuple[int, float], ...]


class UnitType(NamedTuple):
    """One row of units.tsv; costs are as the game's data response states them, sources included."""

    kind: int
    unit_id: int
    name: str
    race: int
    minerals: int
    vespene: int
    build_time: float
    food_required: float
    food_provided: float
    ability_id: int
    tech_requirement: int
    require_attached: bool
    cargo_size: int
    movement_speed: float
    armor: float
    sight_range: float
    unit_alias: int
    has_minerals: bool
    has_vespene: bool
    tech_alias: tuple[int, ...]
    attributes: tuple[int, ...]
    weapons: tuple[Weapon, ...]

    @property
    def vitals(self) -> Vitals:
        """Health, shields, energy and radius; defaults for types that do not occur in melee games."""
        family = (
            "MineralField" if "MineralField" in self.name else "VespeneGeyser" if "Geyser" in self.name else self.name
        )
        return VITALS.get(family, UNKNOWN)

    @property
    def fighting_weapons(self) -> tuple[Weapon, ...]:
        """The weapons it fights with here: the game's list, or ours where the game lists none."""
        extra = EXTRA_WEAPONS.get(self.name)
        if self.weapons or extra is None:
            return self.weapons
        kind, damage, attacks, reach, speed, attribute, bonus = extra
        return (Weapon(kind, damage, attacks, reach, speed, ((attribute, bonus),) if attribute else ()),)


class Ability(NamedTuple):
    """One row of abilities.tsv."""

    ability_id: int
    remaps_to: int
    target: int
    allow_minimap: bool
    allow_autocast: bool
    is_building: bool
    is_instant_placement: bool
    footprint_radius: float
    cast_range: float
    link_index: int
    link_name: str
    button_name: str
    friendly_name: str


class Upgrade(NamedTuple):
    """One row of upgrades.tsv."""

    upgrade_id: int
    name: str
    minerals: int
    vespene: int
    research_time: float
    ability_id: int


class Production(NamedTuple):
    """Producer and product by the game's ids; `is_upgrade` says whether the product is an upgrade."""

    producer: int
    product: int
    is_upgrade: bool
    ability_id: int
    required_building: int
    required_upgrade: int
    techlab: bool


def _rows(table: str) -> list[list[str]]:
    text = resources.files(f"{__package__}.data").joinpath(f"{table}.tsv").read_text(encoding="utf-8")
    return list(csv.reader(text.splitlines(), delimiter="\t"))[1:]


def _weapon(text: str) -> Weapon:
    kind, damage, attacks, reach, speed, *bonuses = text.split(",")
    pairs = tuple((int(a), float(b)) for a, b in (bonus.split(":") for bonus in bonuses))
    return Weapon(int(kind), float(damage), int(attacks), float(reach), float(speed), pairs)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(",") if part)


@cache
def unit_types() -> tuple[UnitType, ...]:
    """All unit types, by kind; the first one, kind 0, is a blank."""
    blank = UnitType(0, 0, "", 0, 0, 0, 0.0, 0.0, 0.0, 0, 0, False, 0, 0.0, 0.0, 0.0, 0, False, False, (), (), ())
    types = [blank]
    for kind, row in enumerate(_rows("units"), start=1):
        types.append(
            UnitType(
                kind,
                int(row[0]),
                row[1],
                int(row[2]),
                int(row[3]),
                int(row[4]),
                float(row[5]),
                float(row[6]),
                float(row[7]),
                int(row[8]),
                int(row[9]),
                row[10] == "1",
                int(row[11]),
                float(row[12]),
                float(row[13]),
                float(row[14]),
                int(row[15]),
                row[16] == "1",
                row[17] == "1",
                _numbers(row[18]),
                _numbers(row[19]),
                tuple(_weapon(text) for text in row[20].split(";") if text),
            )
        )
    return tuple(types)


@cache
def abilities() -> tuple[Ability, ...]:
    """All abilities that burnysc2 knows and the game offers."""
    return tuple(
        Ability(
            int(r[0]),
            int(r[1]),
            int(r[2]),
            r[3] == "1",
            r[4] == "1",
            r[5] == "1",
            r[6] == "1",
            float(r[7]),
            float(r[8]),
            int(r[9]),
            r[10],
            r[11],
            r[12],
        )
        for r in _rows("abilities")
    )


@cache
def upgrades() -> tuple[Upgrade, ...]:
    """All upgrades that can be researched."""
    return tuple(Upgrade(int(r[0]), r[1], int(r[2]), int(r[3]), float(r[4]), int(r[5])) for r in _rows("upgrades"))


@cache
def production() -> tuple[Production, ...]:
    """Who makes what, by which ability, and what must stand or be known before."""
    return tuple(
        Production(int(r[0]), int(r[1]), r[2] == "1", int(r[3]), int(r[4]), int(r[5]), r[6] == "1")
        for r in _rows("production")
    )


@cache
def kinds_by_id() -> dict[int, int]:
    """From the game's unit id to the kind."""
    return {unit.unit_id: unit.kind for unit in unit_types()[1:]}


@cache
def kinds_by_name() -> dict[str, int]:
    """From the name in units.tsv to the kind."""
    return {unit.name: unit.kind for unit in unit_types()[1:]}


def kind(name: str) -> int:
    """The kind of the unit with this name; KeyError if there is none."""
    return kinds_by_name()[name]
