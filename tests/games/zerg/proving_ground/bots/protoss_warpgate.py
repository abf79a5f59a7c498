"""Gateways become warp gates; stalkers and zealots are warped in at the front pylon: Protoss on the ground."""

# ruff: noqa: SIM102 - as bots are written

from sc2.bot_ai import BotAI
from sc2.data import Difficulty, Race
from sc2.ids.ability_id import AbilityId
from sc2.ids.unit_typeid import UnitTypeId as U
from sc2.ids.upgrade_id import UpgradeId
from sc2.main import run_game
from sc2.maps import get
from sc2.player import Bot, Computer


class ProtossWarpgate(BotAI):
    async def on_start(self):
        self.client.game_step = 8

    async def on_step(self, iteration):
        if not self.townhalls.ready or not self.workers:
            return
        await self.distribute_workers()
        nexus = self.townhalls.ready.first
        for hall in self.townhalls.ready.idle:
            if self.supply_workers < 36 and self.can_afford(U.PROBE):
                hall.train(U.PROBE)
        if self.supply_left < 5 and self.already_pending(U.PYLON) < 2 and self.can_afford(U.PYLON):
            await self.build(U.PYLON, near=nexus.position.towards(self.game_info.map_center, 9))
        await self.tech(nexus)
        await self.warp_in()
        army = self.units.of_type({U.ZEALOT, U.STALKER})
        if army.amount > 14:
            for unit in army.idle:
                unit.attack(
                    self.enemy_structures.closest_to(unit).position
                    if self.enemy_structures
                    else self.enemy_start_locations[0]
                )

    async def tech(self, nexus):
        pylons = self.structures(U.PYLON).ready
        if not pylons:
            return
        gates = self.structures(U.GATEWAY).amount + self.structures(U.WARPGATE).amount
        if gates + self.already_pending(U.GATEWAY) < (
            1 if not self.structures(U.CYBERNETICSCORE) else 4
        ) and self.can_afford(U.GATEWAY):
            await self.build(U.GATEWAY, near=pylons.random)
        elif self.tech_requirement_progress(U.CYBERNETICSCORE) == 1 and not self.structures(U.CYBERNETICSCORE):
            if self.can_afford(U.CYBERNETICSCORE) and not self.already_pending(U.CYBERNETICSCORE):
                await self.build(U.CYBERNETICSCORE, near=pylons.random)
        if (
            gates
            and self.gas_buildings.amount + self.already_pending(U.ASSIMILATOR) < 2
            and self.can_afford(U.ASSIMILATOR)
        ):
            for geyser in self.vespene_geyser.closer_than(12, nexus):
                if not self.gas_buildings.closer_than(1, geyser):
                    self.workers.closest_to(geyser).build_gas(geyser)
                    break
        for core in self.structures(U.CYBERNETICSCORE).ready.idle:
            if self.can_afford(UpgradeId.WARPGATERESEARCH) and not self.already_pending_upgrade(
                UpgradeId.WARPGATERESEARCH
            ):
                core.research(UpgradeId.WARPGATERESEARCH)
        for gateway in self.structures(U.GATEWAY).ready.idle:
            if self.already_pending_upgrade(UpgradeId.WARPGATERESEARCH) == 1:
                gateway(AbilityId.MORPH_WARPGATE)
            elif self.can_afford(U.ZEALOT):
                gateway.train(U.ZEALOT)

    async def warp_in(self):
        for gate in self.structures(U.WARPGATE).ready:
            abilities = (await self.get_available_abilities([gate]))[0]
            if AbilityId.WARPGATETRAIN_STALKER in abilities and self.can_afford(U.STALKER):
                front = self.structures(U.PYLON).ready.closest_to(self.enemy_start_locations[0])
                place = await self.find_placement(
                    AbilityId.WARPGATETRAIN_STALKER, front.position.to2.random_on_distance(4), placement_step=1
                )
                if place is None:
                    return
                gate.warp_in(U.STALKER, place)


if __name__ == "__main__":
    run_game(
        get("ProvingGround-0"),
        [Bot(Race.Protoss, ProtossWarpgate()), Computer(Race.Zerg, Difficulty.Medium)],
        realtime=False,
    )
