"""Checks of the proving ground against burnysc2 and against the game's rules, in groups."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Literal

from sc2.bot_ai import BotAI
from sc2.data import Race
from sc2.ids.unit_typeid import UnitTypeId
from sc2.player import Bot
from sc2.position import Point2
from sc2.unit import Unit

from understudy.games.zerg.proving_ground.conformance.report import Check
from understudy.games.zerg.proving_ground.in_process import play_async
from understudy.games.zerg.proving_ground.maps import seed_of

FLAT = "Empty128"
Owner = Literal[1, 2]
OWN: Owner = 1
ENEMY: Owner = 2


class CheckingBot(BotAI):
    """Runs one group of checks in its first step, then leaves."""

    def __init__(self, group: Callable[[CheckingBot], AsyncIterator[Check]]) -> None:
        super().__init__()
        self.game_step = 1
        self.found: list[Check] = []
        self._group = group

    async def on_start(self) -> None:
        """One loop per step."""
        self.client.game_step = 1

    async def on_step(self, iteration: int) -> None:
        """Run the checks."""
        if iteration != 1:
            return
        async for check in self._group(self):
            self.found.append(check)
        await self.client.leave()

    @property
    def middle(self) -> Point2:
        """The place where everything is created."""
        return self.game_info.map_center

    async def put(self, owner: Owner, kind: UnitTypeId, place: Point2 | None = None, count: int = 1) -> None:
        """Create units; they are there after the next loops."""
        await self.client.debug_create_unit([(kind, count, place or self.middle, owner)])

    async def wait(self, loops: int) -> None:
        """Let the game run for some loops."""
        self.client.game_step = loops
        await self._advance_steps(loops)
        self.client.game_step = 1

    async def clear(self) -> None:
        """Remove everything around the middle."""
        there = (self.all_own_units | self.all_enemy_units).closer_than(25, self.middle)
        if there:
            await self.client.debug_kill_unit({unit.tag for unit in there})
        await self.wait(2)

    def own(self, kind: UnitTypeId) -> Unit | None:
        """The own unit of this kind nearest to the middle."""
        units = self.all_own_units(kind)
        return units.closest_to(self.middle) if units else None

    def enemy(self, kind: UnitTypeId) -> Unit | None:
        """The enemy's unit of this kind nearest to the middle."""
        units = self.all_enemy_units(kind)
        return units.closest_to(self.middle) if units else None


class Bystander(BotAI):
    """The other player: it orders its units only to hold position."""

    async def on_step(self, iteration: int) -> None:
        """Hold."""
        for unit in self.units:
            unit.hold_position()


def run_on_stage(group: Callable[[CheckingBot], AsyncIterator[Check]], race: Race = Race.Terran) -> list[Check]:
    """The checks of a group."""
    stage = CheckingBot(group)
    asyncio.run(play_async(Bot(race, stage), Bot(Race.Zerg, Bystander()), map_seed=seed_of(FLAT)))
    return stage.found
