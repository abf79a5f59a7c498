"""A game without protocol: start it, give orders, step it, read its state.

Orders are plain numbers (see `state.py`), so that an environment needs no protobuf.
"""

from __future__ import annotations

import hashlib
from functools import cache, lru_cache

import numpy as np

from understudy.games.zerg.proving_ground.columns import Columns
from understudy.games.zerg.proving_ground.compiled import compile_once
from understudy.games.zerg.proving_ground.kernels import entry_points
from understudy.games.zerg.proving_ground.kernels.step import step as step_kernel
from understudy.games.zerg.proving_ground.map_parts import Map
from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.rules import rules
from understudy.games.zerg.proving_ground.state import GATHER, NEUTRAL, STATE, Block, new_scratch, terrain_of
from understudy.games.zerg.proving_ground.unit_data import kind
from understudy.games.zerg.starcraft import PROTOSS, TERRAN, ZERG

TOWNHALL = {TERRAN: "CommandCenter", ZERG: "Hatchery", PROTOSS: "Nexus"}
WORKER = {TERRAN: "SCV", ZERG: "Drone", PROTOSS: "Probe"}
START_WORKERS, START_MINERALS, START_LARVA = 12, 50.0, 3
MINERALS_FAR, MINERALS_NEAR, GAS = 1800.0, 900.0, 2250.0


class Simulation:
    """One game. `block` is its whole state: equal bytes, equal games. `state` and `tables` are views by name."""

    def __init__(self, game_map: Map, races: tuple[int, int], seed: int = 0) -> None:
        compile_once()
        self.map = game_map
        self.block: Block = np.zeros(1, STATE)
        self.state = Columns(self.block)
        self.terrain = _terrain(game_map.seed)
        self.rules, self.tables = rules(), _tables()
        self.scratch = new_scratch()
        state = self.state
        state["random"] = (seed + 1) * 0x9E3779B97F4A7C15 % 2**64 | 1
        state["race"][:] = races
        state["minerals"][:] = START_MINERALS
        state["income_factor"][:] = 1.0
        state["speed"][:] = self.tables["speed"]
        state["cooldown_factor"][:] = 1.0
        state["generation"][:] = 0
        state["endless"] = not game_map.melee
        self._place_resources()
        for player, race in enumerate(races):
            self._place_start(player, race)
        state["creep"][:] = self.tables["creep_radius"][state["kind"]]
        entry_points.look(self.block, self.terrain, self.rules, self.scratch)

    def _place_resources(self) -> None:
        for name, places in (("XelNagaTower", self.map.towers), ("DestructibleRock6x6", self.map.rocks)):
            for x, y in places:
                self.spawn(kind(name), NEUTRAL, x, y)
        near, far, geyser = kind("MineralField750"), kind("MineralField"), kind("VespeneGeyser")
        for base in self.map.bases:
            for number, (x, y) in enumerate(base.minerals):
                rich = number % 2 == 0
                slot = self.spawn(far if rich else near, NEUTRAL, x, y)
                self.state["contents"][slot] = MINERALS_FAR if rich else MINERALS_NEAR
            for x, y in base.geysers:
                self.state["contents"][self.spawn(geyser, NEUTRAL, x, y)] = GAS

    def _place_start(self, player: int, race: int) -> None:
        x, y = self.map.starts[player]
        base = self.map.bases[player]
        hall = self.spawn(kind(TOWNHALL[race]), player, x, y)
        towards = (np.mean(base.minerals, axis=0) if base.minerals else np.array([x - 1.0, y])) - (x, y)
        towards = towards / np.hypot(*towards)
        fields = [
            i for i in range(int(self.state["top"])) if self.state["owner"][i] == NEUTRAL and self._is_field_of(i, x, y)
        ]
        for number in range(START_WORKERS):
            side = (number - (START_WORKERS - 1) / 2) * 0.7
            slot = self.spawn(
                kind(WORKER[race]),
                player,
                x + towards[0] * 4 - towards[1] * side,
                y + towards[1] * 4 + towards[0] * side,
            )
            if fields:
                self.order(player, slot, GATHER, target=fields[number % len(fields)])
        if race == ZERG:
            self.spawn(kind("Overlord"), player, x - towards[0] * 6, y - towards[1] * 6)
            for number in range(START_LARVA):
                larva = self.spawn(kind("Larva"), player, x - 1 + number, y - 3.3)
                self.state["host"][larva] = hall

    def _is_field_of(self, i: int, x: float, y: float) -> bool:
        state = self.state
        return bool(self.tables["minerals_here"][state["kind"][i]]) and bool(
            np.hypot(state["x"][i] - x, state["y"][i] - y) < 10
        )

    @property
    def loop(self) -> int:
        """Game loops since the start; 22.4 of them are a second."""
        return int(self.state["loop"].item())

    @property
    def over(self) -> bool:
        """Whether the game has a result."""
        return bool(self.state["over"])

    def step(self, loops: int = 1, see: bool = True) -> None:
        """Advance the game by this many loops, or until it is over; without `see`, sight may lag by up to 16 loops."""
        step_kernel(self.block, self.terrain, self.rules, self.scratch, loops, see)

    def order(
        self,
        player: int,
        slot: int,
        order: int,
        argument: int = 0,
        target: int = -1,
        x: float = -1.0,
        y: float = -1.0,
        queued: bool = False,
    ) -> int:
        """Give one unit one order; the answer is the game's ActionResult number, 1 for success."""
        return int(
            entry_points.issue(
                self.block, self.terrain, self.rules, player, slot, order, argument, target, float(x), float(y), queued
            )
        )

    def spawn(self, unit_kind: int, owner: int, x: float, y: float, progress: float = 1.0) -> int:
        """Put a unit into the game; returns its slot, or -1 if there is none."""
        return int(entry_points.spawn(self.block, self.rules, unit_kind, owner, float(x), float(y), progress))

    def destroy(self, slot: int) -> None:
        """Kill a unit; no player gets the score."""
        entry_points.destroy(self.block, self.rules, slot)

    def can_place(self, player: int, unit_kind: int, x: float, y: float) -> int:
        """Whether a structure may stand there: 1, or the game's reason why not."""
        return int(entry_points.can_place(self.block, self.terrain, self.rules, player, unit_kind, float(x), float(y)))

    def way_length(self, start: tuple[float, float], goal: tuple[float, float]) -> float:
        """Length of the ground path; 0 if there is none."""
        return float(
            entry_points.way_length(
                self.terrain, self.scratch, float(start[0]), float(start[1]), float(goal[0]), float(goal[1])
            )
        )

    def supply(self, player: int) -> tuple[float, float]:
        """Supply used, and the cap."""
        used, cap = entry_points.supply(self.block, self.rules, player)
        return float(used), float(cap)

    def tech_met(self, player: int, unit_kind: int) -> bool:
        """Whether the player has the buildings that this kind requires."""
        return bool(entry_points.tech_met(self.block, self.rules, player, unit_kind))

    def finish_upgrade(self, player: int, upgrade: int) -> None:
        """Give a player an upgrade at once."""
        entry_points.finish_upgrade(self.block, self.rules, player, upgrade)

    def finish(self, results: tuple[int, int]) -> None:
        """End the game with these results, after a surrender or at the time limit."""
        if not self.over:
            self.state["over"] = 1
            self.state["result"][:] = results

    def digest(self) -> str:
        """A fingerprint of the whole state."""
        return hashlib.blake2b(self.block.tobytes(), digest_size=16).hexdigest()


@cache
def _tables() -> Columns:
    """The rules, by name."""
    return Columns(rules())


@lru_cache(maxsize=16)
def _terrain(seed: int) -> Block:
    return terrain_of(make_map(seed))
