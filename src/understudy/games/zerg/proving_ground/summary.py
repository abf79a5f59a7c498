"""A one-line summary of a game: result, game time, speed, units made, and the actions that were refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from s2clientprotocol import error_pb2

from understudy.games.zerg.proving_ground.match import Recorder
from understudy.games.zerg.proving_ground.simulation import Simulation
from understudy.games.zerg.proving_ground.state import SLOTS
from understudy.games.zerg.proving_ground.unit_data import abilities, unit_types
from understudy.games.zerg.starcraft import LOOPS_PER_SECOND

SHOWN = 8  # kinds of units and of refusals in a line
FAILURES = 256  # entries of the state's ring of failed orders
PASSING = ("Larva", "Egg", "Broodling", "Interceptor")  # and cocoons: units that nobody orders directly


@dataclass
class Census:
    """Counts the finished units of a player, and its orders that failed after they were accepted; a recorder."""

    player: int = 0
    also: Recorder | None = None
    made: Counter[int] = field(default_factory=Counter)
    failed: Counter[tuple[int, int]] = field(default_factory=Counter)  # (kind of unit, result)

    def __post_init__(self) -> None:
        self._generation = np.zeros(SLOTS, np.int64)
        self._kind = np.zeros(SLOTS, np.int64)
        self._known: set[tuple[int, int, int]] = set()  # slot, generation, kind: nobody is made twice
        self._failures = -1  # no step seen yet

    def __call__(self, game: Simulation) -> None:
        """Look at a game after a step."""
        state = game.state
        there = (state["alive"] == 1) & (state["owner"] == self.player) & (state["progress"] >= 1)
        first, self._failures = self._failures < 0, max(self._failures, 0)
        new = there & ((state["generation"] != self._generation) | (state["kind"] != self._kind))
        if new.any():
            columns = (np.flatnonzero(new), state["generation"][new], state["kind"][new])
            units = set(zip(*(column.tolist() for column in columns), strict=True)) - self._known
            self._known |= units
            if not first:  # units present at the start were not made
                self.made.update(kind for _, _, kind in units)
            self._generation[new], self._kind[new] = state["generation"][new], state["kind"][new]
        total = int(state["failures"])
        for number in range(max(self._failures, total - FAILURES), total):
            slot, result = int(state["failed_slot"][number % FAILURES]), int(state["failed_result"][number % FAILURES])
            if state["owner"][slot] == self.player:
                self.failed[int(state["kind"][slot]), result] += 1
        self._failures = total
        if self.also is not None:
            self.also(game)


@dataclass(frozen=True)
class GameSummary:
    """The summary of one game."""

    result: str
    loops: int
    seconds: float  # real time
    made: dict[str, int] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    counted: bool = True  # whether units and refusals were counted: only in this process

    @property
    def game_time(self) -> str:
        """Minutes and seconds of the game's clock."""
        whole = int(self.loops / LOOPS_PER_SECOND)
        return f"{whole // 60}:{whole % 60:02}"

    def __str__(self) -> str:
        speed = self.loops / max(self.seconds, 1e-9)
        text = f"{self.result} at {self.game_time} ({self.loops} loops, {speed:,.0f} loops/s)"
        if not self.counted:
            return text
        if self.made:
            text += f"; made {_listed(self.made)}"
        return text + (f"; refused {_listed(self.refused)}" if self.refused else "; nothing refused")


def _listed(counts: dict[str, int]) -> str:
    ranked = sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))
    text = ", ".join(f"{count} {name}" for name, count in ranked[:SHOWN])
    rest = sum(count for _, count in ranked[SHOWN:])
    return f"{text}, {rest} others" if rest else text


def names_of_units(made: Counter[int]) -> dict[str, int]:
    """Counts by the names of units."""
    types = unit_types()
    named = {types[k].name: count for k, count in made.items()}
    return {name: count for name, count in named.items() if name not in PASSING and "Cocoon" not in name}


def names_of_refusals(refused: Counter[tuple[int, int]], failed: Counter[tuple[int, int]]) -> dict[str, int]:
    """Counts by ability and reason, and by unit and reason for what failed later."""
    known = {ability.ability_id: ability.friendly_name for ability in abilities()}
    named: Counter[str] = Counter()
    for (ability, result), count in refused.items():
        named[f"{known.get(ability) or f'ability {ability}'}: {_reason(result)}"] += count
    for (unit, result), count in failed.items():
        named[f"{unit_types()[unit].name}'s order, later: {_reason(result)}"] += count
    return dict(named)


def _reason(result: int) -> str:
    names: dict[int, str] = {value: name for name, value in error_pb2.ActionResult.items()}
    return names.get(result, str(result))
