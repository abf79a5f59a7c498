"""Where an opponent puts its buildings."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from understudy.games.zerg.proving_ground.map_parts import Base, Point
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.state import SUCCESS
from understudy.games.zerg.proving_ground.unit_data import kind

WITH_ADDON = {kind(name) for name in ("Barracks", "Factory", "Starport")}
ADDON = kind("BarracksTechLab")
ADDON_AT = (2.5, -0.5)


def rings(center: Point, step: float, most: int) -> Iterator[Point]:
    """Points around a center, nearest ring first."""
    for ring in range(1, most + 1):
        count = 6 * ring
        for n in range(count):
            angle = 2 * math.pi * n / count + 0.4 * ring
            yield center[0] + step * ring * math.cos(angle), center[1] + step * ring * math.sin(angle)


def find_place(
    game: Simulation, player: int, building: int, base: Base, centers: list[Point], nearest: int = 2
) -> Point | None:
    """A free place near one of the centers that does not stand between a townhall and its minerals."""
    toward = np.mean(base.minerals, axis=0) - base.center
    toward = toward / np.hypot(*toward)
    for center in centers:
        for number, (x, y) in enumerate(rings(center, 2.5, 7)):
            if number < nearest:
                continue
            dx, dy = x - base.center[0], y - base.center[1]
            if dx * toward[0] + dy * toward[1] > 2.5 and math.hypot(dx, dy) < 11:
                continue
            if game.can_place(player, building, x, y) != SUCCESS:
                continue
            if (
                building in WITH_ADDON
                and game.can_place(player, ADDON, math.floor(x) + 0.5 + ADDON_AT[0], math.floor(y) + 0.5 + ADDON_AT[1])
                != SUCCESS
            ):
                continue
            return x, y
    return None
