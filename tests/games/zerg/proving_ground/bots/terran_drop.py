"""A bunker with a crew, barracks that lift, scans, MULEs, stimpack and medivac drops: Terran with many buttons."""

from sc2.bot_ai import BotAI
from sc2.data import Difficulty, Race
from sc2.ids.ability_id import AbilityId
from sc2.ids.unit_typeid import UnitTypeId as U
from sc2.ids.upgrade_id import UpgradeId
from sc2.main import run_game
from sc2.maps import get
from sc2.player import Bot, Computer

BUILDINGS = ((U.BARRACKS, 3), (U.FACTORY, 1), (U.STARPORT, 1), (U.BUNKER, 1), (U.ENGINEERINGBAY, 1))


class TerranDrop(BotAI):
    def __init__(self):
        super().__init__()
        self.dropping = set()

    async def on_start(self):
        self.client.game_step = 8
        await self.chat_send("(glhf)")

    async def on_step(self, iteration):
        if not self.townhalls.ready or not self.workers:
            return
        await self.distribute_workers()
        base = self.townhalls.ready.first
        await self.economy(base)
        await self.construct(base)
        self.produce()
        self.crew_the_bunker()
        self.move_a_barracks(base)
        await self.drop()

    async def economy(self, base):
        for hall in self.townhalls.ready.idle:
            if (
                hall.type_id == U.COMMANDCENTER
                and self.structures(U.BARRACKS).ready
                and self.can_afford(U.ORBITALCOMMAND)
            ):
                hall(AbilityId.UPGRADETOORBITAL_ORBITALCOMMAND)
            elif self.supply_workers < 30 and self.can_afford(U.SCV):
                hall.train(U.SCV)
        for orbital in self.townhalls(U.ORBITALCOMMAND).ready:
            if orbital.energy >= 100:
                orbital(AbilityId.SCANNERSWEEP_SCAN, self.enemy_start_locations[0])
            elif orbital.energy >= 50:
                orbital(AbilityId.CALLDOWNMULE_CALLDOWNMULE, self.mineral_field.closest_to(orbital))
        if self.supply_left < 5 and not self.already_pending(U.SUPPLYDEPOT) and self.can_afford(U.SUPPLYDEPOT):
            await self.build(U.SUPPLYDEPOT, near=base.position.towards(self.game_info.map_center, 8))
        if self.structures(U.BARRACKS) and self.gas_buildings.amount < 2 and self.can_afford(U.REFINERY):
            for geyser in self.vespene_geyser.closer_than(12, base):
                if await self.can_place_single(U.REFINERY, geyser.position):
                    worker = self.select_build_worker(geyser)
                    if worker:
                        worker.build_gas(geyser)
                    break

    async def construct(self, base):
        for building, wanted in BUILDINGS:
            have = self.structures(building).amount + self.already_pending(building)
            flying = self.structures(U.BARRACKSFLYING).amount if building == U.BARRACKS else 0
            if have + flying < wanted and self.tech_requirement_progress(building) == 1 and self.can_afford(building):
                near = base.position.towards(self.main_base_ramp.top_center, 9)
                await self.build(building, near=near, placement_step=3)

    def produce(self):
        for barracks in self.structures(U.BARRACKS).ready.idle:
            if (
                not barracks.has_add_on
                and not self.structures(U.BARRACKSTECHLAB)
                and self.can_afford(U.BARRACKSTECHLAB)
            ):
                barracks.build(U.BARRACKSTECHLAB)
            elif self.can_afford(U.MARINE):
                barracks.train(U.MARINE)
        for starport in self.structures(U.STARPORT).ready.idle:
            if self.can_afford(U.MEDIVAC) and self.units(U.MEDIVAC).amount < 2:
                starport.train(U.MEDIVAC)
        for lab in self.structures(U.BARRACKSTECHLAB).ready.idle:
            if self.can_afford(UpgradeId.STIMPACK) and not self.already_pending_upgrade(UpgradeId.STIMPACK):
                lab.research(UpgradeId.STIMPACK)
        for marine in self.units(U.MARINE):
            if marine.has_buff is not None and self.enemy_units.closer_than(5, marine) and marine.health > 40:
                marine(AbilityId.EFFECT_STIM_MARINE)

    def crew_the_bunker(self):
        for bunker in self.structures(U.BUNKER).ready:
            if bunker.cargo_left > 0 and self.time < 300:
                for marine in self.units(U.MARINE).idle.closest_n_units(bunker, bunker.cargo_left):
                    bunker(AbilityId.LOAD_BUNKER, marine)
            elif bunker.cargo_used and self.time >= 300:
                bunker(AbilityId.UNLOADALL_BUNKER)

    def move_a_barracks(self, base):
        for barracks in self.structures(U.BARRACKS).ready.idle:
            if (
                self.structures(U.BARRACKS).ready.amount == 3
                and not barracks.has_add_on
                and not self.structures(U.BARRACKSFLYING)
            ):
                barracks(AbilityId.LIFT_BARRACKS)
                break
        for flying in self.structures(U.BARRACKSFLYING).idle:
            flying(AbilityId.LAND_BARRACKS, base.position.towards(self.game_info.map_center, 12))

    async def drop(self):
        for medivac in self.units(U.MEDIVAC):
            marines = self.units(U.MARINE)
            if medivac.tag in self.dropping:
                if medivac.cargo_used == 0:
                    self.dropping.discard(medivac.tag)
                elif medivac.is_idle:
                    medivac(AbilityId.UNLOADALLAT_MEDIVAC, self.enemy_start_locations[0])
            elif medivac.cargo_used >= 8:
                self.dropping.add(medivac.tag)
                assert len(medivac.passengers) == medivac.cargo_used
                medivac.move(self.game_info.map_center)
                medivac(AbilityId.UNLOADALLAT_MEDIVAC, self.enemy_start_locations[0], queue=True)
            elif medivac.is_idle and marines.amount >= 8 and self.time > 300:
                for marine in marines.closest_n_units(medivac, medivac.cargo_left):
                    medivac(AbilityId.LOAD_MEDIVAC, marine, queue=True)
        army = self.units(U.MARINE).idle
        if army.amount > 20:
            for marine in army:
                marine.attack(self.enemy_start_locations[0])


if __name__ == "__main__":
    run_game(
        get("ProvingGround-0"), [Bot(Race.Terran, TerranDrop()), Computer(Race.Zerg, Difficulty.Medium)], realtime=False
    )
