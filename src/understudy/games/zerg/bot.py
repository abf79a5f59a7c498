"""WickedZergBotProImpl: the burnysc2 bot that plays, decides through RLAgent, and leaves every game for the learner."""

from __future__ import annotations

import random
import time
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
from understudy.games.zerg.opponent_memory import NOTHING_KNOWN, OpponentMemory
from understudy.games.zerg.rewards import final_reward, shaped_reward
from understudy.games.zerg.starcraft import LOOPS_PER_SECOND, RACES

CRASH = "Crash"
STEP_REPORT_SECONDS = 1.0


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
        self.outcome: dict[str, Any] = {}
        self.slowest_step = 0.0
        self._explore, self._opponents, self._openings = explore, opponents, openings
        self._chance = chance or random.Random()
        self._about, self._on_decision, self._on_step_time = about, on_decision, on_step_time
        self._lately: list[float] = []
        self._next_report = 0.0
        self._opening = Opening()
        self._brain: Brain | None = None
        self._potential = 0.0
        self._decisions = 0

    async def on_start(self) -> None:
        """Set up the brain and start the game's journal."""
        self.client.game_step = THINK_LOOPS
        self._hands = BotGame(self)
        field = self._hands.field()
        opponent, expected, trial = self._opponent_id, NOTHING_KNOWN, None
        if self._opponents is not None:
            expected = self._opponents.expect(opponent, field.enemy_race)
            trial = self._opponents.draw_start(opponent, field.enemy_race, self._chance)
        self._opening = self._choose_opening(field.enemy_race)
        known = {
            "game": "zerg",
            "map": self.game_info.map_name,
            "opponent_id": opponent,
            "opponent_race": _race_name(field.enemy_race),
            "opening": self._opening.name,
        }
        self.agent.begin_episode(trial=trial, **known | dict(self._about))
        self._brain = Brain(field, opening=self._opening, expected=expected)

    async def on_step(self, iteration: int) -> None:
        """Observe, decide if a decision is due, and act. If this raises, the episode is closed first."""
        began = time.perf_counter()
        try:
            self._think()
        except BaseException:
            self.close_game(CRASH)
            raise
        self._note_step(time.perf_counter() - began)

    async def on_end(self, game_result: Result) -> None:
        """Save the game. burnysc2 reports a Defeat when `on_start` has failed; that is recorded as a crash."""
        self.close_game(game_result.name if self._brain is not None else CRASH)

    def close_game(self, result: str = CRASH) -> dict[str, Any]:
        """End the episode and return `outcome`; later calls change nothing."""
        if self.outcome:
            return self.outcome
        brain, cut = self._brain, result not in ("Victory", "Defeat", "Tie")
        self.outcome = {"result": result, "steps": 0, "total_reward": 0.0}
        if brain is None:
            return self.outcome
        race = _race_name(brain.enemy_race)
        if not cut:
            self.agent.observe_reward(final_reward(result, self._potential))
            if self._opponents is not None:
                opening = self._opening.name
                self._opponents.record(
                    self._opponent_id, brain.enemy_race, result, brain.was_rushed, opening, brain.start
                )
        final_state = brain.state() if cut else None
        notes = {"opponent_race": race, "seconds": self.state.game_loop / LOOPS_PER_SECOND}
        self.outcome |= self.agent.end_episode(result, final_state=final_state, **notes)
        self.outcome |= {"result": result, **notes}
        return self.outcome

    @property
    def _opponent_id(self) -> str:
        return self.opponent_id or ""

    def _choose_opening(self, race: int) -> Opening:
        """Choose by past results against the opponent; an exploring bot also tries other openings."""
        if self._openings is None:
            return Opening()
        memory = self._opponents or OpponentMemory(None)
        return self._openings.choose(memory, self._opponent_id, race, self._chance if self._explore else None)

    def _note_step(self, seconds: float) -> None:
        """Report the step time about once a second, so that background work can pause while the game is slow."""
        self.slowest_step = max(self.slowest_step, seconds)
        if self._on_step_time is None:
            return
        self._lately.append(seconds)
        if (now := time.monotonic()) >= self._next_report:
            self._on_step_time(sum(self._lately) / len(self._lately))  # the mean: one slow step must not pause anything
            self._lately, self._next_report = [], now + STEP_REPORT_SECONDS

    def _think(self) -> None:
        brain = self._brain
        assert brain is not None, "on_start made it, or the game would not have begun"
        brain.observe(self._hands.snapshot())
        if brain.time_to_decide:
            self._decide(brain)
        self._hands.carry_out(brain.commands())

    def _decide(self, brain: Brain) -> None:
        before, self._potential = self._potential, brain.potential
        if self._decisions:
            self.agent.observe_reward(shaped_reward(before, self._potential))
        self._decisions += 1
        decision = self.agent.select_action(brain.state(), explore=self._explore)
        brain.decide(decision.action)
        if self._on_decision is not None:
            self._on_decision(decision)


def _race_name(race: int) -> str:
    return RACES.get(race, "Unknown")
