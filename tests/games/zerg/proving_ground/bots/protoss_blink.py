"""Chrono boost, blink stalkers that jump out of fights, psionic storms: Protoss with many buttons."""

from sc2.bot_ai import BotAI
from sc2.data import Difficulty, Race
from sc2.ids.ability_id import AbilityId
from sc2.ids.buff_id import BuffId
from sc2.ids.unit_typeid import UnitTypeId as U
from sc2.ids.upgrade_id import UpgradeId
from sc2.main import run_game
from sc2.maps import get
from sc2.player import Bot, Computer

BUILDINGS = ((U.GATEWAY, 3), (U.CYBERNETICSCORE, 1), (U.TWILIGHTCOUNCIL, 1), (U.TEMPLARARCHIVE, 1))


class ProtossBlink(BotAI):
    async def on_start(self):
        self.client.game_step = 8

    async def on_step(self, iteration):
        if not self.townhalls.ready or not self.workers:
            return
        await self.distribute_workers()
        nexus = self.townhalls.ready.first
        self.chrono()
        if nexus.is_idle and self.supply_workers < 26 and self.can_afford(U.PROBE):
            nexus.train(U.PROBE)
        if self.supply_left < 6 and not self.already_pending(U.PYLON) and self.can_afford(U.PYLON):
            await self.build(U.PYLON, near=nexus.position.towards(self.game_info.map_center, 8))
        await self.construct(nexus)
        self.produce()
        await self.fight(nexus)

    def chrono(self):
        for nexus in self.townhalls.ready:
            busy = self.structures.ready.filter(
                lambda s: not s.is_idle and not s.has_buff(BuffId.CHRONOBOOSTENERGYCOST)
            )
            if nexus.energy >= 50 and busy:
                nexus(AbilityId.EFFECT_CHRONOBOOSTENERGYCOST, busy.first)

    async def construct(self, nexus):
        pylons = self.structures(U.PYLON).ready
        if not pylons:
            return
        for building, wanted in BUILDINGS:
            if (
                self.structures(building).amount + self.already_pending(building) < wanted
                and self.tech_requirement_progress(building) == 1
                and self.can_afford(building)
            ):
                await self.build(building, near=pylons.closest_to(nexus))
                break
        if self.structures(U.GATEWAY) and self.gas_buildings.amount < 2 and self.can_afford(U.ASSIMILATOR):
            for geyser in self.vespene_geyser.closer_than(12, nexus):
                if not self.gas_buildings.closer_than(1, geyser):
                    self.workers.closest_to(geyser).build_gas(geyser)
                    break

    def produce(self):
        for council in self.structures(U.TWILIGHTCOUNCIL).ready.idle:
            if self.can_afford(UpgradeId.BLINKTECH) and not self.already_pending_upgrade(UpgradeId.BLINKTECH):
                council.research(UpgradeId.BLINKTECH)
        for archive in self.structures(U.TEMPLARARCHIVE).ready.idle:
            if self.can_afford(UpgradeId.PSISTORMTECH) and not self.already_pending_upgrade(UpgradeId.PSISTORMTECH):
                archive.research(UpgradeId.PSISTORMTECH)
        for gateway in self.structures(U.GATEWAY).ready.idle:
            if self.structures(U.TEMPLARARCHIVE).ready and self.units(U.HIGHTEMPLAR).amount < 2:
                if self.can_afford(U.HIGHTEMPLAR):
                    gateway.train(U.HIGHTEMPLAR)
            elif self.structures(U.CYBERNETICSCORE).ready and self.can_afford(U.STALKER):
                gateway.train(U.STALKER)

    async def fight(self, nexus):
        stalkers = self.units(U.STALKER)
        for stalker in stalkers:
            threats = self.enemy_units.closer_than(6, stalker)
            if threats and stalker.shield_percentage < 0.2 and UpgradeId.BLINKTECH in self.state.upgrades:
                abilities = (await self.get_available_abilities([stalker]))[0]
                if AbilityId.EFFECT_BLINK_STALKER in abilities:
                    stalker(AbilityId.EFFECT_BLINK_STALKER, stalker.position.towards(nexus.position, 8))
            elif stalker.is_idle and stalkers.amount > 9:
                stalker.attack(self.enemy_start_locations[0])
        for templar in self.units(U.HIGHTEMPLAR):
            crowd = self.enemy_units.not_structure.closer_than(9, templar)
            if crowd.amount > 3 and templar.energy >= 75:
                templar(AbilityId.PSISTORM_PSISTORM, crowd.center)
            elif templar.is_idle and stalkers:
                templar.move(stalkers.closest_to(templar))


if __name__ == "__main__":
    run_game(
        get("ProvingGround-0"),
        [Bot(Race.Protoss, ProtossBlink()), Computer(Race.Zerg, Difficulty.Medium)],
        realtime=False,
    )
