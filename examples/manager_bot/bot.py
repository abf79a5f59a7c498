"""A bot with manager classes, in the style of ares-sc2: learning is one manager among others.

It derives from BotAI and not from LearningBot; `managers/strategy.py` holds the BotSession. Try it in this folder:

    understudy proving-ground play bot.py --games 5 --opponent Zerg --difficulty Easy
    understudy package local_training --bot bot.py:ManagerBot --check
"""

from __future__ import annotations

import os
from typing import Any

from managers.army import ArmyManager
from managers.economy import EconomyManager
from managers.strategy import StrategyManager
from sc2.bot_ai import BotAI
from sc2.data import Race, Result


class ManagerBot(BotAI):
    """Each manager gets the bot, and is asked once a step."""

    NAME = "ManagerBot"
    RACE = Race.Terran

    def __init__(self, run_dir: str | os.PathLike[str] = "local_training", **agent_options: Any) -> None:
        super().__init__()
        self.strategy = StrategyManager(self, run_dir, **agent_options)
        self.economy, self.army = EconomyManager(self), ArmyManager(self)

    @property
    def session(self) -> Any:
        """The ladder's program looks for this name, to leave in time after the game."""
        return self.strategy.session

    async def on_start(self) -> None:
        """Tell the manager of strategies who plays."""
        self.strategy.begin()

    async def on_step(self, iteration: int) -> None:
        """Decide, then let the others act on it."""
        try:
            plan = self.strategy.update()
            await self.economy.update(plan)
            self.army.update(plan)
        except BaseException:
            self.close_game()
            raise

    async def on_end(self, game_result: Result) -> None:
        """Record the game."""
        self.close_game(game_result.name)

    def close_game(self, result: str = "Crash") -> dict[str, Any]:
        """Record the game, however it ended; later calls change nothing."""
        return self.strategy.end(result)
