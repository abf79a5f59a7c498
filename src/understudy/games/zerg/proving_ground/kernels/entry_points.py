"""The kernels that Python calls. Each takes whole blocks, of shape (1,)."""

from __future__ import annotations

from typing import Any

from understudy.games.zerg.proving_ground.compiled import door
from understudy.games.zerg.proving_ground.kernels import orders, paths, placement, research, tech, units, vision


@door
def issue(
    states: Any,
    terrains: Any,
    rules: Any,
    p: int,
    i: int,
    order: int,
    argument: int,
    target: int,
    x: float,
    y: float,
    queued: bool,
) -> int:
    """Give one unit one order; see orders.issue."""
    return orders.issue(states[0], terrains[0], rules[0], p, i, order, argument, target, x, y, queued)


@door
def can_place(states: Any, terrains: Any, rules: Any, p: int, kind: int, x: float, y: float) -> int:
    """Whether a structure may stand there, or a unit may be warped in, as far as the player knows."""
    if not rules[0].structure[kind]:
        return placement.can_warp(states[0], terrains[0], rules[0], p, kind, x, y)
    return placement.can_place(states[0], terrains[0], rules[0], p, kind, x, y, False)


@door
def way_length(terrains: Any, scratches: Any, x: float, y: float, gx: float, gy: float) -> float:
    """Length of the ground path; 0 if there is none."""
    return paths.way_length(terrains[0], scratches[0], x, y, gx, gy)


@door
def spawn(states: Any, rules: Any, kind: int, owner: int, x: float, y: float, progress: float) -> int:
    """Put a unit into the game."""
    return units.spawn(states[0], rules[0], kind, owner, x, y, progress)


@door
def destroy(states: Any, rules: Any, i: int) -> None:
    """Kill a unit; no player gets the score."""
    units.destroy(states[0], rules[0], i, 2)


@door
def look(states: Any, terrains: Any, rules: Any, scratches: Any) -> None:
    """Update sight, creep and power."""
    vision.grow_creep(states[0], terrains[0], rules[0])
    vision.power(states[0], rules[0])
    vision.look(states[0], terrains[0], rules[0], scratches[0])


@door
def finish_upgrade(states: Any, rules: Any, p: int, upgrade: int) -> None:
    """Give a player an upgrade."""
    research.finish_upgrade(states[0], rules[0], p, upgrade)


@door
def supply(states: Any, rules: Any, p: int) -> tuple[float, float]:
    """Supply used, and the cap."""
    return tech.supply_used(states[0], rules[0], p), tech.supply_cap(states[0], rules[0], p)


@door
def tech_met(states: Any, rules: Any, p: int, kind: int) -> bool:
    """Whether the player has the buildings that this kind requires."""
    return tech.tech_met(states[0], rules[0], p, kind)
