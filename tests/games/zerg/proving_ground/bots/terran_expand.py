"""Depots at the ramp, barracks with addons, orbital command, an expansion, marines with stimpack: Terran."""

from sc2.bot_ai import BotAI
from sc2.data import Difficulty, Race
from sc2.ids.ability_id import AbilityId
from sc2.ids.unit_typeid import UnitTypeId as U
from sc2.ids.upgrade_id import UpgradeId
from sc2.main import run_game
from sc2.maps import get
from sc2.player import Bot, Computer


class TerranExpand(BotAI):
    async def on_start(self):
        self.client.game_step = 8

    async def on_step(self, iteration):
        if not self.townhalls.ready or not self.workers:
            return
        await self.distribute_workers()
        base = self.townhalls.ready.first
        self.train_workers()
        await self.build_supply(base)
        await self.build_structures(base)
        for barracks in self.structures(U.BARRACKS).ready.idle:
            if not barracks.has_add_on and self.structures(U.BARRACKS).amount > 1:
                barracks.build(U.BARRACKSTECHLAB if not self.structures(U.BARRACKSTECHLAB) else U.BARRACKSREACTOR)
            elif self.can_afford(U.MARINE):
                barracks.train(U.MARAUDER if barracks.has_techlab and self.can_afford(U.MARAUDER) else U.MARINE)
        for lab in self.structures(U.BARRACKSTECHLAB).ready.idle:
            if self.can_afford(UpgradeId.STIMPACK) and not self.already_pending_upgrade(UpgradeId.STIMPACK):
                lab.research(UpgradeId.STIMPACK)
        self.fight(base)

    def train_workers(self):
        for hall in self.townhalls.ready:
            if (
                hall.type_id == U.COMMANDCENTER
                and self.structures(U.BARRACKS).ready
                and hall.is_idle
                and self.can_afford(U.ORBITALCOMMAND)
            ):
                hall(AbilityId.UPGRADETOORBITAL_ORBITALCOMMAND)
            elif hall.is_idle and self.supply_workers < 40 and self.can_afford(U.SCV):
                hall.train(U.SCV)
            if hall.type_id == U.ORBITALCOMMAND and hall.energy >= 50:
                hall(AbilityId.CALLDOWNMULE_CALLDOWNMULE, self.mineral_field.closest_to(hall))

    async def build_supply(self, base):
        if (
            self.supply_left < 3 + self.supply_used // 15
            and self.already_pending(U.SUPPLYDEPOT) < 2
            and self.can_afford(U.SUPPLYDEPOT)
        ):
            corners = [c for c in self.main_base_ramp.corner_depots if not self.structures.closer_than(1, c)]
            if corners and (await self.can_place(U.SUPPLYDEPOT, corners))[0]:
                self.workers.closest_to(corners[0]).build(U.SUPPLYDEPOT, corners[0])
            else:
                await self.build(U.SUPPLYDEPOT, near=base.position.towards(self.game_info.map_center, 8))
        for depot in self.structures(U.SUPPLYDEPOT).ready:
            depot(AbilityId.MORPH_SUPPLYDEPOT_LOWER)

    async def build_structures(self, base):
        if self.tech_requirement_progress(U.BARRACKS) < 1:
            return
        near = base.position.towards(self.game_info.map_center, 9)
        wanted = 1 if self.townhalls.amount < 2 else 4
        if self.structures(U.BARRACKS).amount + self.already_pending(U.BARRACKS) < wanted and self.can_afford(
            U.BARRACKS
        ):
            await self.build(U.BARRACKS, near=near, placement_step=4)
        if (
            self.structures(U.BARRACKS)
            and self.gas_buildings.amount + self.already_pending(U.REFINERY) < 2
            and self.can_afford(U.REFINERY)
        ):
            for geyser in self.vespene_geyser.closer_than(12, base):
                if not self.gas_buildings.closer_than(1, geyser):
                    self.workers.closest_to(geyser).build_gas(geyser)
                    break
        if (
            self.townhalls.amount + self.already_pending(U.COMMANDCENTER) < 2
            and self.structures(U.BARRACKS)
            and self.can_afford(U.COMMANDCENTER)
        ):
            await self.expand_now()

    def fight(self, base):
        army = self.units.of_type({U.MARINE, U.MARAUDER})
        if army.amount >= 24:
            for unit in army:
                if unit.is_idle:
                    unit.attack(
                        self.enemy_structures.closest_to(unit).position
                        if self.enemy_structures
                        else self.enemy_start_locations[0]
                    )
                if (
                    self.enemy_units.closer_than(6, unit)
                    and unit.health_percentage > 0.7
                    and UpgradeId.STIMPACK in self.state.upgrades
                ):
                    unit(AbilityId.EFFECT_STIM)
        elif self.enemy_units.closer_than(20, base):
            for unit in army.idle:
                unit.attack(self.enemy_units.closest_to(base).position)


if __name__ == "__main__":
    run_game(
        get("ProvingGround-0"),
        [Bot(Race.Terran, TerranExpand()), Computer(Race.Zerg, Difficulty.Medium)],
        realtime=False,
    )
