"""Debug commands: create and kill units, give resources, switches, end the game. Drawings are accepted and ignored."""

from __future__ import annotations

import math

from s2clientprotocol import debug_pb2

from understudy.errors import UnderstudyError
from understudy.games.zerg.proving_ground import state as names
from understudy.games.zerg.proving_ground.input_checks import value_of_unit
from understudy.games.zerg.proving_ground.map_parts import SIZE
from understudy.games.zerg.proving_ground.observation import slot_of
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.state import NEUTRAL
from understudy.games.zerg.proving_ground.unit_data import kinds_by_id, upgrades
from understudy.games.zerg.proving_ground.upgrade_effects import FAMILIES
from understudy.games.zerg.starcraft import DEFEAT, VICTORY

ALL_RESOURCES = 5000.0
MOST_AT_ONCE = 500
SWITCHES: dict[int, int] = {
    debug_pb2.show_map: names.CHEAT_MAP,
    debug_pb2.control_enemy: names.CHEAT_CONTROL,
    debug_pb2.food: names.CHEAT_FOOD,
    debug_pb2.free: names.CHEAT_FREE,
    debug_pb2.god: names.CHEAT_GOD,
    debug_pb2.tech_tree: names.CHEAT_TECH,
    debug_pb2.cooldown: names.CHEAT_COOLDOWN,
    debug_pb2.fast_build: names.CHEAT_FAST,
}
SURRENDER = debug_pb2.DebugEndGame.Surrender


class DebugError(UnderstudyError):
    """A debug command cannot be carried out."""


def carry_out(game: Simulation, player: int, command: debug_pb2.DebugCommand) -> None:
    """Carry out one debug command; DebugError, before anything has changed, if a number in it is not finite."""
    kind = command.WhichOneof("command")
    if kind == "create_unit":
        _create(game, command.create_unit)
    elif kind == "kill_unit":
        for tag in command.kill_unit.tag:
            slot = slot_of(game, tag)
            if slot >= 0:
                game.destroy(slot)
    elif kind == "unit_value":
        _set_value(game, command.unit_value)
    elif kind == "end_game":
        won = command.end_game.end_result != SURRENDER
        game.finish((VICTORY, DEFEAT) if won == (player == 0) else (DEFEAT, VICTORY))
    elif kind == "game_state":
        _change_state(game, player, command.game_state)


def _create(game: Simulation, wanted: debug_pb2.DebugCreateUnit) -> None:
    kind = kinds_by_id().get(wanted.unit_type)
    if kind is None:
        return
    if not (math.isfinite(wanted.pos.x) and math.isfinite(wanted.pos.y)):
        raise DebugError(f"create_unit: the position ({wanted.pos.x}, {wanted.pos.y}) is not a point")
    owner = wanted.owner - 1 if wanted.owner in (1, 2) else NEUTRAL
    x, y = min(max(wanted.pos.x, 0.5), SIZE - 1.5), min(max(wanted.pos.y, 0.5), SIZE - 1.5)
    for _ in range(min(wanted.quantity, MOST_AT_ONCE)):
        if game.spawn(kind, owner, x, y) < 0:  # no room for more
            return


def _set_value(game: Simulation, wanted: debug_pb2.DebugSetUnitValue) -> None:
    slot, value = slot_of(game, wanted.unit_tag), value_of_unit(wanted.value)
    if value is None:
        raise DebugError(f"unit_value: {wanted.value} is not a number that a unit can have")
    if slot < 0:
        return
    name = {
        debug_pb2.DebugSetUnitValue.Energy: "energy",
        debug_pb2.DebugSetUnitValue.Life: "health",
        debug_pb2.DebugSetUnitValue.Shields: "shield",
    }[wanted.unit_value]
    game.state[name][slot] = value


def _change_state(game: Simulation, player: int, wanted: int) -> None:
    state = game.state
    if wanted in (debug_pb2.all_resources, debug_pb2.minerals):
        state["minerals"][player] += ALL_RESOURCES
    if wanted in (debug_pb2.all_resources, debug_pb2.gas):
        state["vespene"][player] += ALL_RESOURCES
    if wanted in SWITCHES:
        state["cheats"][player] ^= SWITCHES[wanted]
    if wanted == debug_pb2.upgrade:
        _upgrade(game, player)


def _upgrade(game: Simulation, player: int) -> None:
    """Give the player all upgrades: of those with levels, the next one."""
    known = game.state["upgrade"][player]
    levels = {first + level for first in FAMILIES for level in range(3)}
    wanted = {upgrade.upgrade_id for upgrade in upgrades()} - levels
    for first in FAMILIES:
        wanted |= set([first + level for level in range(3) if not known[first + level]][:1])
    for upgrade in sorted(wanted):
        game.finish_upgrade(player, upgrade)
