"""Three bases, roaches, hydralisks, upgrades, creep: a macro game with the tech tree."""

from sc2.bot_ai import BotAI
from sc2.data import Difficulty, Race
from sc2.ids.ability_id import AbilityId
from sc2.ids.unit_typeid import UnitTypeId as U
from sc2.ids.upgrade_id import UpgradeId
from sc2.main import run_game
from sc2.maps import get
from sc2.player import Bot, Computer


class ZergMacro(BotAI):
    def __init__(self):
        super().__init__()
        self.seen = 0
        self.upgraded = []

    async def on_start(self):
        self.client.game_step = 8

    async def on_upgrade_complete(self, upgrade):
        self.upgraded.append(upgrade)

    async def on_enemy_unit_entered_vision(self, unit):
        self.seen += 1

    async def on_step(self, iteration):
        if not self.townhalls.ready or not self.workers:
            return
        await self.distribute_workers()
        hall = self.townhalls.ready.first
        await self.make_buildings(hall)
        self.make_units(hall)
        self.make_upgrades()
        await self.use_queens()
        army = self.units.of_type({U.ROACH, U.HYDRALISK, U.RAVAGER, U.ZERGLING})
        if army.amount > 30:
            for unit in army.idle:
                unit.attack(
                    self.enemy_structures.closest_to(unit).position
                    if self.enemy_structures
                    else self.enemy_start_locations[0]
                )
        elif self.enemy_units.closer_than(25, hall):
            for unit in army.idle:
                unit.attack(self.enemy_units.closest_to(hall).position)

    async def make_buildings(self, hall):
        near = hall.position.towards(self.game_info.map_center, 6)
        if (
            self.townhalls.amount + self.already_pending(U.HATCHERY) < 3
            and self.can_afford(U.HATCHERY)
            and self.supply_used > 16
        ):
            await self.expand_now()
        for building, after in (
            (U.SPAWNINGPOOL, 17),
            (U.ROACHWARREN, 30),
            (U.EVOLUTIONCHAMBER, 36),
            (U.HYDRALISKDEN, 44),
        ):
            if (
                (
                    self.supply_used >= after
                    and self.tech_requirement_progress(building) == 1
                    and self.can_afford(building)
                )
                and not self.structures(building)
                and not self.already_pending(building)
            ):
                await self.build(building, near=near)
        wanted = 0 if not self.structures(U.SPAWNINGPOOL) else min(4, 1 + self.supply_used // 25)
        if self.gas_buildings.amount + self.already_pending(U.EXTRACTOR) < wanted and self.can_afford(U.EXTRACTOR):
            for geyser in self.vespene_geyser.closer_than(10, hall):
                if not self.gas_buildings.closer_than(1, geyser):
                    worker = self.select_build_worker(geyser)
                    if worker:
                        worker.build_gas(geyser)
                        break
        if (
            (
                self.structures(U.ROACHWARREN).ready
                and not self.structures(U.LAIR)
                and not self.already_pending(U.LAIR)
                and self.can_afford(U.LAIR)
            )
            and hall.type_id == U.HATCHERY
            and hall.is_idle
        ):
            hall(AbilityId.UPGRADETOLAIR_LAIR)

    def make_units(self, hall):
        if (
            self.supply_left < 4 + self.supply_used // 20
            and self.already_pending(U.OVERLORD) < 2
            and self.supply_cap < 200
        ):
            self.train(U.OVERLORD)
        if (
            self.structures(U.SPAWNINGPOOL).ready
            and self.units(U.QUEEN).amount + self.already_pending(U.QUEEN) < self.townhalls.amount
        ) and self.can_afford(U.QUEEN):
            self.train(U.QUEEN)
        if self.supply_workers + self.already_pending(U.DRONE) < 44 and self.can_afford(U.DRONE):
            self.train(U.DRONE, 2)
        elif self.structures(U.HYDRALISKDEN).ready and self.can_afford(U.HYDRALISK):
            self.train(U.HYDRALISK, 3)
        elif self.structures(U.ROACHWARREN).ready and self.can_afford(U.ROACH):
            self.train(U.ROACH, 5)
        if self.supply_used > 60 and self.units(U.RAVAGER).amount < 3 and self.can_afford(U.RAVAGER):
            for roach in self.units(U.ROACH).idle[:1]:
                roach(AbilityId.MORPHTORAVAGER_RAVAGER)

    def make_upgrades(self):
        for upgrade in (
            UpgradeId.ZERGLINGMOVEMENTSPEED,
            UpgradeId.ZERGMISSILEWEAPONSLEVEL1,
            UpgradeId.GLIALRECONSTITUTION,
        ):
            if self.can_afford(upgrade) and not self.already_pending_upgrade(upgrade):
                self.research(upgrade)

    async def use_queens(self):
        for queen in self.units(U.QUEEN).idle:
            abilities = (await self.get_available_abilities([queen]))[0]
            if AbilityId.EFFECT_INJECTLARVA in abilities and queen.energy >= 25:
                if self.units(U.QUEEN).first == queen and self.time > 240:
                    place = queen.position.towards(self.game_info.map_center, 4)
                    if self.has_creep(place):
                        queen(AbilityId.BUILD_CREEPTUMOR_QUEEN, place)
                        continue
                queen(AbilityId.EFFECT_INJECTLARVA, self.townhalls.closest_to(queen))


if __name__ == "__main__":
    run_game(
        get("ProvingGround-0"), [Bot(Race.Zerg, ZergMacro()), Computer(Race.Terran, Difficulty.Medium)], realtime=False
    )
