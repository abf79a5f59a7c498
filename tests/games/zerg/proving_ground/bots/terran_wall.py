"""A wall on the main's ramp: two corner depots and a barracks between them, lowered when it stands."""

from sc2.bot_ai import BotAI
from sc2.data import Difficulty, Race
from sc2.ids.ability_id import AbilityId
from sc2.ids.unit_typeid import UnitTypeId as U
from sc2.main import run_game
from sc2.maps import get
from sc2.player import Bot, Computer


class TerranWall(BotAI):
    async def on_step(self, iteration):
        if not self.townhalls or not self.workers:
            return
        if self.townhalls.first.is_idle and self.can_afford(U.SCV) and self.supply_workers < 16:
            self.townhalls.first.train(U.SCV)
        ramp = self.main_base_ramp
        depots = self.structures.of_type({U.SUPPLYDEPOT, U.SUPPLYDEPOTLOWERED})
        free = [corner for corner in ramp.corner_depots if not depots or depots.closest_distance_to(corner) > 1]
        if free and self.can_afford(U.SUPPLYDEPOT):
            self.workers.gathering.closest_to(free[0]).build(U.SUPPLYDEPOT, free[0])
        elif not free and not self.structures(U.BARRACKS) and self.can_afford(U.BARRACKS) and depots.ready:
            place = ramp.barracks_correct_placement
            self.workers.gathering.closest_to(place).build(U.BARRACKS, place)
        for depot in self.structures(U.SUPPLYDEPOT).ready:
            depot(AbilityId.MORPH_SUPPLYDEPOT_LOWER)


if __name__ == "__main__":
    run_game(get("ProvingGround-1"), [Bot(Race.Terran, TerranWall()), Computer(Race.Zerg, Difficulty.Easy)], False)
