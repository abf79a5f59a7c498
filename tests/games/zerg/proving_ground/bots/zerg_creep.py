"""Creep tumours that spread, burrowed roaches, biles, an overlord that carries zerglings: Zerg with many buttons."""

import math

from sc2.bot_ai import BotAI
from sc2.data import Difficulty, Race
from sc2.ids.ability_id import AbilityId
from sc2.ids.unit_typeid import UnitTypeId as U
from sc2.ids.upgrade_id import UpgradeId
from sc2.main import run_game
from sc2.maps import get
from sc2.player import Bot, Computer
from sc2.position import Point2


class ZergCreep(BotAI):
    async def on_start(self):
        self.client.game_step = 8

    async def on_step(self, iteration):
        if not self.townhalls.ready or not self.workers:
            return
        await self.distribute_workers()
        hall = self.townhalls.ready.first
        await self.build_up(hall)
        self.produce(hall)
        await self.spread_creep(hall)
        self.carry()
        self.fight(hall)
        self.client.debug_text_screen(f"tumours {self.structures(U.CREEPTUMORBURROWED).amount}", (0.1, 0.1))

    async def build_up(self, hall):
        near = hall.position.towards(self.game_info.map_center, 6)
        for building in (U.SPAWNINGPOOL, U.ROACHWARREN):
            if (
                self.tech_requirement_progress(building) == 1
                and self.can_afford(building)
                and not self.structures(building)
                and not self.already_pending(building)
            ):
                await self.build(building, near=near)
        if self.structures(U.SPAWNINGPOOL) and self.gas_buildings.amount < 2 and self.can_afford(U.EXTRACTOR):
            for geyser in self.vespene_geyser.closer_than(10, hall):
                if not self.gas_buildings.closer_than(1, geyser):
                    worker = self.select_build_worker(geyser)
                    if worker:
                        worker.build_gas(geyser)
                    break
        if (
            self.structures(U.ROACHWARREN).ready
            and hall.type_id == U.HATCHERY
            and hall.is_idle
            and self.can_afford(U.LAIR)
        ):
            hall(AbilityId.UPGRADETOLAIR_LAIR)

    def produce(self, hall):
        if self.supply_left < 4 and self.already_pending(U.OVERLORD) < 2:
            self.train(U.OVERLORD)
        if self.structures(U.SPAWNINGPOOL).ready and self.units(U.QUEEN).amount + self.already_pending(U.QUEEN) < 2:
            self.train(U.QUEEN)
        if hall.is_idle and self.can_afford(UpgradeId.BURROW) and not self.already_pending_upgrade(UpgradeId.BURROW):
            hall.research(UpgradeId.BURROW)
        if self.supply_workers < 22:
            self.train(U.DRONE)
        elif self.structures(U.ROACHWARREN).ready:
            self.train(U.ROACH, 4)
            for roach in self.units(U.ROACH).idle[:1]:
                if self.units(U.RAVAGER).amount < 4 and self.can_afford(U.RAVAGER):
                    roach(AbilityId.MORPHTORAVAGER_RAVAGER)
        elif self.structures(U.SPAWNINGPOOL).ready and self.units(U.ZERGLING).amount < 8:
            self.train(U.ZERGLING)
        if (
            self.structures(U.LAIR).ready
            and not self.units(U.OVERLORDTRANSPORT)
            and self.can_afford(U.OVERLORDTRANSPORT)
        ):
            for overlord in self.units(U.OVERLORD).idle[:1]:
                overlord(AbilityId.MORPH_OVERLORDTRANSPORT)

    async def spread_creep(self, hall):
        for queen in self.units(U.QUEEN).idle:
            abilities = (await self.get_available_abilities([queen]))[0]
            if self.structures(U.CREEPTUMORBURROWED).amount < 1 and AbilityId.BUILD_CREEPTUMOR_QUEEN in abilities:
                place = hall.position.towards(self.game_info.map_center, 8)
                if self.has_creep(place):
                    queen(AbilityId.BUILD_CREEPTUMOR_QUEEN, place)
            elif AbilityId.EFFECT_INJECTLARVA in abilities:
                queen(AbilityId.EFFECT_INJECTLARVA, hall)
        tumours = self.structures(U.CREEPTUMORBURROWED)
        if tumours:
            for tumour, abilities in zip(tumours, await self.get_available_abilities(tumours), strict=True):
                if AbilityId.BUILD_CREEPTUMOR_TUMOR in abilities:
                    ring = [
                        tumour.position + Point2((9 * math.cos(n * math.pi / 6), 9 * math.sin(n * math.pi / 6)))
                        for n in range(12)
                    ]
                    places = [p for p in ring if self.in_map_bounds(p) and self.has_creep(p)]
                    if places:
                        best = min(places, key=lambda p: p.distance_to(self.enemy_start_locations[0]))
                        tumour(AbilityId.BUILD_CREEPTUMOR_TUMOR, best)

    def carry(self):
        for ship in self.units(U.OVERLORDTRANSPORT).idle:
            if ship.cargo_used >= 4:
                ship(AbilityId.UNLOADALLAT_OVERLORD, self.game_info.map_center)
            else:
                for zergling in self.units(U.ZERGLING).closest_n_units(ship, 4):
                    ship(AbilityId.LOAD_OVERLORD, zergling, queue=True)

    def fight(self, hall):
        for roach in self.units(U.ROACH):
            if roach.health_percentage < 0.3 and UpgradeId.BURROW in self.state.upgrades:
                roach(AbilityId.BURROWDOWN_ROACH)
        for roach in self.units(U.ROACHBURROWED):
            if roach.health_percentage > 0.7:
                roach(AbilityId.BURROWUP_ROACH)
        army = self.units.of_type({U.ROACH, U.RAVAGER})
        for ravager in self.units(U.RAVAGER):
            targets = (self.enemy_units | self.enemy_structures).closer_than(9, ravager)
            if targets:
                ravager(AbilityId.EFFECT_CORROSIVEBILE, targets.closest_to(ravager).position)
        if army.amount > 16:
            for unit in army.idle:
                unit.attack(self.enemy_start_locations[0])


if __name__ == "__main__":
    run_game(
        get("ProvingGround-0"), [Bot(Race.Zerg, ZergCreep()), Computer(Race.Terran, Difficulty.Medium)], realtime=False
    )
