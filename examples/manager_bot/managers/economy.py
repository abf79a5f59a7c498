"""Workers, supply and barracks."""

from __future__ import annotations

from sc2.bot_ai import BotAI
from sc2.ids.unit_typeid import UnitTypeId as U

from managers.strategy import Quota


class EconomyManager:
    """Spends the minerals."""

    def __init__(self, bot: BotAI) -> None:
        self._bot = bot

    async def update(self, plan: Quota) -> None:
        """One step."""
        bot = self._bot
        if not bot.townhalls or not bot.workers:
            return
        for hall in bot.townhalls.ready.idle:
            if bot.supply_workers < plan.workers and bot.can_afford(U.SCV):
                hall.train(U.SCV)
        near = bot.townhalls.first.position.towards(bot.game_info.map_center, 8)
        if bot.supply_left < 5 and not bot.already_pending(U.SUPPLYDEPOT) and bot.can_afford(U.SUPPLYDEPOT):
            await bot.build(U.SUPPLYDEPOT, near=near)
        elif bot.structures(U.SUPPLYDEPOT).ready and bot.structures(U.BARRACKS).amount < plan.barracks:
            await bot.build(U.BARRACKS, near=near)  # does nothing without the minerals
        for barracks in bot.structures(U.BARRACKS).ready.idle:
            if bot.can_afford(U.MARINE):
                barracks.train(U.MARINE)
