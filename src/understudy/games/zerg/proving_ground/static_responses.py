"""Answers that do not change during a game: the data response, and most of the game info."""

from __future__ import annotations

from functools import cache

import numpy as np
from s2clientprotocol import common_pb2, data_pb2, sc2api_pb2
from sc2.ids.ability_id import AbilityId

from understudy.games.zerg.proving_ground import unit_data
from understudy.games.zerg.proving_ground.map_parts import SIZE, Map, Point

GAME_VERSION, DATA_VERSION, BASE_BUILD = "4.10.0.75689", "B89B5D6FA7CBF6452E721311BFBC6CB2", 75689
POINT_OR_UNIT, NO_TARGET = data_pb2.AbilityData.PointOrUnit, data_pb2.AbilityData.Target.Value("None")
WITHOUT_TARGET = ("RESEARCH", "CANCEL", "MORPH", "SALVAGE", "STOP")
MODS = ("Core", "Liberty", "Swarm", "Void", "VoidMulti")


@cache
def data_response() -> bytes:
    """A Response with the whole ResponseData, as bytes."""
    response = sc2api_pb2.Response()
    for ability in unit_data.abilities():
        entry = response.data.abilities.add()
        entry.ability_id, entry.link_name, entry.link_index = ability.ability_id, ability.link_name, ability.link_index
        entry.button_name, entry.friendly_name = ability.button_name, ability.friendly_name
        entry.remaps_to_ability_id, entry.available, entry.target = ability.remaps_to, True, ability.target
        entry.allow_minimap, entry.allow_autocast = ability.allow_minimap, ability.allow_autocast
        entry.is_building, entry.is_instant_placement = ability.is_building, ability.is_instant_placement
        entry.footprint_radius, entry.cast_range = ability.footprint_radius, ability.cast_range
    for ability_id, name in _other_abilities():
        entry = response.data.abilities.add()
        entry.ability_id, entry.available, entry.friendly_name = ability_id, True, name
        entry.target = NO_TARGET if any(word in name for word in WITHOUT_TARGET) else POINT_OR_UNIT
    for unit in unit_data.unit_types()[1:]:
        _add_unit(response, unit)
    for upgrade in unit_data.upgrades():
        known = response.data.upgrades.add()
        known.upgrade_id, known.name, known.ability_id = upgrade.upgrade_id, upgrade.name, upgrade.ability_id
        known.mineral_cost, known.vespene_cost, known.research_time = (
            upgrade.minerals,
            upgrade.vespene,
            upgrade.research_time,
        )
    return bytes(response.SerializePartialToString())


def _other_abilities() -> list[tuple[int, str]]:
    """Abilities that burnysc2 names and the tables lack: of other game versions, or of no unit in a melee game.

    burnysc2 raises KeyError when a bot uses an ability that the data response does not hold. Here it is refused.
    """
    known = {ability.ability_id for ability in unit_data.abilities()}
    return [(ability.value, ability.name) for ability in AbilityId if ability.value not in known]


def _add_unit(response: sc2api_pb2.Response, unit: unit_data.UnitType) -> None:
    entry = response.data.units.add()
    entry.unit_id, entry.name, entry.available, entry.race = unit.unit_id, unit.name, True, unit.race
    entry.cargo_size, entry.movement_speed, entry.armor = unit.cargo_size, unit.movement_speed, unit.armor
    entry.mineral_cost, entry.vespene_cost, entry.build_time = unit.minerals, unit.vespene, unit.build_time
    entry.food_required, entry.food_provided, entry.ability_id = unit.food_required, unit.food_provided, unit.ability_id
    entry.tech_requirement, entry.require_attached = unit.tech_requirement, unit.require_attached
    entry.sight_range, entry.unit_alias = unit.sight_range, unit.unit_alias
    entry.has_minerals, entry.has_vespene = unit.has_minerals, unit.has_vespene
    entry.tech_alias.extend(unit.tech_alias)
    entry.attributes.extend(unit.attributes)
    for weapon in unit.weapons:
        arm = entry.weapons.add()
        arm.type, arm.damage, arm.attacks = weapon.type, weapon.damage, weapon.attacks
        arm.range, arm.speed = weapon.range, weapon.speed
        for attribute, bonus in weapon.bonuses:
            extra = arm.damage_bonus.add()
            extra.attribute, extra.bonus = attribute, bonus


def fill_image(image: common_pb2.ImageData, bits: int, data: bytes) -> None:
    """An image as large as the map."""
    image.bits_per_pixel, image.data = bits, data
    image.size.x, image.size.y = SIZE, SIZE


def packed(grid: np.ndarray) -> bytes:
    """A grid of zeros and ones, eight cells a byte."""
    return np.packbits(grid).tobytes()


def describe_map(info: sc2api_pb2.ResponseGameInfo, game_map: Map, own_start: Point) -> None:
    """The game info of a map, with the possible start locations of the enemy.

    The pathing grid is added for each request, since structures block it.
    """
    info.map_name, info.local_map_path = game_map.name, f"{game_map.name}.SC2Map"
    info.mod_names.extend(f"Mods/{name}.SC2Mod" for name in MODS)
    raw = info.start_raw
    raw.map_size.x, raw.map_size.y = SIZE, SIZE
    fill_image(raw.terrain_height, 8, game_map.height.tobytes())
    fill_image(raw.placement_grid, 1, packed(game_map.placeable))
    x0, y0, x1, y1 = game_map.playable
    raw.playable_area.p0.x, raw.playable_area.p0.y, raw.playable_area.p1.x, raw.playable_area.p1.y = x0, y0, x1, y1
    for x, y in game_map.start_places:
        if (x, y) != own_start:
            place = raw.start_locations.add()
            place.x, place.y = x, y
    options = info.options
    options.raw, options.score, options.show_cloaked, options.show_placeholders = True, True, True, True
    options.show_burrowed_shadows, options.raw_affects_selection, options.raw_crop_to_playable_area = True, False, False
