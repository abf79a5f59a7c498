"""Carries out a client's actions."""

from __future__ import annotations

import numpy as np
from s2clientprotocol import raw_pb2, sc2api_pb2

from understudy.games.zerg.proving_ground.abilities import command_for
from understudy.games.zerg.proving_ground.input_checks import point_on_map, text_of
from understudy.games.zerg.proving_ground.match import Match
from understudy.games.zerg.proving_ground.observation import slot_of
from understudy.games.zerg.proving_ground.state import CANT_TARGET_THAT_UNIT, ERROR, NOT_SUPPORTED, SUCCESS


def carry_out(match: Match, player: int, action: sc2api_pb2.Action) -> int:
    """Carry out one action; returns an ActionResult."""
    if action.HasField("action_raw") and action.action_raw.HasField("unit_command"):
        wanted = action.action_raw.unit_command
        result = command(match, player, wanted)
        if result != SUCCESS:
            match.refused[player, wanted.ability_id, result] += 1
        return result
    if action.HasField("action_chat"):
        match.chat.append((player, action.action_chat.channel, text_of(action.action_chat.message)))
    return SUCCESS  # cameras, autocast and feature layers are not simulated


def command(match: Match, player: int, wanted: raw_pb2.ActionRawUnitCommand) -> int:
    """Give an order to all units named; success if one of them accepts it, else the last refusal."""
    game = match.simulation
    target = -1
    if wanted.HasField("target_unit_tag"):
        target = slot_of(game, wanted.target_unit_tag)
        if target < 0:
            return CANT_TARGET_THAT_UNIT
    x, y = -1.0, -1.0
    if wanted.HasField("target_world_space_pos"):
        point = point_on_map(wanted.target_world_space_pos.x, wanted.target_world_space_pos.y)
        if point is None:
            return ERROR
        x, y = point
    done = set(np.flatnonzero(game.state["upgrade"][player] | game.state["pending"][player]).tolist())
    result, taken = ERROR, False
    for unit_tag in wanted.unit_tags:
        slot = slot_of(game, unit_tag)
        if slot < 0:
            continue
        meant = command_for(int(game.state["kind"][slot]), wanted.ability_id, done)
        if meant is None:
            result = NOT_SUPPORTED
            continue
        result = game.order(player, slot, meant.order, meant.argument, target, x, y, wanted.queue_command)
        taken = taken or result == SUCCESS
    return SUCCESS if taken else result
