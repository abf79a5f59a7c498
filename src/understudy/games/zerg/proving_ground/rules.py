"""The rules as one block of numbers that kernels read: unit types, production, upgrades.

Times are in game loops, speeds in cells a loop. Costs are what a player pays; those of the data response include the
price of the source.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg.proving_ground import unit_data
from understudy.games.zerg.proving_ground.forms import (
    ADDONS,
    COCOONS,
    MORPHS,
    MOVABLE,
    SHAPE_LOOPS,
    SHAPE_SECONDS,
    SHAPES,
)
from understudy.games.zerg.proving_ground.spells import BUFF_IDS, BUFFS, MOST_SPELLS, SPELLS
from understudy.games.zerg.proving_ground.unit_data import (
    AIR_WEAPON,
    ANY_WEAPON,
    GROUND_WEAPON,
    STRUCTURE,
    UnitType,
    kind,
)
from understudy.games.zerg.proving_ground.upgrade_effects import EFFECTS
from understudy.games.zerg.proving_ground.vitals import (
    ADDON_SIZE,
    AIR_DAMAGE,
    CLOAKED,
    CREEP_RADIUS,
    CREEP_SPEED,
    DETECTORS,
    FLYING,
    FOOTPRINTS,
    FREE_OF_CREEP,
    GAS_BUILDINGS,
    NOT_ARMY,
    ROOM,
    SPLASH,
    TOWNHALLS,
    UNPOWERED,
    WARP_PAUSE,
    WORKERS,
)
from understudy.games.zerg.starcraft import LOOPS_PER_DATA_SECOND, LOOPS_PER_SECOND, PROTOSS, ZERG

KINDS, UPGRADES, EFFECT_ROWS = 224, 320, 1024

# How a product is made.
NOT_MADE, TRAIN, MORPH, HATCH, BUILD, WARP, ADDON = range(7)

RULES = np.dtype(
    [
        ("unit_id", "i4", KINDS),
        ("race", "i1", KINDS),
        ("health", "f8", KINDS),
        ("shields", "f8", KINDS),
        ("energy", "f8", KINDS),
        ("radius", "f8", KINDS),
        ("footprint", "i4", KINDS),
        ("speed", "f8", KINDS),
        ("creep_speed", "f8", KINDS),
        ("sight", "f8", KINDS),
        ("armor", "f8", KINDS),
        ("attributes", "i4", KINDS),
        ("flying", "u1", KINDS),
        ("structure", "u1", KINDS),
        ("worker", "u1", KINDS),
        ("townhall", "u1", KINDS),
        ("gas", "u1", KINDS),
        ("minerals_here", "u1", KINDS),
        ("geyser", "u1", KINDS),
        ("cloaked", "u1", KINDS),
        ("detector", "u1", KINDS),
        ("army", "u1", KINDS),
        ("is_techlab", "u1", KINDS),
        ("needs_power", "u1", KINDS),
        ("needs_creep", "u1", KINDS),
        ("creep_radius", "f8", KINDS),
        ("value_minerals", "f8", KINDS),
        ("value_vespene", "f8", KINDS),
        ("time", "f8", KINDS),
        ("supply", "f8", KINDS),
        ("provides", "f8", KINDS),
        # Two weapons a kind: [0] against ground, [1] against air; damage 0 means none.
        ("damage", "f8", (KINDS, 2)),
        ("attacks", "f8", (KINDS, 2)),
        ("reach", "f8", (KINDS, 2)),
        ("cooldown", "f8", (KINDS, 2)),
        ("bonus_mask", "i4", (KINDS, 2)),
        ("bonus", "f8", (KINDS, 2)),
        ("splash", "f8", KINDS),
        ("put_off", "f8", KINDS),  # target priority: a penalty added to the distance
        ("how", "u1", (KINDS, KINDS)),  # [producer, product]
        ("techlab", "u1", (KINDS, KINDS)),
        ("minerals", "f8", (KINDS, KINDS)),
        ("vespene", "f8", (KINDS, KINDS)),
        ("needs", "i4", (KINDS, 2)),  # buildings that must stand
        ("counts_as", "u1", (KINDS, KINDS)),  # [building, requirement]
        ("cocoon", "i4", KINDS),  # the kind of the egg or cocoon; 0 for none
        ("researches", "u1", (KINDS, UPGRADES)),
        ("shape_loops", "f8", KINDS),  # duration of a change of shape without a price
        ("warp_pause", "f8", KINDS),  # after it, a warp gate is ready again
        ("upgrade_minerals", "f8", UPGRADES),
        ("upgrade_vespene", "f8", UPGRADES),
        ("upgrade_time", "f8", UPGRADES),
        ("upgrade_building", "i4", UPGRADES),
        ("upgrade_before", "i4", UPGRADES),
        ("effects", "i4"),
        ("effect_upgrade", "i4", EFFECT_ROWS),
        ("effect_kind", "i4", EFFECT_ROWS),
        ("effect_stat", "i4", EFFECT_ROWS),
        ("effect_amount", "f8", EFFECT_ROWS),
        ("cargo", "i4", KINDS),  # space a unit takes in a transport; 0: it cannot be carried
        ("room", "i4", KINDS),  # space a transport has
        ("techlab_of", "i4", KINDS),  # the addons a Terran building has
        ("reactor_of", "i4", KINDS),
        ("casts", "u1", (KINDS, MOST_SPELLS)),
        ("spell_energy", "f8", MOST_SPELLS),
        ("spell_cooldown", "i8", MOST_SPELLS),
        ("spell_reach", "f8", MOST_SPELLS),
        ("spell_target", "i4", MOST_SPELLS),
        ("spell_side", "i4", MOST_SPELLS),
        ("spell_effect", "i4", MOST_SPELLS),
        ("spell_amount", "f8", MOST_SPELLS),
        ("spell_radius", "f8", MOST_SPELLS),
        ("spell_loops", "i8", MOST_SPELLS),
        ("spell_buff", "i4", MOST_SPELLS),
        ("spell_upgrade", "i4", MOST_SPELLS),
        ("spell_summons", "i4", MOST_SPELLS),
        ("spell_attributes", "i4", MOST_SPELLS),
        ("spell_needs", "i4", MOST_SPELLS),
        ("buff_id", "i4", BUFFS),  # the API's
        ("largest", "f8"),  # the largest radius of any kind
        ("largest_lead", "f8"),  # the largest difference of radius and penalty over all kinds
    ]
)
Rules = NDArray[Any]

# Armed units are attacked first, then workers, then the rest.
PUT_OFF_WORKER, PUT_OFF_UNARMED, PUT_OFF_STRUCTURE, PUT_OFF_LARVA = 3.0, 18.0, 30.0, 60.0

BURROW, STIMPACK, PSI_STORM, BLINK_TECH, WARP_GATE_TECH = 64, 15, 52, 87, 84  # upgrades
# Spells. Those that stay on the ground have the number of the effect that bots see.
STORM, SCAN, BILE, FUNGAL, BLINK, FORCE = 1, 6, 11, 101, 102, 103
STORM_RADIUS, SCAN_RADIUS, BILE_RADIUS, FUNGAL_RADIUS = 1.5, 13.0, 0.5, 2.25


@cache
def rules() -> Rules:
    """The block, of shape (1,); made once a process."""
    block = np.zeros(1, RULES)
    for unit in unit_data.unit_types()[1:]:
        _describe(block[0], unit)
        _arm(block[0], unit)
    _production(block[0])
    _upgrades(block[0])
    _spells(block[0])
    block["largest"], block["largest_lead"] = block["radius"].max(), (block["radius"] - block["put_off"]).max()
    block.flags.writeable = False
    return block


@cache
def _footprints() -> dict[int, int]:
    return {ability.ability_id: round(2 * ability.footprint_radius) for ability in unit_data.abilities()}


def _describe(block: Any, unit: UnitType) -> None:
    k, name, vitals = unit.kind, unit.name, unit.vitals
    structure = STRUCTURE in unit.attributes
    block["unit_id"][k], block["race"][k] = unit.unit_id, unit.race
    block["health"][k], block["shields"][k], block["energy"][k], block["radius"][k] = vitals
    block["footprint"][k] = FOOTPRINTS.get(name, _footprints().get(unit.ability_id, 0)) if structure else 0
    block["speed"][k] = unit.movement_speed / LOOPS_PER_DATA_SECOND
    on_creep = 1.3 if unit.race == ZERG and name not in FLYING else 1.0
    block["creep_speed"][k] = CREEP_SPEED.get(name, on_creep)
    block["sight"][k], block["armor"][k] = unit.sight_range, unit.armor
    block["attributes"][k] = sum(1 << a for a in unit.attributes)
    block["flying"][k], block["structure"][k] = name in FLYING, structure
    block["worker"][k], block["townhall"][k], block["gas"][k] = (
        name in WORKERS,
        name in TOWNHALLS,
        name in GAS_BUILDINGS,
    )
    block["minerals_here"][k], block["geyser"][k] = unit.has_minerals, unit.has_vespene and name not in GAS_BUILDINGS
    block["is_techlab"][k] = name.endswith("TechLab")
    block["cloaked"][k], block["detector"][k] = name in CLOAKED, name in DETECTORS
    block["army"][k] = not structure and unit.race > 0 and name not in WORKERS | NOT_ARMY and unit.food_required > 0
    block["needs_power"][k] = structure and unit.race == PROTOSS and name not in UNPOWERED
    block["needs_creep"][k] = structure and unit.race == ZERG and name not in FREE_OF_CREEP
    block["creep_radius"][k] = CREEP_RADIUS.get(name, 0.0)
    block["value_minerals"][k], block["value_vespene"][k] = unit.minerals, unit.vespene
    block["time"][k], block["supply"][k], block["provides"][k] = unit.build_time, unit.food_required, unit.food_provided
    block["cargo"][k], block["room"][k] = unit.cargo_size, ROOM.get(name, 0)


def _arm(block: Any, unit: UnitType) -> None:
    k = unit.kind
    block["splash"][k] = SPLASH.get(unit.name, 0.0)
    unarmed = PUT_OFF_STRUCTURE if block["structure"][k] else PUT_OFF_UNARMED
    block["put_off"][k] = PUT_OFF_WORKER if block["worker"][k] else 0.0 if unit.fighting_weapons else unarmed
    if unit.name in {"Larva", "Egg"}:
        block["put_off"][k] = PUT_OFF_LARVA
    for weapon in unit.fighting_weapons:
        for against, types in enumerate(((GROUND_WEAPON, ANY_WEAPON), (AIR_WEAPON, ANY_WEAPON))):
            if weapon.type in types and block["damage"][k, against] == 0:
                block["damage"][k, against], block["attacks"][k, against] = weapon.damage, weapon.attacks
                if against == 1 and unit.name in AIR_DAMAGE:
                    block["damage"][k, against] = AIR_DAMAGE[unit.name]
                block["reach"][k, against] = weapon.range
                block["cooldown"][k, against] = weapon.speed * LOOPS_PER_DATA_SECOND
                block["bonus_mask"][k, against] = sum(1 << attribute for attribute, _ in weapon.bonuses)
                block["bonus"][k, against] = max((bonus for _, bonus in weapon.bonuses), default=0.0)


def _production(block: Any) -> None:
    kinds, types = unit_data.kinds_by_id(), unit_data.unit_types()
    morphs = {(kind(a), kind(b)) for a, b in MORPHS}
    for row in unit_data.production():
        if row.is_upgrade or row.producer not in kinds or row.product not in kinds:
            continue
        producer, product = kinds[row.producer], kinds[row.product]
        _can_make(block, producer, product, _how(block, producer, product, morphs), row.techlab, row.required_building)
    for a, b in MORPHS:
        _can_make(block, kind(a), kind(b), MORPH, False, 0)
    _changes(block)
    for host, addon in ADDONS:
        _can_make(block, kind(host), kind(addon), ADDON, False, 0)
        block["techlab_of" if addon.endswith("TechLab") else "reactor_of"][kind(host)] = kind(addon)
        block["footprint"][kind(addon)] = ADDON_SIZE
    _can_make(block, kind("CreepTumorBurrowed"), kind("CreepTumor"), BUILD, False, 0)
    block["minerals"][kind("Overlord"), kind("OverlordTransport")] = 25  # the data response has no price for it
    block["vespene"][kind("Overlord"), kind("OverlordTransport")] = 25
    for name, seconds in WARP_PAUSE.items():
        block["warp_pause"][kind(name)] = seconds * LOOPS_PER_SECOND
    for result, cocoon in COCOONS.items():
        block["cocoon"][kind(result)] = kind(cocoon)
    for unit in types[1:]:
        block["counts_as"][unit.kind, unit.kind] = 1
        for alias in unit.tech_alias:
            if alias in kinds:
                block["counts_as"][unit.kind, kinds[alias]] = 1


def _changes(block: Any) -> None:
    """Changes of shape without a price, and flight."""
    for a, b, _, _ in SHAPES:
        for source, result in ((a, b), (b, a)):
            block["how"][kind(source), kind(result)] = MORPH
    block["shape_loops"] = SHAPE_LOOPS
    for name, seconds in SHAPE_SECONDS.items():
        block["shape_loops"][kind(name)] = seconds * LOOPS_PER_SECOND
    for standing, moving, _, _ in MOVABLE:
        block["how"][kind(standing), kind(moving)] = MORPH


def _how(block: Any, producer: int, product: int, morphs: set[tuple[int, int]]) -> int:
    if (producer, product) in morphs:
        return MORPH
    if producer == kind("Larva"):
        return HATCH
    if producer == kind("WarpGate"):
        return WARP
    return BUILD if block["structure"][product] else TRAIN


def _can_make(block: Any, producer: int, product: int, how: int, techlab: bool, building: int) -> None:
    """Add a producer and its price, less that of a source that is consumed."""
    types, kinds = unit_data.unit_types(), unit_data.kinds_by_id()
    unit, source = types[product], types[producer]
    block["how"][producer, product] = how
    block["techlab"][producer, product] = techlab
    used_up = how == MORPH or (how == BUILD and source.name == "Drone")
    pair = 2 if unit.name == "Zergling" else 1
    block["minerals"][producer, product] = max(0, unit.minerals * pair - (source.minerals if used_up else 0))
    block["vespene"][producer, product] = max(0, unit.vespene * pair - (source.vespene if used_up else 0))
    if building in kinds and unit.name != "Ravager":
        block["needs"][product, 0] = kinds[building]
    if unit.tech_requirement in kinds and not unit.require_attached:
        block["needs"][product, 1] = kinds[unit.tech_requirement]


def _upgrades(block: Any) -> None:
    kinds = unit_data.kinds_by_id()
    known = {upgrade.upgrade_id: upgrade for upgrade in unit_data.upgrades()}
    for row in unit_data.production():
        if row.is_upgrade and row.product in known and row.producer in kinds:
            block["researches"][kinds[row.producer], row.product] = 1
            block["upgrade_building"][row.product] = kinds.get(row.required_building, 0)
            block["upgrade_before"][row.product] = row.required_upgrade
    for upgrade in known.values():
        u = upgrade.upgrade_id
        block["upgrade_minerals"][u], block["upgrade_vespene"][u] = upgrade.minerals, upgrade.vespene
        block["upgrade_time"][u] = upgrade.research_time
    block["effects"] = len(EFFECTS)
    for row_number, effect in enumerate(EFFECTS):
        block["effect_upgrade"][row_number], block["effect_kind"][row_number] = effect.upgrade_id, kind(effect.unit)
        block["effect_stat"][row_number], block["effect_amount"][row_number] = effect.stat, effect.amount


def _spells(block: Any) -> None:
    block["buff_id"][:] = BUFF_IDS
    for n, spell in enumerate(SPELLS):
        for name in spell.casters:
            block["casts"][kind(name), n] = 1
        for column in ("energy", "cooldown", "reach", "target", "side", "effect", "amount", "radius", "loops"):
            block[f"spell_{column}"][n] = getattr(spell, column)
        for column in ("buff", "upgrade", "attributes"):
            block[f"spell_{column}"][n] = getattr(spell, column)
        block["spell_summons"][n] = kind(spell.summons) if spell.summons else 0
        block["spell_needs"][n] = kind(spell.needs) if spell.needs else 0
