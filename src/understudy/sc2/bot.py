"""LearningBot: a burnysc2 bot that learns which of its strategies wins. Override `features`, `potential` and `play`."""

from __future__ import annotations

import contextlib
import os
import random
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from sc2.bot_ai import BotAI
from sc2.data import Race, Result
from sc2.ids.unit_typeid import UnitTypeId
from sc2.position import Point2

from understudy.agent import RLAgent
from understudy.files.step_time import write_step_time
from understudy.rundir import DEFAULT_RUN_DIR, RunDir
from understudy.sc2.build_orders import OpeningStep
from understudy.sc2.openings import OpeningBook
from understudy.sc2.opponents import OPPONENTS, OpponentForecast, OpponentMemory
from understudy.sc2.races import RANDOM
from understudy.sc2.session import CRASH, BotSession
from understudy.sc2.step_clock import StepClock
from understudy.settings import load_settings

# A game has about a hundred decisions, and the value of a strategy shows only if it is sustained.
TRAINING: Mapping[str, Any] = {
    "gamma": 0.997,
    "gae_lambda": 0.97,
    "probability_floor": 0.02,
    "commitment": 0.75,
    "commitment_half_life": 300.0,
    "commitment_stretch": 40,
    "learning_rate": 0.002,  # a game has one result, and a ladder has few games
    "target_kl": 0.03,
    "entropy_coefficient": 0.003,
    "trial_weight": 1.0,  # a trial repeats one action, so importance weights would nearly cancel it
}
_WORKERS = frozenset({UnitTypeId.SCV, UnitTypeId.DRONE, UnitTypeId.PROBE, UnitTypeId.MULE})
_EARLY_SECONDS, _NEAR = 240.0, 30.0  # an attack near the first base before this time is a rush


class LearningBot(BotAI):
    """A bot for one game. Everything that it learns is in `run_dir`.

    After the game, `close_game` returns how it ended. Call it yourself if the game may end without `on_end`, which
    burnysc2 does not call when a step raises an error or the connection is lost.
    """

    NAME: ClassVar[str] = ""
    RACE: ClassVar[Race] = Race.Random
    FEATURES: ClassVar[Sequence[str]] = ()
    """The names of the values of `features`. Weights follow the names when the list changes."""
    STRATEGIES: ClassVar[Sequence[str]] = ()
    RENAMED: ClassVar[Mapping[str, str]] = {}
    """Old names of features or strategies → new names."""
    OPENINGS: ClassVar[Mapping[str, float]] = {}
    """Openings to choose from, each with its expected win rate before the first game."""
    DECISION_SECONDS: ClassVar[float] = 4.0
    STEP_SECONDS: ClassVar[float] = 0.04
    """The time budget of a step; `self.clock.left` is what remains of it."""
    GAME_STEP: ClassVar[int] = 8
    """Game loops between two steps."""

    def __init__(
        self,
        run_dir: str | os.PathLike[str] = DEFAULT_RUN_DIR,
        *,
        explore: bool = True,
        chance: random.Random | None = None,
        about: Mapping[str, Any] | None = None,
        **agent_options: Any,
    ) -> None:
        super().__init__()
        run = RunDir.at(run_dir)
        options = {"settings": load_settings(defaults={"training": TRAINING}), "renamed": self.RENAMED} | agent_options
        agent = RLAgent(len(self.FEATURES), self.STRATEGIES, run_dir=run_dir, features=self.FEATURES, **options)
        self.session = BotSession(
            agent,
            memory=OpponentMemory(run.root / OPPONENTS, agent.actions),
            explore=explore,
            decision_seconds=self.DECISION_SECONDS,
            chance=chance,
            about=about or {},
        )
        self.clock = StepClock(self.STEP_SECONDS, partial(_say_step_time, run.step_time))
        self.opening = ""
        """The name of the opening for this game."""
        self.opening_steps: list[OpeningStep] = []
        """Its steps, if it was learned from replays."""
        self.expected = OpponentForecast()
        """The forecast from earlier games against this opponent."""
        self.was_rushed = False
        self.iteration = 0
        """The number of this step, as burnysc2 counts."""
        self._build_orders = run.build_orders
        self._ready = False

    # ---- what a bot overrides ---------------------------------------------------------------------------------------

    def features(self) -> Sequence[float]:
        """The policy's input: a number for each name in FEATURES."""
        raise NotImplementedError(f"{type(self).__name__} needs a method features() with {len(self.FEATURES)} numbers.")

    def potential(self) -> float:
        """How good the position is, about −1 to 1. The bot is rewarded for changes of it, which speeds up learning."""
        return 0.0

    async def play(self, strategy: str) -> None:
        """Give the orders of this step under the current strategy."""
        raise NotImplementedError(f"{type(self).__name__} needs a method play(strategy).")

    # ---- what a bot may use -----------------------------------------------------------------------------------------

    @property
    def enemy_supply_army(self) -> float:
        """The visible supply of the enemy's army."""
        seen = (unit for unit in self.enemy_units if unit.can_attack and unit.type_id not in _WORKERS)
        return float(sum(self.calculate_supply_cost(unit.type_id) for unit in seen))

    def where_to_attack(self) -> Point2:
        """The nearest known enemy structure, else the enemy's start; if nothing is left there, a base location."""
        if self.enemy_structures:
            return self.enemy_structures.closest_to(self.start_location).position
        start = self.enemy_start_locations[0]
        return self.session.chance.choice(self.expansion_locations_list) if self.is_visible(start) else start

    # ---- the game ---------------------------------------------------------------------------------------------------

    @property
    def enemy_race_number(self) -> int:
        """The opponent's race as a number of the API; 0 while it is unknown."""
        seen = [unit.race.value for unit in self.enemy_units | self.enemy_structures if unit.race.value < RANDOM]
        known = self.enemy_race.value if self.enemy_race is not None else RANDOM
        return known if 0 < known < RANDOM else max(seen, default=0)

    async def on_start(self) -> None:
        """Choose an opening and start the journal of the game."""
        self.client.game_step = self.GAME_STEP
        opponent, race = self.opponent_id or "", self.enemy_race_number
        book = OpeningBook(self.OPENINGS, race=self.race.value, learned=self._build_orders)
        memory = self.session.memory
        assert memory is not None, "made with the session"
        self.opening = book.choose(memory, opponent, race, self.session.chance if self.session.explore else None)
        self.opening_steps = book.steps(self.opening, race)
        self.expected = self.session.expect(opponent, race)
        name = self.NAME or type(self).__name__
        self.session.begin(opponent, race, opening=self.opening, game=name, map=self.game_info.map_name)
        self._ready = True

    async def on_step(self, iteration: int) -> None:
        """Decide if a decision is due, and play. If this raises an error, the game is recorded first."""
        self.iteration = iteration
        try:
            with self.clock:
                if self.session.due(self.time):
                    self._note_rush()
                    self.session.decide(self.features(), potential=self.potential(), seconds=self.time)
                await self.play(self.session.strategy)
        except BaseException:
            self.close_game(CRASH)
            raise

    async def on_end(self, game_result: Result) -> None:
        """Record the game. burnysc2 reports a Defeat when `on_start` has failed; that is recorded as a crash."""
        self.close_game(game_result.name if self._ready else CRASH)

    def close_game(self, result: str = CRASH) -> dict[str, Any]:
        """Record the game and return how it ended; later calls change nothing."""
        if not self._ready:
            return self.session.end(CRASH)
        return self.session.end(
            result, state=self.features, race=self.enemy_race_number, rushed=self.was_rushed, seconds=self.time
        )

    def _note_rush(self) -> None:
        if self.time < _EARLY_SECONDS and not self.was_rushed:
            self.was_rushed = self.enemy_units.closer_than(_NEAR, self.start_location).amount >= 3


def _say_step_time(path: Path, seconds: float) -> None:
    with contextlib.suppress(OSError):  # a full disk must not end the game
        write_step_time(path, seconds)
