"""Pylons, cannons, stargates, void rays with chrono boost: Protoss by air."""

from sc2.bot_ai import BotAI
from sc2.data import Difficulty, Race
from sc2.ids.ability_id import AbilityId
from sc2.ids.unit_typeid import UnitTypeId as U
from sc2.main import run_game
from sc2.maps import get
from sc2.player import Bot, Computer


class ProtossAir(BotAI):
    async def on_start(self):
        self.client.game_step = 8

    async def on_step(self, iteration):
        if not self.townhalls.ready or not self.workers:
            return
        await self.distribute_workers()
        nexus = self.townhalls.ready.first
        if nexus.is_idle and self.supply_workers < 30 and self.can_afford(U.PROBE):
            nexus.train(U.PROBE)
        if self.supply_left < 4 and not self.already_pending(U.PYLON) and self.can_afford(U.PYLON):
            await self.build(U.PYLON, near=nexus.position.towards(self.game_info.map_center, 8))
        await self.tech(nexus)
        for stargate in self.structures(U.STARGATE).ready.idle:
            if self.can_afford(U.VOIDRAY):
                stargate.train(U.VOIDRAY)
            if nexus.energy >= 50:
                nexus(AbilityId.EFFECT_CHRONOBOOSTENERGYCOST, stargate)
        rays = self.units(U.VOIDRAY)
        if rays.amount > 5:
            for ray in rays.idle:
                targets = self.enemy_units | self.enemy_structures
                ray.attack(targets.closest_to(ray).position if targets else self.enemy_start_locations[0])
        for zealot in self.units(U.ZEALOT).idle:
            if self.enemy_units.closer_than(20, nexus):
                zealot.attack(self.enemy_units.closest_to(nexus))

    async def tech(self, nexus):
        pylons = self.structures(U.PYLON).ready
        if not pylons:
            return
        pylon = pylons.random
        for building, count in (
            (U.GATEWAY, 1),
            (U.CYBERNETICSCORE, 1),
            (U.STARGATE, 2),
            (U.FORGE, 1),
            (U.PHOTONCANNON, 2),
        ):
            if self.tech_requirement_progress(building) < 1:
                continue
            if self.structures(building).amount + self.already_pending(building) < count and self.can_afford(building):
                await self.build(building, near=pylon)
                return
        for gateway in self.structures(U.GATEWAY).ready.idle:
            if self.minerals > 400:
                gateway.train(U.ZEALOT)
        if (
            self.structures(U.GATEWAY)
            and self.gas_buildings.amount + self.already_pending(U.ASSIMILATOR) < 2
            and self.can_afford(U.ASSIMILATOR)
        ):
            for geyser in self.vespene_geyser.closer_than(12, nexus):
                worker = self.select_build_worker(geyser.position)
                if worker and not self.gas_buildings.closer_than(1, geyser):
                    worker.build_gas(geyser)
                    worker.stop(queue=True)
                    return


if __name__ == "__main__":
    run_game(
        get("ProvingGround-0"),
        [Bot(Race.Protoss, ProtossAir()), Computer(Race.Terran, Difficulty.Medium)],
        realtime=False,
    )
