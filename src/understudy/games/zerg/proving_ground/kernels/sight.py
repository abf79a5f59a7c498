"""The units that one player sees, as columns, for players without the protocol."""

from __future__ import annotations

from typing import Any

import numpy as np

from understudy.games.zerg.proving_ground.compiled import door
from understudy.games.zerg.proving_ground.kernels.tech import supply_cap, supply_used
from understudy.games.zerg.proving_ground.rules import KINDS
from understudy.games.zerg.proving_ground.state import (
    ATTACK,
    BUILD_AT,
    FIRST_TAG,
    LOST_MINERALS_ARMY,
    LOST_VESPENE_TECHNOLOGY,
    MAKE,
    MORPH_INTO,
    MOVE,
    NONE,
    RESEARCH,
    TAG_SHIFT,
)


@door
def own_units(states: Any, rules: Any, p: int, verbs: Any) -> Any:
    """A player's units: tag, kind, verb and product as integers; position, health, energy, progress and goal.

    `verbs` translates orders. The goal of a unit that does not move is its own position.
    """
    s, r = states[0], rules[0]
    count = 0
    for i in range(s.top):
        if s.alive[i] and s.owner[i] == p:
            count += 1
    whole, real = np.empty((4, count), np.int64), np.empty((7, count), np.float64)
    n = 0
    for i in range(s.top):
        if not s.alive[i] or s.owner[i] != p:
            continue
        k = s.kind[i]
        order = s.order[i, 0] if s.orders[i] > 0 else NONE
        product = 0
        if order in (MAKE, BUILD_AT, MORPH_INTO):
            product = r.unit_id[min(s.argument[i, 0], KINDS - 1)]
        elif order == RESEARCH:
            product = s.argument[i, 0]
        going = order in (ATTACK, MOVE)
        whole[0, n], whole[1, n] = FIRST_TAG + (i << TAG_SHIFT) + s.generation[i], r.unit_id[k]
        whole[2, n], whole[3, n] = verbs[order], product
        real[0, n], real[1, n] = s.x[i], s.y[i]
        real[2, n] = (s.health[i] + s.shield[i]) / (r.health[k] + r.shields[k])
        real[3, n], real[4, n] = s.energy[i], s.progress[i]
        real[5, n] = s.order_x[i, 0] if going else s.x[i]
        real[6, n] = s.order_y[i, 0] if going else s.y[i]
        n += 1
    return whole, real


@door
def enemy_units(states: Any, rules: Any, p: int) -> Any:
    """The enemy's units that player p sees or remembers: tag and kind; place."""
    s, r = states[0], rules[0]
    count = 0
    for i in range(s.top):
        if s.alive[i] and s.owner[i] == 1 - p and (s.seen[p, i] or s.known[p, i]):
            count += 1
    whole, real = np.empty((2, count), np.int64), np.empty((2, count), np.float64)
    n = 0
    for i in range(s.top):
        if s.alive[i] and s.owner[i] == 1 - p and (s.seen[p, i] or s.known[p, i]):
            whole[0, n], whole[1, n] = FIRST_TAG + (i << TAG_SHIFT) + s.generation[i], r.unit_id[s.kind[i]]
            real[0, n], real[1, n] = s.x[i], s.y[i]
            n += 1
    return whole, real


@door
def account(states: Any, rules: Any, p: int) -> Any:
    """A player's supply used and cap, and the value of what the enemy and the player have lost."""
    s, r = states[0], rules[0]
    killed, lost = 0.0, 0.0
    for row in range(LOST_MINERALS_ARMY, LOST_VESPENE_TECHNOLOGY + 1):
        killed += s.score[1 - p, row]
        lost += s.score[p, row]
    return supply_used(s, r, p), supply_cap(s, r, p), killed, lost


@door
def resources(states: Any, rules: Any) -> Any:
    """Mineral fields and geysers: tag and whether it is a geyser; place."""
    s, r = states[0], rules[0]
    count = 0
    for i in range(s.top):
        if s.alive[i] and (r.minerals_here[s.kind[i]] == 1 or r.geyser[s.kind[i]] == 1):
            count += 1
    whole, real = np.empty((2, count), np.int64), np.empty((2, count), np.float64)
    n = 0
    for i in range(s.top):
        k = s.kind[i]
        if s.alive[i] and (r.minerals_here[k] == 1 or r.geyser[k] == 1):
            whole[0, n], whole[1, n] = FIRST_TAG + (i << TAG_SHIFT) + s.generation[i], r.geyser[k] == 1
            real[0, n], real[1, n] = s.x[i], s.y[i]
            n += 1
    return whole, real
