"""The direct environment as a game of self-play: `understudy selfplay zerg` trains the live bot's model on it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.errors import MatchesDamaged
from understudy.experience.episode import features_hash
from understudy.games.game import Bools, Game, Singles, Step
from understudy.games.saved import pack, unpack, unpacking
from understudy.games.zerg import state
from understudy.games.zerg.defaults import SETTINGS
from understudy.games.zerg.direct.batch import GameBatch, compile_simulation
from understudy.games.zerg.direct.bulk import MAPS
from understudy.games.zerg.direct.mirror import MirrorGame
from understudy.games.zerg.strategies import NAMES as STRATEGIES

NUMBERS = 40_000_000  # training games have lower numbers, evaluation games higher ones


class ZergMatches(Game):
    """B seats in games of the bot: half against the mix of scripted opponents, half against each other.

    A game that reaches the time limit ends as a tie. The two seats of a mirror game are two matches.
    """

    name, players, state_dim, masked = "zerg", 1, state.STATE_DIM, False
    actions = STRATEGIES
    features_hash = features_hash(state.NAMES)
    features = tuple(state.NAMES)
    # A decision takes milliseconds of simulation, so batches are small and updates frequent.
    settings: ClassVar = {
        "training": dataclasses.asdict(SETTINGS.training),  # the live bot continues with the model
        "parallel": {"games_per_worker": 8, "batch_size": 512, "checkpoint_updates": 20, "timeout_seconds": 120.0},
    }

    def __init__(self, matches: int) -> None:
        super().__init__(matches)
        compile_simulation()  # the learner opens the game first, so workers find it compiled
        self._pairs = matches // 4
        self._against_mix = matches - 2 * self._pairs
        self._never = np.zeros(matches, np.bool_)
        self._sides = np.zeros(matches, np.int8)
        self._states = np.empty((matches, state.STATE_DIM), np.float32)

    def reset(self, seed: np.random.SeedSequence) -> None:
        """See Game.reset."""
        self._next = int(np.random.default_rng(seed).integers(NUMBERS))
        self._games = GameBatch(self._against_mix, first=self._next)
        self._chosen: list[list[list[int]]] = [[] for _ in range(self._pairs)]
        self._numbers = [0] * self._pairs
        self._mirrors = [self._new_mirror(pair) for pair in range(self._pairs)]
        self._show()

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
            self._chosen[pair].append(actions[rows].tolist())
            turns = game.play(self._chosen[pair][-1])
            rewards[rows], over[rows] = [turn.reward for turn in turns], bool(turns[0].result)
            if turns[0].result:
                self._mirrors[pair] = self._new_mirror(pair)
                self._states[rows] = self._mirrors[pair].states()
            else:
                self._states[rows] = [turn.state for turn in turns]
        return Step(rewards, over, self._never, self._states, self._sides)

    def begin_anew(self, which: Bools) -> Bools:
        """See Game.begin_anew. A mirror game restarts for both seats."""
        restarted = which.copy()
        for row in np.flatnonzero(which[: self._against_mix]).tolist():
            self._states[row] = self._games.begin_anew(row)
        for pair in range(self._pairs):
            rows = self._rows(pair)
            if which[rows].any():
                restarted[rows] = True
                self._mirrors[pair] = self._new_mirror(pair)
                self._states[rows] = self._mirrors[pair].states()
        return restarted

    def snapshot(self) -> bytes:
        """See Game.snapshot: the numbers of all games, and the strategies chosen in them."""
        mirrors = list(zip(self._numbers, self._chosen, strict=True))
        facts = {"next": [self._games.next, self._next], "mix": self._games.histories, "mirrors": mirrors}
        return pack(facts, {"states": self._states})

    def restore(self, saved: bytes) -> Bools:
        """See Game.restore. It replays the games, about 4 ms for each decision."""
        facts, arrays = unpack(saved)
        with unpacking():
            following, self._next = (int(number) for number in facts["next"])
            mix = [(int(number), _strategies(chosen)) for number, chosen in facts["mix"]]
            mirrors = [(int(number), [_strategies(both) for both in chosen]) for number, chosen in facts["mirrors"]]
            if len(mix) != self._against_mix or len(mirrors) != self._pairs:
                raise ValueError("the number of matches differs")
            states = arrays["states"].reshape(self._states.shape)
        self._games = GameBatch(0)
        self._games.replay(mix, following)
        self._numbers, self._chosen = [number for number, _ in mirrors], [chosen for _, chosen in mirrors]
        self._mirrors = [_mirror(number) for number in self._numbers]
        for game, chosen in zip(self._mirrors, self._chosen, strict=True):
            for both in chosen:
                game.play(both)
        self._show()
        if not np.array_equal(self._states, states):
            raise MatchesDamaged("This version of the simulation plays its games differently.")
        return ~self._never

    def _show(self) -> None:
        self._states[: self._against_mix] = self._games.states()
        for pair, game in enumerate(self._mirrors):
            self._states[self._rows(pair)] = game.states()

    def _rows(self, pair: int) -> slice:
        first = self._against_mix + 2 * pair
        return slice(first, first + 2)

    def _new_mirror(self, pair: int) -> MirrorGame:
        number, self._next = self._next, self._next + 1
        self._numbers[pair], self._chosen[pair] = number, []
        return _mirror(number)


def _mirror(number: int) -> MirrorGame:
    return MirrorGame(map_seed=number % MAPS, seed=number)


def _strategies(chosen: Sequence[int]) -> list[int]:
    found = [int(strategy) for strategy in chosen]
    if not all(0 <= strategy < len(STRATEGIES) for strategy in found):
        raise ValueError("a strategy does not exist")
    return found
