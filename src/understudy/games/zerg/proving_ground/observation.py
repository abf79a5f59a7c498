"""Observations in the API's format."""

from __future__ import annotations

from typing import Any

import numpy as np
from s2clientprotocol import sc2api_pb2

from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.abilities import labels
from understudy.games.zerg.proving_ground.kernels import tally
from understudy.games.zerg.proving_ground.kernels.combat import ZONE_RADIUS
from understudy.games.zerg.proving_ground.kernels.vision import POWER, PRISM_POWER
from understudy.games.zerg.proving_ground.match import Match
from understudy.games.zerg.proving_ground.rules import BILE, BILE_RADIUS, SCAN, SCAN_RADIUS, STORM, STORM_RADIUS
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.state import FIRST_TAG, TAG_SHIFT
from understudy.games.zerg.proving_ground.static_responses import describe_map, fill_image, packed
from understudy.games.zerg.proving_ground.wire import ENEMY, SELF, UnitWriter

# Field numbers of the path Response.observation.observation.raw_data, which is serialized by hand.
RESPONSE_OBSERVATION, OBSERVATION, RAW_DATA = 10, 3, 5
MELEE = 2
SEEN_NOW = 2
LIBERATOR_ZONE = 9  # the API's effect
RADIUS = {STORM: STORM_RADIUS, SCAN: SCAN_RADIUS, BILE: BILE_RADIUS}


def tag(state: Any, slot: int) -> int:
    """The tag of the unit in this slot."""
    return int(FIRST_TAG + (slot << TAG_SHIFT) + int(state["generation"][slot]))


def slot_of(game: Simulation, unit_tag: int) -> int:
    """The slot of the unit with this tag; -1 if the unit no longer exists."""
    slot = (unit_tag - FIRST_TAG) >> TAG_SHIFT
    if 0 <= slot < int(game.state["top"]) and game.state["alive"][slot] and tag(game.state, slot) == unit_tag:
        return int(slot)
    return -1


def embedded(field: int, body: bytes) -> bytes:
    """A message as a field of another one."""
    size, length = len(body), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    length.append(size)
    return bytes([field << 3 | 2]) + bytes(length) + body


class View:
    """One player's view of a match; it remembers what it has already reported."""

    def __init__(self, match: Match, player: int) -> None:
        self._match, self._game, self._player = match, match.simulation, player
        self._writer = UnitWriter(match.simulation, player)
        state = match.simulation.state
        self._deaths, self._failures, self._said = int(state["deaths"]), int(state["failures"]), len(match.chat)
        self._info = b""
        self._sums = np.zeros(tally.COLUMNS)

    def observe(self, response: sc2api_pb2.Response) -> bytes:
        """Fill the response; returns the bytes of the units, to be appended to the serialized response."""
        game, state = self._game, self._game.state
        seen = response.observation
        seen.observation.game_loop = game.loop
        tally.tally(game.block, game.rules, self._player, self._sums)
        sums = self._sums.tolist()
        self._common(seen.observation.player_common, sums)
        self._score(seen.observation.score, sums)
        self._raw(seen.observation.raw_data)
        self._events(seen)
        if game.over:
            for player in range(2):
                result = seen.player_result.add()
                result.player_id, result.result = player + 1, int(state["result"][player])
        units = self._writer.write()
        return embedded(RESPONSE_OBSERVATION, embedded(OBSERVATION, embedded(RAW_DATA, units)))

    def _common(self, common: Any, sums: list[float]) -> None:
        state, p = self._game.state, self._player
        used, workers = int(sums[tally.SUPPLY_USED]), int(sums[tally.FOOD_WORKERS])
        common.player_id, common.minerals, common.vespene = p + 1, int(state["minerals"][p]), int(state["vespene"][p])
        common.food_cap, common.food_used = int(sums[tally.SUPPLY_CAP]), used
        common.food_workers, common.food_army = workers, max(0, used - workers)
        common.idle_worker_count, common.army_count = int(sums[tally.WORKERS_IDLE]), int(sums[tally.ARMY_COUNT])
        common.warp_gate_count, common.larva_count = int(sums[tally.WARP_GATES]), int(sums[tally.LARVAE])

    def _score(self, score: Any, sums: list[float]) -> None:
        table, p = self._game.state["score"].tolist(), self._player
        mine, theirs = table[p], table[1 - p]
        details = score.score_details
        score.score_type = MELEE
        details.collected_minerals, details.collected_vespene = (
            mine[names.COLLECTED_MINERALS],
            mine[names.COLLECTED_VESPENE],
        )
        details.collection_rate_minerals, details.collection_rate_vespene = (
            mine[names.RATE_MINERALS],
            mine[names.RATE_VESPENE],
        )
        details.spent_minerals, details.spent_vespene = mine[names.SPENT_MINERALS], mine[names.SPENT_VESPENE]
        details.total_value_units, details.total_value_structures = (
            mine[names.UNITS_VALUE],
            mine[names.STRUCTURES_VALUE],
        )
        details.killed_value_units, details.killed_value_structures = (
            mine[names.KILLED_UNITS],
            mine[names.KILLED_STRUCTURES],
        )
        details.idle_production_time, details.idle_worker_time = mine[names.IDLE_PRODUCTION], mine[names.IDLE_WORKERS]
        _categories(details.lost_minerals, mine, names.LOST_MINERALS_ARMY)
        _categories(details.lost_vespene, mine, names.LOST_VESPENE_ARMY)
        _categories(details.killed_minerals, theirs, names.LOST_MINERALS_ARMY)
        _categories(details.killed_vespene, theirs, names.LOST_VESPENE_ARMY)
        _categories(details.used_minerals, sums, tally.MINERALS)
        _categories(details.used_vespene, sums, tally.VESPENE)
        details.food_used.army, details.food_used.economy = sums[tally.FOOD], sums[tally.FOOD + 1]
        details.total_damage_dealt.life, details.total_damage_dealt.shields = (
            mine[names.DAMAGE_DEALT_LIFE],
            mine[names.DAMAGE_DEALT_SHIELDS],
        )
        details.total_damage_taken.life, details.total_damage_taken.shields = (
            theirs[names.DAMAGE_DEALT_LIFE],
            theirs[names.DAMAGE_DEALT_SHIELDS],
        )
        details.total_healed.life = mine[names.HEALED]
        score.score = int(mine[names.COLLECTED_MINERALS] + mine[names.COLLECTED_VESPENE] + mine[names.KILLED_UNITS])

    def _raw(self, raw: Any) -> None:
        state, p = self._game.state, self._player
        raw.player.camera.x, raw.player.camera.y = self._match.map.starts[p]
        raw.player.upgrade_ids.extend(np.flatnonzero(state["upgrade"][p]).tolist())
        top = int(state["top"])
        kinds, mine = state["kind"][:top], (state["alive"][:top] == 1) & (state["owner"][:top] == p)
        for name, radius in ((names.PYLON, POWER), (names.PRISM_PHASING, PRISM_POWER)):
            for slot in np.flatnonzero((kinds == name) & mine & (state["progress"][:top] >= 1)).tolist():
                source = raw.player.power_sources.add(radius=radius, tag=tag(state, slot))
                source.pos.x, source.pos.y, source.pos.z = state["x"][slot], state["y"][slot], 0.0
        if state["areas"]:
            self._effects(raw)
        zones = (state["kind"][:top] == names.LIBERATOR_AG) & (state["alive"][:top] == 1)
        if zones.any():
            self._zones(raw, np.flatnonzero(zones).tolist())
        fill_image(raw.map_state.visibility, 8, state["visibility"][p].tobytes())
        fill_image(raw.map_state.creep, 1, packed(state["creep_grid"] & (state["visibility"][p] > 0)))

    def _effects(self, raw: Any) -> None:
        """Spells on the ground that the player sees: its own, and those in its sight."""
        state = self._game.state
        for n in np.flatnonzero(state["area_spell"]).tolist():
            if int(state["area_spell"][n]) not in RADIUS:
                continue
            owner, x, y = int(state["area_owner"][n]), float(state["area_x"][n]), float(state["area_y"][n])
            if owner == self._player or state["visibility"][self._player, int(y), int(x)] == SEEN_NOW:
                effect = raw.effects.add()
                effect.effect_id, effect.radius = int(state["area_spell"][n]), RADIUS[int(state["area_spell"][n])]
                effect.alliance, effect.owner = SELF if owner == self._player else ENEMY, owner + 1
                place = effect.pos.add()
                place.x, place.y = x, y

    def _zones(self, raw: Any, liberators: list[int]) -> None:
        """The zones of liberators that the player sees."""
        state, p = self._game.state, self._player
        for slot in liberators:
            owner, x, y = int(state["owner"][slot]), float(state["rally_x"][slot]), float(state["rally_y"][slot])
            if x >= 0 and (owner == p or state["visibility"][p, int(y), int(x)] == SEEN_NOW):
                effect = raw.effects.add(effect_id=LIBERATOR_ZONE, radius=ZONE_RADIUS)
                effect.alliance, effect.owner = SELF if owner == p else ENEMY, owner + 1
                effect.pos.add(x=x, y=y)

    def _events(self, seen: Any) -> None:
        state = self._game.state
        deaths, ring = int(state["deaths"]), names.DEAD_RING
        for n in range(max(self._deaths, deaths - ring), deaths):
            if state["dead_known"][self._player, n % ring]:
                slot, generation = int(state["dead_slot"][n % ring]), int(state["dead_generation"][n % ring])
                seen.observation.raw_data.event.dead_units.append(FIRST_TAG + (slot << TAG_SHIFT) + generation)
        self._deaths = deaths
        failures = int(state["failures"])
        for n in range(max(self._failures, failures - 256), failures):
            slot = int(state["failed_slot"][n % 256])
            if state["owner"][slot] == self._player:
                error = seen.action_errors.add()
                error.unit_tag = FIRST_TAG + (slot << TAG_SHIFT) + int(state["failed_generation"][n % 256])
                error.ability_id, error.result = (
                    int(labels().make[state["failed_argument"][n % 256]]),
                    int(state["failed_result"][n % 256]),
                )
        self._failures = failures
        for player, _, text in self._match.chat[self._said :]:
            line = seen.chat.add()
            line.player_id, line.message = player + 1, text
        self._said = len(self._match.chat)

    def game_info(self) -> bytes:
        """The game info as a serialized Response without status; structures block its pathing grid."""
        if not self._info:
            static = sc2api_pb2.Response()
            describe_map(static.game_info, self._match.map, self._match.map.starts[self._player])
            self._players(static.game_info)
            self._info = static.SerializePartialToString()
        dynamic = sc2api_pb2.Response()
        walkable = self._game.terrain["pathable"][0] & (self._game.state["occupied"] == 0)
        fill_image(dynamic.game_info.start_raw.pathing_grid, 1, packed(walkable))
        return self._info + bytes(dynamic.SerializePartialToString())

    def _players(self, info: sc2api_pb2.ResponseGameInfo) -> None:
        for player, seat in enumerate(self._match.seats):
            entry = info.player_info.add()
            entry.player_id, entry.race_requested = player + 1, seat.requested_race
            entry.type = sc2api_pb2.Computer if seat.computer else sc2api_pb2.Participant
            if player == self._player:
                entry.race_actual = seat.race
            if seat.computer:
                entry.difficulty, entry.ai_build = seat.difficulty, seat.ai_build
            if seat.name:
                entry.player_name = seat.name


def _categories(amounts: Any, row: Any, first: int) -> None:
    amounts.army, amounts.economy, amounts.technology = row[first], row[first + 1], row[first + 2]
