"""Photon cannons at the enemy's natural: a proxy pylon, then cannons, with no check of what is pending."""

from sc2.bot_ai import BotAI
from sc2.data import Difficulty, Race
from sc2.ids.unit_typeid import UnitTypeId as U
from sc2.main import run_game
from sc2.maps import get
from sc2.player import Bot, Computer


class ProtossCannons(BotAI):
    async def on_step(self, iteration):
        if not self.townhalls or not self.workers:
            return
        home, enemy = self.townhalls.first, self.enemy_start_locations[0]
        front = enemy.towards(self.game_info.map_center, 30)
        if home.is_idle and self.can_afford(U.PROBE) and self.supply_workers < 18:
            home.train(U.PROBE)
        elif not self.structures(U.PYLON):
            if self.can_afford(U.PYLON):
                await self.build(U.PYLON, near=home.position.towards(self.game_info.map_center, 7))
        elif not self.structures(U.FORGE):
            if self.structures(U.PYLON).ready and self.can_afford(U.FORGE):
                await self.build(U.FORGE, near=self.structures(U.PYLON).ready.first)
        elif not self.structures(U.PYLON).closer_than(20, front):
            if self.can_afford(U.PYLON):
                await self.build(U.PYLON, near=front)
        elif self.structures(U.FORGE).ready and self.can_afford(U.PHOTONCANNON):
            near = self.structures(U.PYLON).closest_to(front)
            if near.is_ready:
                await self.build(U.PHOTONCANNON, near=near)


if __name__ == "__main__":
    run_game(
        get("ProvingGround-1"), [Bot(Race.Protoss, ProtossCannons()), Computer(Race.Terran, Difficulty.Easy)], False
    )
