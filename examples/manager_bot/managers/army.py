"""The marines."""

from __future__ import annotations

from sc2.bot_ai import BotAI
from sc2.ids.unit_typeid import UnitTypeId as U

from managers.strategy import Quota


class ArmyManager:
    """Attacks when the plan says so."""

    def __init__(self, bot: BotAI) -> None:
        self._bot = bot

    def update(self, plan: Quota) -> None:
        """One step."""
        bot = self._bot
        if bot.supply_army >= plan.attack_at:
            seen = bot.enemy_structures
            target = seen.closest_to(bot.start_location) if seen else bot.enemy_start_locations[0]
            for marine in bot.units(U.MARINE).idle:
                marine.attack(target)
