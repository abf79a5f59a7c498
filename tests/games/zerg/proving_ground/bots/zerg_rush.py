"""Zerglings from the first pool on: a rush."""

# ruff: noqa: PLR0912 - as bots are written

from sc2.bot_ai import BotAI
from sc2.data import Difficulty, Race
from sc2.ids.ability_id import AbilityId
from sc2.ids.unit_typeid import UnitTypeId
from sc2.ids.upgrade_id import UpgradeId
from sc2.main import run_game
from sc2.maps import get
from sc2.player import Bot, Computer


class ZergRush(BotAI):
    async def on_start(self):
        self.client.game_step = 8

    async def on_step(self, iteration):
        if iteration == 0:
            await self.chat_send("(glhf)")
        if not self.townhalls:
            for unit in self.units:
                unit.attack(self.enemy_start_locations[0])
            return
        hatchery = self.townhalls.random
        target = self.enemy_structures.random.position if self.enemy_structures else self.enemy_start_locations[0]
        for zergling in self.units(UnitTypeId.ZERGLING):
            if zergling.is_idle:
                zergling.attack(target)
        for queen in self.units(UnitTypeId.QUEEN):
            if queen.energy >= 25 and queen.is_idle:
                queen(AbilityId.EFFECT_INJECTLARVA, hatchery)
        if self.vespene >= 88 and self.gas_buildings.ready:
            for drone in self.workers.filter(
                lambda w: w.is_carrying_vespene or w.order_target == self.gas_buildings.first.tag
            )[:3]:
                drone.gather(self.mineral_field.closest_to(hatchery))
        pool = self.structures(UnitTypeId.SPAWNINGPOOL).ready
        if pool and self.can_afford(UpgradeId.ZERGLINGMOVEMENTSPEED):
            pool.first.research(UpgradeId.ZERGLINGMOVEMENTSPEED)
        if self.supply_left < 2 and not self.already_pending(UnitTypeId.OVERLORD):
            self.train(UnitTypeId.OVERLORD)
        if pool and self.larva and self.can_afford(UnitTypeId.ZERGLING):
            self.train(UnitTypeId.ZERGLING, self.larva.amount)
        if (
            pool
            and not self.units(UnitTypeId.QUEEN)
            and not self.already_pending(UnitTypeId.QUEEN)
            and self.can_afford(UnitTypeId.QUEEN)
        ):
            hatchery.train(UnitTypeId.QUEEN)
        if not self.structures(UnitTypeId.SPAWNINGPOOL) and not self.already_pending(UnitTypeId.SPAWNINGPOOL):
            if self.can_afford(UnitTypeId.SPAWNINGPOOL):
                await self.build(UnitTypeId.SPAWNINGPOOL, near=hatchery.position.towards(self.game_info.map_center, 7))
        elif (
            not self.gas_buildings
            and not self.already_pending(UnitTypeId.EXTRACTOR)
            and self.can_afford(UnitTypeId.EXTRACTOR)
        ):
            self.workers.random.build_gas(self.vespene_geyser.closest_to(hatchery))
        elif self.gas_buildings.ready and self.gas_buildings.first.assigned_harvesters < 3 and self.vespene < 88:
            self.workers.random.gather(self.gas_buildings.first)
        if self.supply_workers < 13 and self.larva and self.can_afford(UnitTypeId.DRONE):
            self.train(UnitTypeId.DRONE)


if __name__ == "__main__":
    run_game(
        get("ProvingGround-0"), [Bot(Race.Zerg, ZergRush()), Computer(Race.Protoss, Difficulty.Medium)], realtime=False
    )
