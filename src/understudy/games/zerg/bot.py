"""WickedZergBotProImpl: the burnysc2 bot that plays, decides through RLAgent, and leaves every game for the learner."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sc2.bot_ai import BotAI
from sc2.data import Race, Result

from understudy.agent import Decision, RLAgent
from understudy.games.zerg.bot_adapter import BotGame
from understudy.games.zerg.brain import THINK_LOOPS, Brain
from understudy.games.zerg.defaults import zerg_agent
from understudy.games.zerg.learned_openings import Openings
from understudy.games.zerg.macro import Opening
from understudy.games.zerg.opponent_memory import zerg_memory
from understudy.games.zerg.starcraft import LOOPS_PER_SECOND
from understudy.sc2.opponents import OpponentMemory
from understudy.sc2.session import CRASH, BotSession
from understudy.sc2.step_clock import StepClock


class WickedZergBotProImpl(BotAI):
    """A Zerg bot for one game. After the game, `outcome` holds the result, however the game ended.

    `about` goes into the game's file. `on_step_time` gets the mean duration of a step about once a second.

    Call `close_game` once the game is over: burnysc2 does not call `on_end` when a step raises or the socket breaks.
    """

    NAME = "WickedZergBotPro"
    RACE = Race.Zerg

    def __init__(
        self,
        agent: RLAgent | None = None,
        *,
        explore: bool = True,
        opponents: OpponentMemory | None = None,
        openings: Openings | None = None,
        chance: random.Random | None = None,
        about: Mapping[str, Any] = MappingProxyType({}),
        on_decision: Callable[[Decision], None] | None = None,
        on_step_time: Callable[[float], None] | None = None,
    ) -> None:
        super().__init__()
        self.agent = agent or zerg_agent()
        self.session = BotSession(
            self.agent, memory=opponents, explore=explore, chance=chance, about=about, on_decision=on_decision
        )
        self.clock = StepClock(report=on_step_time)
        self._explore, self._openings = explore, openings
        self._opening = Opening()
        self._brain: Brain | None = None

    @property
    def outcome(self) -> dict[str, Any]:
        """How the game ended; empty before that."""
        return self.session.outcome

    async def on_start(self) -> None:
        """Set up the brain and start the game's journal."""
        self.client.game_step = THINK_LOOPS
        self._hands = BotGame(self)
        field = self._hands.field()
        opponent, race = self.opponent_id or "", field.enemy_race
        self._opening = self._choose_opening(opponent, race)
        self.session.begin(opponent, race, opening=self._opening.name, game="zerg", map=self.game_info.map_name)
        self._brain = Brain(field, opening=self._opening, expected=self.session.expect(opponent, race))

    async def on_step(self, iteration: int) -> None:
        """Observe, decide if a decision is due, and act. If this raises, the episode is closed first."""
        try:
            with self.clock:
                self._think()
        except BaseException:
            self.close_game(CRASH)
            raise

    async def on_end(self, game_result: Result) -> None:
        """Save the game. burnysc2 reports a Defeat when `on_start` has failed; that is recorded as a crash."""
        self.close_game(game_result.name if self._brain is not None else CRASH)

    def close_game(self, result: str = CRASH) -> dict[str, Any]:
        """End the episode and return `outcome`; later calls change nothing."""
        brain = self._brain
        if brain is None:
            return self.session.end(result)
        return self.session.end(
            result,
            state=brain.state,
            race=brain.enemy_race,
            rushed=brain.was_rushed,
            start=brain.start,
            seconds=self.state.game_loop / LOOPS_PER_SECOND,
        )

    def _choose_opening(self, opponent: str, race: int) -> Opening:
        """Choose by past results against the opponent; an exploring bot also tries other openings."""
        if self._openings is None:
            return Opening()
        memory = self.session.memory or zerg_memory(None)
        return self._openings.choose(memory, opponent, race, self.session.chance if self._explore else None)

    def _think(self) -> None:
        brain = self._brain
        assert brain is not None, "on_start made it, or the game would not have begun"
        brain.observe(self._hands.snapshot())
        if brain.time_to_decide:
            self._decide(brain)
        self._hands.carry_out(brain.commands())

    def _decide(self, brain: Brain) -> None:
        brain.decide(self.session.decide(brain.state(), potential=brain.potential).action)
