"""All workers attack at once; no race in particular. The smallest bot there is."""

from sc2.bot_ai import BotAI
from sc2.data import Difficulty, Race
from sc2.main import run_game
from sc2.maps import get
from sc2.player import Bot, Computer


class WorkerRush(BotAI):
    async def on_step(self, iteration):
        if iteration == 0:
            for worker in self.workers:
                worker.attack(self.enemy_start_locations[0])
        if (
            self.townhalls
            and self.can_afford(self.workers.first.type_id if self.workers else self.townhalls.first.type_id)
            and self.townhalls.first.is_idle
        ):
            self.townhalls.first.train(self.workers.first.type_id if self.workers else self.townhalls.first.type_id)
        for worker in self.workers.idle:
            worker.attack(self.enemy_start_locations[0])


if __name__ == "__main__":
    run_game(
        get("ProvingGround-0"),
        [Bot(Race.Terran, WorkerRush()), Computer(Race.Terran, Difficulty.VeryEasy)],
        realtime=False,
    )
