"""The bot against itself on the simulation: two brains in one game, Zerg against Zerg."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg.brain import THINK_LOOPS, Brain
from understudy.games.zerg.direct.adapter import DirectGame, field_of
from understudy.games.zerg.direct.game import TIME_LIMIT, Turn
from understudy.games.zerg.proving_ground.maps import make_map
from understudy.games.zerg.proving_ground.match import Match, Seat
from understudy.games.zerg.rewards import shaped_reward
from understudy.games.zerg.starcraft import LOOPS_PER_SECOND, RESULTS, ZERG
from understudy.sc2.shaping import final_reward


class MirrorGame:
    """A game in which both sides choose strategies at the same time, without knowing the other's choice."""

    def __init__(self, *, map_seed: int = 0, seed: int = 0, time_limit: float = TIME_LIMIT) -> None:
        seats = [Seat(ZERG, ZERG), Seat(ZERG, ZERG)]
        self._match = Match(make_map(map_seed), seats, seed, round(time_limit * LOOPS_PER_SECOND))
        game = self._match.simulation
        self._hands = [DirectGame(game, player) for player in (0, 1)]
        self._brains = [Brain(field_of(game, player)._replace(enemy_race=ZERG)) for player in (0, 1)]
        self._observe()
        self._potentials = [brain.potential for brain in self._brains]

    def states(self) -> NDArray[np.float32]:
        """The features for the next decision, a row for each side."""
        return np.stack([brain.state() for brain in self._brains])

    def play(self, strategies: Sequence[int]) -> list[Turn]:
        """Follow a strategy on each side until the next decisions are due or the game is over; a turn for each."""
        for brain, strategy in zip(self._brains, strategies, strict=True):
            brain.decide(strategy)
        game = self._match.simulation
        while True:
            for brain, hand in zip(self._brains, self._hands, strict=True):
                hand.carry_out(brain.commands())
            self._match.advance_to(game.loop + THINK_LOOPS)
            self._observe()
            if game.over:
                return [self._end(player, RESULTS[int(game.state["result"][player])]) for player in (0, 1)]
            if self._brains[0].time_to_decide:  # both sides decide at the same loops
                return [self._go_on(player) for player in (0, 1)]

    def _observe(self) -> None:
        for brain, hand in zip(self._brains, self._hands, strict=True):
            brain.observe(hand.snapshot())

    def _end(self, player: int, result: str) -> Turn:
        return Turn(self._brains[player].state(), final_reward(result, self._potentials[player]), result)

    def _go_on(self, player: int) -> Turn:
        brain = self._brains[player]
        before, self._potentials[player] = self._potentials[player], brain.potential
        return Turn(brain.state(), shaped_reward(before, brain.potential), "")
