"""Assigns drones to bases and extractors. It keeps its own table, because the game's counts lag behind orders."""

from __future__ import annotations

import numpy as np

from understudy.games.zerg import catalogue as units
from understudy.games.zerg.snapshot import GATHER, IDLE, MAKE, GameSnapshot, Resources, UnitCommand

PER_BASE, PER_EXTRACTOR = 16, 3
_OVERFULL, _ROOM = 3, 4  # drones move when a base has this many too many and another has this much room
_ENOUGH_VESPENE, _LITTLE_VESPENE = 500.0, 200.0  # vespene in the bank, with a roach warren and before there is one


class DroneControl:
    """Every drone's job: the base or the extractor it works for."""

    def __init__(self) -> None:
        self._job: dict[int, int] = {}

    def command(self, snapshot: GameSnapshot) -> list[UnitCommand]:
        """Assign new and idle drones, fill extractors, and balance the bases."""
        own = snapshot.own
        mining = ((own.kind == units.DRONE) & (own.verb != MAKE)).nonzero()[0]
        drones = dict(zip(own.tag[mining].tolist(), mining.tolist(), strict=True))
        bases = {int(own.tag[i]): i for i in snapshot.bases}
        gas = {int(own.tag[i]): i for i in snapshot.of(units.EXTRACTOR)}
        load = dict.fromkeys([*bases, *gas], 0)
        self._job = {drone: place for drone, place in self._job.items() if drone in drones and place in load}
        if not bases:
            return []
        for place in self._job.values():
            load[place] += 1
        enough = _ENOUGH_VESPENE if snapshot.total(units.ROACH_WARREN) else _LITTLE_VESPENE
        wanted = 0 if snapshot.vespene > max(enough, snapshot.minerals) else PER_EXTRACTOR
        self._leave_gas(gas, load, wanted)
        moved = self._join_gas(snapshot, drones, gas, bases, load, wanted)
        moved |= self._even_out(bases, load)
        moved |= self._employ(snapshot, drones, bases, load)
        idle = set(own.tag[mining[own.verb[mining] == IDLE]].tolist())
        return self._orders(snapshot, sorted(moved | idle), bases)

    def _leave_gas(self, gas: dict[int, int], load: dict[int, int], wanted: int) -> None:
        """Release drones from extractors that have too many; they are reassigned."""
        for extractor in gas:
            while load[extractor] > wanted:
                drone = next(d for d, place in self._job.items() if place == extractor)
                del self._job[drone]
                load[extractor] -= 1

    def _join_gas(
        self,
        snapshot: GameSnapshot,
        drones: dict[int, int],
        gas: dict[int, int],
        bases: dict[int, int],
        load: dict[int, int],
        wanted: int,
    ) -> set[int]:
        moved: set[int] = set()
        own = snapshot.own
        for extractor, at in gas.items():
            while load[extractor] < wanted:
                free = [d for d in drones if self._job.get(d) in bases and d not in moved]
                if not free:
                    return moved
                places = [drones[d] for d in free]
                nearest = free[int(np.hypot(own.x[places] - own.x[at], own.y[places] - own.y[at]).argmin())]
                load[self._job[nearest]] -= 1
                self._job[nearest] = extractor
                load[extractor] += 1
                moved.add(nearest)
        return moved

    def _even_out(self, bases: dict[int, int], load: dict[int, int]) -> set[int]:
        moved: set[int] = set()
        fullest, emptiest = max(bases, key=lambda b: load[b]), min(bases, key=lambda b: load[b])
        if load[fullest] - PER_BASE >= _OVERFULL and PER_BASE - load[emptiest] >= _ROOM:
            for drone in [d for d, place in self._job.items() if place == fullest][:_ROOM]:
                self._job[drone] = emptiest
                moved.add(drone)
        return moved

    def _employ(
        self, snapshot: GameSnapshot, drones: dict[int, int], bases: dict[int, int], load: dict[int, int]
    ) -> set[int]:
        moved: set[int] = set()
        own = snapshot.own
        for drone, i in drones.items():
            if drone not in self._job:
                place = min(
                    bases,
                    key=lambda b: (
                        6.0 * max(0, load[b] + 1 - PER_BASE)
                        + float(np.hypot(own.x[bases[b]] - own.x[i], own.y[bases[b]] - own.y[i]))
                    ),
                )
                self._job[drone] = place
                load[place] += 1
                moved.add(drone)
        return moved

    def _orders(self, snapshot: GameSnapshot, drones: list[int], bases: dict[int, int]) -> list[UnitCommand]:
        if not drones:
            return []
        resources = snapshot.resources()
        commands = []
        fields = {base: _fields_at(snapshot, resources, i) for base, i in bases.items()}
        for number, drone in enumerate(drones):
            place = self._job.get(drone)
            if place is None:
                continue
            if place not in bases:
                commands.append(UnitCommand(GATHER, (drone,), target=place))
            elif fields[place]:
                commands.append(UnitCommand(GATHER, (drone,), target=fields[place][number % len(fields[place])]))
            elif any(fields.values()):  # mined out: use another base
                rich = next(f for f in fields.values() if f)
                commands.append(UnitCommand(GATHER, (drone,), target=rich[number % len(rich)]))
        return commands


def _fields_at(snapshot: GameSnapshot, resources: Resources, hall: int) -> list[int]:
    away = np.hypot(resources.x - snapshot.own.x[hall], resources.y - snapshot.own.y[hall])
    here: list[int] = resources.tag[(away < 10) & ~resources.is_gas].tolist()
    return here
