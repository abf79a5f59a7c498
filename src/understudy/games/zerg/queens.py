"""Queens: each belongs to a base, injects it, and fights enemies nearby."""

from __future__ import annotations

import numpy as np

from understudy.games.zerg import catalogue as units
from understudy.games.zerg.snapshot import ATTACK, IDLE, INJECT, GameSnapshot, UnitCommand

_INJECT_ENERGY = 25.0
_AT_HOME = 12.0


class Queens:
    """Which queen looks after which base."""

    def __init__(self) -> None:
        self._base: dict[int, int] = {}

    def command(self, snapshot: GameSnapshot, threats: list[tuple[float, float]]) -> list[UnitCommand]:
        """Queens fight enemies nearby, inject when they have the energy, or return home."""
        own = snapshot.own
        queens = snapshot.of(units.QUEEN)
        halls = {int(own.tag[i]): i for i in snapshot.bases}
        if not queens or not halls:
            return []
        alive = {int(own.tag[i]) for i in queens}
        self._base = {queen: base for queen, base in self._base.items() if queen in alive and base in halls}
        commands = []
        for i in queens:
            queen = int(own.tag[i])
            if queen not in self._base:
                served = list(self._base.values())
                self._base[queen] = min(
                    halls, key=lambda hall: (served.count(hall), abs(own.x[halls[hall]] - own.x[i]))
                )
            hall = halls[self._base[queen]]
            home = (float(own.x[hall]), float(own.y[hall]))
            near = [t for t in threats if np.hypot(t[0] - own.x[i], t[1] - own.y[i]) < 2 * _AT_HOME]
            if near:
                if own.verb[i] != ATTACK:
                    commands.append(UnitCommand(ATTACK, (queen,), at=near[0]))
            elif own.energy[i] >= _INJECT_ENERGY:
                if own.verb[i] != INJECT:
                    commands.append(UnitCommand(INJECT, (queen,), target=self._base[queen], at=home))
            elif own.verb[i] == IDLE and np.hypot(own.x[i] - home[0], own.y[i] - home[1]) > _AT_HOME:
                commands.append(UnitCommand(ATTACK, (queen,), at=home))
        return commands
