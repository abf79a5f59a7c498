"""BotSession: one game of any bot. Decisions at intervals, rewards, the opponent memory, a reliably recorded end.

It needs no base class and does not import burnysc2: call `begin` when the game starts, `decide` when `due`, and `end`
once the game is over.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from numpy.typing import ArrayLike

from understudy.agent import Decision, RLAgent
from understudy.sc2.opponents import OpponentForecast, OpponentMemory, nothing_known
from understudy.sc2.races import race_name
from understudy.sc2.shaping import final_reward, shaped_reward

CRASH = "Crash"
_FINISHED = ("Victory", "Defeat", "Tie")
_START_SECONDS = 120.0  # the strategy used most in this time counts as the start of the game


class BotSession:
    """One game. Afterwards, `outcome` holds the result, however the game ended.

    `about` goes into the game's file. `explore=False` plays the most probable strategies.
    """

    def __init__(
        self,
        agent: RLAgent,
        *,
        memory: OpponentMemory | None = None,
        explore: bool = True,
        decision_seconds: float = 4.0,
        chance: random.Random | None = None,
        about: Mapping[str, Any] = MappingProxyType({}),
        on_decision: Callable[[Decision], None] | None = None,
    ) -> None:
        self.agent, self.memory, self.explore = agent, memory, explore
        self.chance = chance or random.Random()
        self.outcome: dict[str, Any] = {}
        self.before_end: Callable[[], None] | None = None
        """Called once, before the end of the game is recorded and learned from."""
        self.strategy = agent.actions[0]
        """The label of the last decision."""
        self._seconds_between = decision_seconds
        self._about, self._on_decision = about, on_decision
        self._opponent, self._opening = "", ""
        self._begun, self._decisions, self._potential = False, 0, 0.0
        self._next_decision = 0.0
        self._labels: Counter[str] = Counter()  # decisions at the start of the game, by label

    def expect(self, opponent_id: str, race: int) -> OpponentForecast:
        """The memory's forecast for this opponent."""
        if self.memory is None:
            return nothing_known(self.agent.actions)
        return self.memory.expect(opponent_id, race)

    def begin(self, opponent_id: str = "", race: int = 0, *, opening: str = "", **notes: Any) -> None:
        """Start the journal of a game against this opponent; `race` is its number in the API, 0 if unknown.

        If the game is a trial of a strategy, the memory draws which one.
        """
        trial = None
        if self.memory is not None and self.memory.strategies:
            trial = self.memory.draw_start(opponent_id, race, self.chance)
        self._opponent, self._opening = opponent_id, opening
        known = {"opponent_id": opponent_id, "opponent_race": race_name(race), "opening": opening}
        self.agent.begin_episode(trial=trial, **notes | known | dict(self._about))
        self._begun = True

    def due(self, seconds: float) -> bool:
        """Whether a decision is due at this game time."""
        return seconds >= self._next_decision

    def decide(self, state: ArrayLike, *, potential: float = 0.0, seconds: float = 0.0) -> Decision:
        """Decide on a strategy. The last decision gets the shaped reward for the change of the potential."""
        before, self._potential = self._potential, potential
        if self._decisions:
            self.agent.observe_reward(shaped_reward(before, potential, self.agent.gamma))
        self._decisions += 1
        decision = self.agent.select_action(state, explore=self.explore)
        self.strategy = decision.label
        missed = max(0.0, seconds - self._next_decision) // self._seconds_between
        self._next_decision += (1 + missed) * self._seconds_between  # on a fixed grid: late steps do not shift it
        if seconds < _START_SECONDS:
            self._labels[decision.label] += 1
        if self._on_decision is not None:
            self._on_decision(decision)
        return decision

    def reward(self, amount: float) -> None:
        """Add your own reward to the last decision."""
        self.agent.observe_reward(amount)

    def end(
        self,
        result: str = CRASH,
        *,
        state: Callable[[], ArrayLike] | None = None,
        race: int = 0,
        rushed: bool = False,
        start: str | None = None,
        **notes: Any,
    ) -> dict[str, Any]:
        """Record the game, learn from it if no learner does, and return `outcome`; later calls change nothing.

        A result other than Victory, Defeat and Tie means that the game was cut off; `state` is then its last state.
        `race` is the opponent's race as known by now. `start` is the strategy with which the game began.
        """
        if self.outcome:
            return self.outcome
        if self.before_end is not None:
            self.before_end()
        self.outcome = {"result": result, "steps": 0, "total_reward": 0.0}
        if not self._begun:
            return self.outcome
        finished = result in _FINISHED
        if finished:
            if self._decisions:
                self.agent.observe_reward(final_reward(result, self._potential))
            if self.memory is not None:
                began = self._labels.most_common(1)[0][0] if self._labels else ""
                first = began if start is None else start
                self.memory.record(self._opponent, race, result, rushed, self._opening, first)
        final = state() if not finished and self._decisions and state is not None else None
        notes = {"opponent_race": race_name(race), **notes}
        self.outcome |= self.agent.end_episode(result, final_state=final, **notes)
        self.outcome |= {"result": result, **notes}
        return self.outcome
