"""The direct environment as a game of self-play: `understudy selfplay zerg` trains the live bot's model on it."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.experience.episode import features_hash
from understudy.games.game import Game, Singles, Step
from understudy.games.zerg import state
from understudy.games.zerg.direct.batch import GameBatch, compile_simulation
from understudy.games.zerg.direct.bulk import MAPS
from understudy.games.zerg.direct.mirror import MirrorGame
from understudy.games.zerg.policy import SETTINGS
from understudy.games.zerg.strategies import NAMES as STRATEGIES

NUMBERS = 40_000_000  # training games are numbered below it, evaluation games (`learn_check.FRESH`) above


class ZergMatches(Game):
    """B seats in games of the bot: half of them against the mix of scripted opponents, half against one another.

    A game that reaches the time limit is a tie, and so over. The two seats of a game against oneself are two matches.
    """

    name, players, state_dim, masked = "zerg", 1, state.STATE_DIM, False
    actions = STRATEGIES
    features_hash = features_hash(state.NAMES)
    # A decision costs milliseconds of simulation: batches are small, and learned from often.
    settings: ClassVar = {
        "training": dataclasses.asdict(SETTINGS.training),  # all of them, so that the live bot goes on with the model
        "parallel": {"games_per_worker": 8, "batch_size": 512, "checkpoint_updates": 20, "timeout_seconds": 120.0},
    }

    def __init__(self, matches: int) -> None:
        super().__init__(matches)
        compile_simulation()  # the learner, which opens the game first, does it for all workers
        self._pairs = matches // 4
        self._against_mix = matches - 2 * self._pairs
        self._never = np.zeros(matches, np.bool_)
        self._sides = np.zeros(matches, np.int8)
        self._states = np.empty((matches, state.STATE_DIM), np.float32)

    def reset(self, seed: np.random.SeedSequence) -> None:
        """See Game.reset."""
        self._next = int(np.random.default_rng(seed).integers(NUMBERS))
        self._games = GameBatch(self._against_mix, first=self._next)
        self._mirrors = [self._new_mirror() for _ in range(self._pairs)]
        self._states[: self._against_mix] = self._games.states()
        for pair, game in enumerate(self._mirrors):
            self._states[self._rows(pair)] = game.states()

    def observe(self, out: Singles) -> None:
        """See Game.observe."""
        np.copyto(out, self._states)

    def step(self, actions: NDArray[np.int64]) -> Step:
        """See Game.step."""
        rewards, over = np.empty(self.matches, np.float32), np.empty(self.matches, np.bool_)
        turn = self._games.step(actions[: self._against_mix])
        mix = slice(self._against_mix)
        self._states[mix], rewards[mix], over[mix] = turn.states, turn.rewards, turn.done
        for pair, game in enumerate(self._mirrors):
            rows = self._rows(pair)
            turns = game.play(actions[rows].tolist())
            rewards[rows], over[rows] = [turn.reward for turn in turns], bool(turns[0].result)
            if turns[0].result:
                self._mirrors[pair] = self._new_mirror()
                self._states[rows] = self._mirrors[pair].states()
            else:
                self._states[rows] = [turn.state for turn in turns]
        return Step(rewards, over, self._never, self._states, self._sides)

    def _rows(self, pair: int) -> slice:
        first = self._against_mix + 2 * pair
        return slice(first, first + 2)

    def _new_mirror(self) -> MirrorGame:
        number, self._next = self._next, self._next + 1
        return MirrorGame(map_seed=number % MAPS, seed=number)
