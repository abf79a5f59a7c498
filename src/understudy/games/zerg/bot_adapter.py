"""Snapshots from burnysc2's BotAI, and commands as actions of its units."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sc2.bot_ai import BotAI
from sc2.ids.ability_id import AbilityId
from sc2.position import Point2

from understudy.games.zerg import catalogue as units
from understudy.games.zerg.snapshot import (
    ATTACK,
    GATHER,
    IDLE,
    INJECT,
    MAKE,
    MOVE,
    OTHER,
    RESEARCH,
    GameSnapshot,
    MapInfo,
    Resources,
    UnitCommand,
    Units,
    nearest_first,
)
from understudy.games.zerg.starcraft import RANDOM, ZERG

_OWN, _ENEMY = 1, 4  # alliances
_ABILITY = {
    GATHER: AbilityId.HARVEST_GATHER,
    ATTACK: AbilityId.ATTACK,
    MOVE: AbilityId.MOVE,
    INJECT: AbilityId.EFFECT_INJECTLARVA,
}
# Orders as observations show them, with the exact ability.
_SHOWN = {1183: GATHER, 1184: GATHER, 3666: GATHER, 3667: GATHER, 23: ATTACK, 3674: ATTACK}
_SHOWN |= {16: MOVE, 3794: MOVE, 251: INJECT}


class BotGame:
    """Snapshots and commands of a burnysc2 bot. Create it in `on_start`, when the game's data are known."""

    def __init__(self, bot: BotAI) -> None:
        self._bot = bot
        self._makes: dict[int, tuple[int, int]] = {}  # ability shown -> verb, product
        self._make_ability: dict[int, AbilityId] = {}
        self._research_ability: dict[int, AbilityId] = {}
        data = bot.game_data
        for unit in units.UNIT_TYPES:
            made_by = data.units[unit.id].creation_ability if unit.id in data.units else None
            if unit.race == ZERG and made_by is not None:
                self._makes[made_by.exact_id.value] = (MAKE, unit.id)
                self._make_ability[unit.id] = made_by.exact_id
        for upgrade in units.UPGRADES:
            researched_by = data.upgrades[upgrade.id].research_ability
            if researched_by is not None:
                self._makes[researched_by.exact_id.value] = (RESEARCH, upgrade.id)
                self._research_ability[upgrade.id] = researched_by.exact_id

    def field(self) -> MapInfo:
        """The map as it is known when the game starts."""
        bot = self._bot
        start = (float(bot.start_location.x), float(bot.start_location.y))
        enemy = (float(bot.enemy_start_locations[0].x), float(bot.enemy_start_locations[0].y))
        places: list[Point2] = bot.expansion_locations_list
        bases = np.array([(float(place.x), float(place.y)) for place in places])
        race = bot.enemy_race.value if bot.enemy_race is not None else RANDOM
        placeable = bot.game_info.placement_grid.data_numpy
        return MapInfo(start, enemy, nearest_first(bases, start), placeable, 0 if race >= RANDOM else race)

    def snapshot(self) -> GameSnapshot:
        """What the bot sees now."""
        state = self._bot.state
        raw = state.observation_raw
        common, score = state.common, state.observation.score.score_details
        own = [unit for unit in raw.units if unit.alliance == _OWN]
        enemy = [unit for unit in raw.units if unit.alliance == _ENEMY]
        return GameSnapshot(
            loop=state.game_loop,
            minerals=float(common.minerals),
            vespene=float(common.vespene),
            supply_used=float(common.food_used),
            supply_cap=float(common.food_cap),
            rate_minerals=float(score.collection_rate_minerals),
            rate_vespene=float(score.collection_rate_vespene),
            killed_value=_value(score.killed_minerals) + _value(score.killed_vespene),
            lost_value=_value(score.lost_minerals) + _value(score.lost_vespene),
            upgrades=frozenset(raw.player.upgrade_ids),
            own=self._own(own),
            enemy=_enemies(enemy),
            dead=tuple(raw.event.dead_units),
            creep=state.creep.data_numpy,
            resources=self._resources,
        )

    def carry_out(self, commands: Iterable[UnitCommand]) -> None:
        """Queue the actions; burnysc2 sends them after the step."""
        known: dict[int, Any] = {unit.tag: unit for unit in self._bot.all_units}
        for command in commands:
            target: Any = None
            if command.target:
                target = known.get(command.target)
                if target is None:
                    continue
            elif command.at is not None:
                target = Point2(command.at)
            for tag in command.tags:
                if tag in known:
                    known[tag](self._ability(command), target)

    def _ability(self, command: UnitCommand) -> AbilityId:
        if command.verb == MAKE:
            return self._make_ability[command.product]
        return self._research_ability[command.product] if command.verb == RESEARCH else _ABILITY[command.verb]

    def _own(self, protos: list[Any]) -> Units:
        rows = []
        for unit in protos:
            x, y = unit.pos.x, unit.pos.y
            verb, product, order_x, order_y = IDLE, 0, x, y
            if unit.orders:
                order = unit.orders[0]
                verb, product = self._makes.get(order.ability_id) or (_SHOWN.get(order.ability_id, OTHER), 0)
                if (verb in (ATTACK, MOVE)) and order.HasField("target_world_space_pos"):
                    order_x, order_y = order.target_world_space_pos.x, order.target_world_space_pos.y
            full = unit.health_max + unit.shield_max
            health = (unit.health + unit.shield) / full if full else 1.0
            rows.append(
                (
                    unit.tag,
                    unit.unit_type,
                    x,
                    y,
                    health,
                    unit.energy,
                    unit.build_progress,
                    verb,
                    product,
                    order_x,
                    order_y,
                )
            )
        return _columns(rows)

    def _resources(self) -> Resources:
        bot = self._bot
        fields, geysers = list(bot.mineral_field), list(bot.vespene_geyser)
        both = [*fields, *geysers]
        return Resources(
            np.array([unit.tag for unit in both], np.int64),
            np.array([unit.position.x for unit in both]),
            np.array([unit.position.y for unit in both]),
            np.arange(len(both)) >= len(fields),
        )


def _enemies(protos: list[Any]) -> Units:
    return _columns([(u.tag, u.unit_type, u.pos.x, u.pos.y, 0.0, 0.0, 0.0, 0, 0, u.pos.x, u.pos.y) for u in protos])


def _columns(rows: list[tuple[Any, ...]]) -> Units:
    """Rows as columns. Tags, kinds, verbs and products are integers, clipped to the ids that the bot knows."""
    if not rows:
        none, nothing = np.zeros(0, np.int64), np.zeros(0)
        return Units(none, none, nothing, nothing, nothing, nothing, nothing, none, none, nothing, nothing)
    tag, kind, x, y, health, energy, progress, verb, product, order_x, order_y = zip(*rows, strict=True)
    return Units(
        np.array(tag, np.int64),
        np.minimum(np.array(kind, np.int64), units.IDS - 1),
        np.array(x),
        np.array(y),
        np.array(health),
        np.array(energy),
        np.array(progress),
        np.array(verb, np.int64),
        np.array(product, np.int64),
        np.array(order_x),
        np.array(order_y),
    )


def _value(amounts: Any) -> float:
    return float(amounts.army + amounts.economy + amounts.technology)
