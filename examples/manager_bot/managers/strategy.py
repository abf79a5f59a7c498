"""Decides between plans, and learns which one wins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

from sc2.bot_ai import BotAI

from understudy import RLAgent
from understudy.sc2 import BotSession, OpponentMemory


class Quota(NamedTuple):
    """What the other managers act on."""

    workers: int
    barracks: int
    attack_at: int


PLANS = {"EARLY": Quota(16, 3, 5), "LATE": Quota(22, 5, 40)}
FEATURES = ("workers", "army", "time")


class StrategyManager:
    """Holds the session; nothing else of the bot knows that it learns."""

    def __init__(self, bot: BotAI, run_dir: str | os.PathLike[str], **agent_options: Any) -> None:
        self._bot = bot
        names = tuple(PLANS)
        agent = RLAgent(len(FEATURES), names, run_dir=run_dir, features=FEATURES, **agent_options)
        self.session = BotSession(agent, memory=OpponentMemory(Path(run_dir) / "opponents.json", names))

    def begin(self) -> None:
        """Start the journal of the game."""
        self.session.begin(self._bot.opponent_id or "", self._race(), map=self._bot.game_info.map_name)

    def update(self) -> Quota:
        """The plan in force; a decision every four seconds."""
        if self.session.due(self._bot.time):
            army = self._bot.supply_army / 100
            self.session.decide(self._features(), potential=army, seconds=self._bot.time)
        return PLANS[self.session.strategy]

    def end(self, result: str) -> dict[str, Any]:
        """Record the game."""
        return self.session.end(result, state=self._features, race=self._race())

    def _features(self) -> tuple[float, ...]:
        bot = self._bot
        return bot.supply_workers / 50, bot.supply_army / 100, bot.time / 900

    def _race(self) -> int:
        race = self._bot.enemy_race
        return race.value if race is not None and race.value < 4 else 0
