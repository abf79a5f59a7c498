"""The direct environment as a game of self-play: `understudy selfplay zerg` trains the live bot's model on it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.experience.episode import features_hash
from understudy.games.game import Game, Singles, Step
from understudy.games.zerg import state
from understudy.games.zerg.direct.batch import GameBatch
from understudy.games.zerg.policy import SETTINGS
from understudy.games.zerg.strategies import NAMES as STRATEGIES

NUMBERS = 40_000_000  # training games are numbered below it, evaluation games (`learn_check.FRESH`) above


class ZergMatches(Game):
    """B games against the mix of scripted opponents. A game that reaches the time limit is a tie, and so over."""

    name, players, state_dim, masked = "zerg", 1, state.STATE_DIM, False
    actions = STRATEGIES
    features_hash = features_hash(state.NAMES)
    # A decision costs milliseconds of simulation: batches are small, and learned from often.
    settings: ClassVar = {
        "training": {
            name: getattr(SETTINGS.training, name)
            for name in ("gamma", "gae_lambda", "learning_rate", "entropy_coefficient", "epochs", "target_kl")
        },
        "parallel": {"games_per_worker": 8, "batch_size": 512, "checkpoint_updates": 20, "timeout_seconds": 120.0},
    }

    def __init__(self, matches: int) -> None:
        super().__init__(matches)
        GameBatch(1).step([0])  # compiles the simulation: the learner, which opens the game first, does it for all
        self._never = np.zeros(matches, np.bool_)
        self._sides = np.zeros(matches, np.int8)

    def reset(self, seed: np.random.SeedSequence) -> None:
        """See Game.reset."""
        first = int(np.random.default_rng(seed).integers(NUMBERS))
        self._games = GameBatch(self.matches, first=first)
        self._states = self._games.states()

    def observe(self, out: Singles) -> None:
        """See Game.observe."""
        np.copyto(out, self._states)

    def step(self, actions: NDArray[np.int64]) -> Step:
        """See Game.step."""
        turn = self._games.step(actions)
        self._states = turn.states
        return Step(turn.rewards, turn.done, self._never, turn.last_states, self._sides)
