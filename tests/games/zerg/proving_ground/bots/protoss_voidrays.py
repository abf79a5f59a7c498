"""Three bases and void rays that fly: Protoss in the air, with gas, chrono boost and expansions."""

from sc2.bot_ai import BotAI
from sc2.data import Difficulty, Race
from sc2.ids.ability_id import AbilityId
from sc2.ids.unit_typeid import UnitTypeId as U
from sc2.main import run_game
from sc2.maps import get
from sc2.player import Bot, Computer

ORDER = [(U.GATEWAY, 1), (U.ASSIMILATOR, 2), (U.CYBERNETICSCORE, 1), (U.STARGATE, 2)]


class ProtossVoidrays(BotAI):
    async def on_start(self):
        self.client.game_step = 8

    async def on_step(self, iteration):
        if not self.townhalls.ready or not self.workers:
            return
        await self.distribute_workers()
        for nexus in self.townhalls.ready:
            if nexus.is_idle and self.supply_workers < 44 and self.can_afford(U.PROBE):
                nexus.train(U.PROBE)
            if nexus.energy >= 50:
                nexus(AbilityId.EFFECT_CHRONOBOOSTENERGYCOST, nexus)
        if self.supply_left < 6 and not self.already_pending(U.PYLON) and self.can_afford(U.PYLON):
            await self.build(U.PYLON, near=self.start_location.towards(self.game_info.map_center, 8))
        if self.townhalls.amount < 3 and not self.already_pending(U.NEXUS) and self.can_afford(U.NEXUS):
            await self.expand_now()
        await self.next_building()
        for stargate in self.structures(U.STARGATE).ready.idle:
            if self.can_afford(U.VOIDRAY):
                stargate.train(U.VOIDRAY)
        for ray in self.units(U.VOIDRAY).idle:
            ray.attack(self.enemy_start_locations[0])

    async def next_building(self):
        pylons = self.structures(U.PYLON).ready
        for kind, count in ORDER:
            if self.structures(kind).amount + self.already_pending(kind) >= count or not self.can_afford(kind):
                continue
            if kind == U.ASSIMILATOR:
                wells = self.vespene_geyser.closer_than(12, self.start_location)
                free = [w for w in wells if not self.gas_buildings or self.gas_buildings.closest_distance_to(w) > 1]
                if free:
                    self.workers.closest_to(free[0]).build_gas(free[0])
                    self.workers.closest_to(free[0]).stop(queue=True)
            elif pylons and self.tech_requirement_progress(kind) == 1:
                await self.build(kind, near=pylons.random)
            return


if __name__ == "__main__":
    run_game(
        get("ProvingGround-1"), [Bot(Race.Protoss, ProtossVoidrays()), Computer(Race.Zerg, Difficulty.Easy)], False
    )
