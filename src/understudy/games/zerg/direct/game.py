"""One whole game on the simulation: the bot's brain against a scripted opponent, a decision at a time."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg.brain import THINK_LOOPS, Brain
from understudy.games.zerg.direct.adapter import DirectGame, field_of
from understudy.games.zerg.learned_openings import Openings
from understudy.games.zerg.macro import Opening
from understudy.games.zerg.opponent_memory import NOTHING_KNOWN, zerg_memory
from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.match import Match, Seat
from understudy.games.zerg.proving_ground.opponents import make_opponent
from understudy.games.zerg.rewards import shaped_reward
from understudy.games.zerg.starcraft import (
    BUILDS,
    DIFFICULTIES,
    LOOPS_PER_SECOND,
    RACES,
    RANDOM,
    RANDOM_BUILD,
    RESULTS,
    ZERG,
)
from understudy.sc2.opponents import OpponentMemory
from understudy.sc2.shaping import final_reward

TIME_LIMIT = 1080.0  # game seconds; a longer game is a tie


class Opponent(NamedTuple):
    """An opponent: the API's numbers for race (1 Terran, 2 Zerg, 3 Protoss, 4 random), difficulty and build."""

    race: int = RANDOM
    difficulty: int = 3
    build: int = RANDOM_BUILD  # the seed chooses

    @property
    def name(self) -> str:
        """Its id in the opponent memory, the same as in games through the protocol."""
        race = RACES.get(self.race, "Random")
        build = BUILDS.get(self.build, "Random")
        return f"{race}-{DIFFICULTIES[self.difficulty - 1]}-{build}"


class Turn(NamedTuple):
    """The outcome of a decision. `result` is empty while the game goes on."""

    state: NDArray[np.float32]
    reward: float
    result: str


class StrategyGame:
    """A game in which a strategy is chosen about every four seconds of game time.

    With `openings` the opening is chosen by the results in `opponents`; with `explore` others are tried, too.
    """

    def __init__(
        self,
        opponent: Opponent,
        *,
        map_seed: int = 0,
        seed: int = 0,
        time_limit: float = TIME_LIMIT,
        opponents: OpponentMemory | None = None,
        openings: Openings | None = None,
        explore: bool = False,
    ) -> None:
        race = opponent.race if opponent.race != RANDOM else _random_race(seed)
        seats = [
            Seat(ZERG, ZERG),
            Seat(race, opponent.race, "", True, opponent.difficulty, opponent.build),
        ]
        self._match = Match(make_map(map_seed), seats, seed, round(time_limit * LOOPS_PER_SECOND))
        game = self._match.simulation
        self._match.opponents.append(make_opponent(game, 1, opponent.difficulty, opponent.build, seed))
        known_race = opponent.race if opponent.race != RANDOM else 0
        self._hands = DirectGame(game, 0)
        expected = NOTHING_KNOWN if opponents is None else opponents.expect(opponent.name, known_race)
        field = field_of(game, 0)._replace(enemy_race=known_race)
        chance = random.Random(seed)
        self.opening = Opening()
        if openings is not None:
            memory = opponents or zerg_memory(None)
            self.opening = openings.choose(memory, opponent.name, known_race, chance if explore else None)
        self.trial = None if opponents is None else opponents.draw_start(opponent.name, known_race, chance)
        """The number of a first strategy to try; None without `opponents`."""
        self.brain = Brain(field, opening=self.opening, expected=expected)
        self.brain.observe(self._hands.snapshot())
        self._potential = self.brain.potential

    @property
    def loop(self) -> int:
        """Game loops played."""
        return self._match.simulation.loop

    @property
    def digest(self) -> str:
        """A fingerprint of the simulation's state."""
        return self._match.simulation.digest()

    def state(self) -> NDArray[np.float32]:
        """The features for the next decision."""
        return self.brain.state()

    def play(self, strategy: int) -> Turn:
        """Follow a strategy until the next decision is due or the game is over."""
        brain, match = self.brain, self._match
        brain.decide(strategy)
        while True:
            self._hands.carry_out(brain.commands())
            match.advance_to(match.simulation.loop + THINK_LOOPS)
            brain.observe(self._hands.snapshot())
            if match.simulation.over:
                result = RESULTS[int(match.simulation.state["result"][0])]
                return Turn(brain.state(), final_reward(result, self._potential), result)
            if brain.time_to_decide:
                before, self._potential = self._potential, brain.potential
                return Turn(brain.state(), shaped_reward(before, self._potential), "")


def _random_race(seed: int) -> int:
    """The race the proving ground's lobby draws for this seed."""
    return random.Random(seed * 2 + 1).choice(tuple(RACES))
