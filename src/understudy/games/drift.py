"""Drift: fifty numbers that change at random, eight of which can be picked. A task to measure training with.

x ∈ R⁵⁰ starts standard normal. The reward is x[action]; then x ← 0.9·x + 0.436·noise + B[action], with B a fixed 8 × 50
normal matrix × 0.05. A match is cut off after 300 decisions. Random decisions earn about 0 per match, good ones about
350.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from understudy.games.game import Bools, Game, Singles, Step
from understudy.games.saved import generator_of, pack, unpack, unpacking

STATE_DIM, N_ACTIONS, LENGTH = 50, 8, 300
_KEEP, _NOISE = np.float32(0.9), np.float32(0.436)
PUSH: Singles = (np.random.default_rng(50).standard_normal((N_ACTIONS, STATE_DIM)) * 0.05).astype(np.float32)


class Drift(Game):
    """B matches as one array."""

    name, players, state_dim, masked = "drift", 1, STATE_DIM, False
    actions = tuple(f"PICK_{i}" for i in range(N_ACTIONS))

    def __init__(self, matches: int) -> None:
        super().__init__(matches)
        self._rows = np.arange(matches)
        self._x = np.empty((matches, STATE_DIM), np.float32)
        self._noise = np.empty_like(self._x)
        self._finals = np.empty_like(self._x)
        self._age = np.zeros(matches, np.int64)
        self._never = np.zeros(matches, np.bool_)
        self._sides = np.zeros(matches, np.int8)
        self.reset(np.random.SeedSequence(0))

    def reset(self, seed: np.random.SeedSequence) -> None:
        """See Game.reset."""
        self._rng = np.random.default_rng(seed)
        self._rng.standard_normal(dtype=np.float32, out=self._x)
        self._age[:] = 0

    def observe(self, out: Singles) -> None:
        """See Game.observe."""
        np.copyto(out, self._x)

    def step(self, actions: NDArray[np.int64]) -> Step:
        """See Game.step."""
        rewards = self._x[self._rows, actions]
        self._rng.standard_normal(dtype=np.float32, out=self._noise)
        np.multiply(self._x, _KEEP, out=self._x)
        np.multiply(self._noise, _NOISE, out=self._noise)
        self._x += self._noise
        self._x += PUSH[actions]
        self._age += 1
        cut = self._age >= LENGTH
        if not cut.any():
            return Step(rewards, self._never, self._never, self._finals, self._sides)
        self._finals[cut] = self._x[cut]
        self.begin_anew(cut)
        return Step(rewards, self._never, cut, self._finals, self._sides)

    def to_move(self) -> NDArray[np.int8]:
        """See Game.to_move."""
        return self._sides

    def begin_anew(self, which: Bools) -> Bools:
        """See Game.begin_anew."""
        self._x[which] = self._rng.standard_normal((int(which.sum()), STATE_DIM), np.float32)
        self._age[which] = 0
        return which

    def snapshot(self) -> bytes:
        """See Game.snapshot."""
        return pack({"rng": self._rng.bit_generator.state}, {"x": self._x, "age": self._age})

    def restore(self, saved: bytes) -> Bools:
        """See Game.restore."""
        facts, arrays = unpack(saved)
        with unpacking():
            np.copyto(self._x, arrays["x"])
            np.copyto(self._age, arrays["age"])
            self._rng = generator_of(facts["rng"])
        return ~self._never
