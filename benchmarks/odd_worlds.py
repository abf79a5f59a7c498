"""Sixteen unusual Gymnasium environments for odd_games.py, which nothing was tuned for. Importing this registers them.

`understudy learn-check --env odd/Maze-v0 --import odd_worlds --goal 0.9`, in this folder, learns one of them alone.
"""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

Seen = tuple[Any, float, bool, bool, dict[str, Any]]
STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))


def box(size: int, limit: float = np.inf) -> spaces.Box:
    return spaces.Box(-limit, limit, (size,), np.float32)


def one_hot(place: int, size: int) -> Any:
    return np.eye(size, dtype=np.float32)[place]


class OddWorld(gymnasium.Env[Any, Any]):
    """What all have in common: `time`, and a first observation by `begin`."""

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"]}  # noqa: RUF012 - as declared by Gymnasium
    length = 20

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.time = 0
        self.begin()
        seen = self.seen()
        return seen, self.info()

    def begin(self) -> None:
        """Set up a game."""

    def seen(self) -> Any:
        """The next observation."""
        raise NotImplementedError

    def info(self) -> dict[str, Any]:
        return {}

    def after(self, reward: float, *, over: bool = False, cut: bool = False) -> Seen:
        self.time += 1
        seen = self.seen()
        return seen, float(reward), over, cut, self.info()

    @property
    def last(self) -> bool:
        """Whether this is the last decision of a game of fixed length."""
        return self.time + 1 >= self.length


class Delayed(OddWorld):
    """Name the cue, 200 times; all that was earned is paid after the last decision."""

    length = 200

    def __init__(self) -> None:
        self.observation_space, self.action_space = box(4), spaces.Discrete(3)

    def begin(self) -> None:
        self.earned = 0.0

    def seen(self) -> Any:
        self.cue = int(self.np_random.integers(3))
        return np.append(one_hot(self.cue, 3), np.float32(self.time / self.length))

    def step(self, action: Any) -> Seen:
        self.earned += 0.1 * (int(action) == self.cue)
        return self.after(self.earned if self.last else 0.0, over=self.last)


class HeavyTailed(OddWorld):
    """The right action pays 1; every reward has noise of Student's t with 1.5 degrees of freedom: infinite variance."""

    def __init__(self) -> None:
        self.observation_space, self.action_space = box(5, 1), spaces.Discrete(4)

    def seen(self) -> Any:
        self.state = self.np_random.uniform(-1, 1, 5).astype(np.float32)
        return self.state

    def step(self, action: Any) -> Seen:
        right = 2 * int(self.state[0] > 0) + int(self.state[1] > 0) == int(action)
        return self.after(right + float(self.np_random.standard_t(1.5)), over=self.last)


class Maze(OddWorld):
    """8 × 8 places, walls, a reward of 1 at the goal and nothing else; the way takes 14 steps."""

    length = 100
    plan = ("........", ".######.", "......#.", ".####.#.", ".#..#.#.", ".#.##.#.", ".#....#.", ".####.#G")

    def __init__(self) -> None:
        self.observation_space, self.action_space = spaces.Discrete(64), spaces.Discrete(4)

    def begin(self) -> None:
        self.place = (0, 0)

    def seen(self) -> Any:
        return 8 * self.place[0] + self.place[1]

    def step(self, action: Any) -> Seen:
        row, column = (a + b for a, b in zip(self.place, STEPS[int(action)], strict=True))
        if 0 <= row < 8 and 0 <= column < 8 and self.plan[row][column] != "#":
            self.place = row, column
        over = self.plan[self.place[0]][self.place[1]] == "G"
        return self.after(over, over=over, cut=self.last)


class Hidden(OddWorld):
    """CartPole without velocities; the last two positions are shown. Cut after 300 decisions."""

    length = 300

    def __init__(self) -> None:
        self.observation_space, self.action_space = box(4), spaces.Discrete(2)
        self.inner: Any = gymnasium.make("CartPole-v1").unwrapped

    def begin(self) -> None:
        self.now = self.inner.reset(seed=int(self.np_random.integers(2**31)))[0][[0, 2]]
        self.before = self.now

    def seen(self) -> Any:
        return np.concatenate([self.before, self.now]).astype(np.float32)

    def step(self, action: Any) -> Seen:
        state, reward, over, _, _ = self.inner.step(int(action))
        self.before, self.now = self.now, state[[0, 2]]
        return self.after(reward, over=over, cut=self.last)


class Wide(OddWorld):
    """1,000 features, of which 3 matter; games of one decision."""

    def __init__(self) -> None:
        self.observation_space, self.action_space = box(1000), spaces.Discrete(4)

    def seen(self) -> Any:
        self.state = self.np_random.standard_normal(1000).astype(np.float32)
        return self.state

    def step(self, action: Any) -> Seen:
        x, y, z = self.state[[17, 333, 800]]
        return self.after(int(action) == int(np.argmax([x, y, z, -(x + y + z) / 3])), over=True)


class Moving(OddWorld):
    """Five cues with one right action each; all of them change after every 50,000 decisions in this process."""

    made = 0

    def __init__(self) -> None:
        self.observation_space, self.action_space = box(5, 1), spaces.Discrete(5)

    def seen(self) -> Any:
        self.cue = int(self.np_random.integers(5))
        return one_hot(self.cue, 5)

    def step(self, action: Any) -> Seen:
        right = int(action) == (self.cue + Moving.made // 50_000) % 5
        Moving.made += 1
        return self.after(right, over=self.last)


class Masked(OddWorld):
    """50 actions, 8 of them legal; the one nearest to the target pays most, an illegal one costs 0.5."""

    def __init__(self) -> None:
        self.observation_space, self.action_space = box(51, 1), spaces.Discrete(50)

    def seen(self) -> Any:
        self.legal = np.zeros(50, np.int8)
        self.legal[self.np_random.choice(50, 8, replace=False)] = 1
        self.target = int(self.np_random.integers(50))
        return np.append(self.legal, self.target / 25 - 1).astype(np.float32)

    def info(self) -> dict[str, Any]:
        return {"action_mask": self.legal}

    def step(self, action: Any) -> Seen:
        reward = 1 - abs(int(action) - self.target) / 50 if self.legal[int(action)] else -0.5
        return self.after(reward, over=self.last)


class Constants(OddWorld):
    """Steer a point to 0. Five of eight features are constants, one of them 10⁶, and one is shown twice."""

    length = 60

    def __init__(self) -> None:
        self.observation_space, self.action_space = box(8), spaces.Discrete(3)

    def begin(self) -> None:
        self.x, self.v = float(self.np_random.uniform(-2, 2)), 0.0

    def seen(self) -> Any:
        return np.array([0, self.x, 1, self.v, 1e6, self.x, -3, 7], np.float32)

    def step(self, action: Any) -> Seen:
        self.v = 0.9 * self.v + 0.1 * (int(action) - 1)
        self.x += self.v
        return self.after(-abs(self.x), cut=self.last)


class Negative(OddWorld):
    """A windy 6 × 6 grid with holes: −1 a step, −10 in a hole. `MultiBinary` observations."""

    length = 150
    holes = ((2, 3), (3, 3), (4, 1))

    def __init__(self) -> None:
        self.observation_space, self.action_space = spaces.MultiBinary(12), spaces.Discrete(4)

    def begin(self) -> None:
        self.place = tuple(self.np_random.integers(3, size=2).tolist())

    def seen(self) -> Any:
        return np.concatenate([one_hot(place, 6) for place in self.place]).astype(np.int8)

    def step(self, action: Any) -> Seen:
        if self.np_random.random() < 0.15:
            action = self.np_random.integers(4)
        self.place = tuple(min(5, max(0, a + b)) for a, b in zip(self.place, STEPS[int(action)], strict=True))
        over = self.place == (5, 5)
        return self.after(-10 if self.place in self.holes else -1, over=over, cut=self.last)


class Endless(OddWorld):
    """Keep a drifting level near 0. No game ends; each is cut after 5,000 decisions."""

    length = 5_000

    def __init__(self) -> None:
        self.observation_space, self.action_space = box(2), spaces.Discrete(3)

    def begin(self) -> None:
        self.level = self.drift = 0.0

    def seen(self) -> Any:
        return np.array([self.level, self.drift], np.float32)

    def step(self, action: Any) -> Seen:
        self.drift = 0.98 * self.drift + 0.02 * float(self.np_random.standard_normal())
        self.level = float(np.clip(self.level + self.drift + 0.1 * (int(action) - 1), -5, 5))
        return self.after(abs(self.level) < 0.3, cut=self.last)


class Cards(OddWorld):
    """Which of five cards is the highest? `MultiDiscrete` observations; games of one decision."""

    def __init__(self) -> None:
        self.observation_space, self.action_space = spaces.MultiDiscrete([13] * 5), spaces.Discrete(5)

    def seen(self) -> Any:
        self.hand = self.np_random.integers(0, 13, 5)
        return self.hand

    def step(self, action: Any) -> Seen:
        return self.after(self.hand[int(action)] == self.hand.max(), over=True)


class Lock(OddWorld):
    """Eight of ten actions do nothing. The others open a lock of eight steps, or close it again; 1 when it is open."""

    length = 200
    code = (3, 7, 7, 3, 7, 3, 3, 7)

    def __init__(self) -> None:
        self.observation_space, self.action_space = spaces.Discrete(9), spaces.Discrete(10)

    def begin(self) -> None:
        self.place = 0

    def seen(self) -> Any:
        return self.place

    def step(self, action: Any) -> Seen:
        if int(action) in self.code:
            self.place = self.place + 1 if int(action) == self.code[self.place] else 0
        over = self.place == len(self.code)
        return self.after(over - 0.01, over=over, cut=self.last)


class Xor(OddWorld):
    """The sign of the product of two features decides, ten others are noise; actions begin at 5. Pays 1 or −1."""

    length = 15

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (12,), np.float64)
        self.action_space = spaces.Discrete(2, start=5)

    def seen(self) -> Any:
        self.state = self.np_random.standard_normal(12)
        return self.state

    def step(self, action: Any) -> Seen:
        right = (self.state[2] * self.state[9] > 0) == (int(action) == 6)
        return self.after(1 if right else -1, over=self.last)


class Jackpot(OddWorld):
    """One action pays 0.2; the other 100 in 2 % of the cases and else −1, which is 1.02 in the mean."""

    length = 10

    def __init__(self) -> None:
        self.observation_space, self.action_space = box(1), spaces.Discrete(2)

    def seen(self) -> Any:
        return np.ones(1, np.float32)

    def step(self, action: Any) -> Seen:
        paid = 100.0 if self.np_random.random() < 0.02 else -1.0
        return self.after(paid if int(action) else 0.2, over=self.last)


class Corridor(OddWorld):
    """0.3 is three steps away on one side, 1 twelve steps away on the other; either ends the game."""

    length = 80

    def __init__(self) -> None:
        self.observation_space, self.action_space = box(16, 1), spaces.Discrete(2)

    def begin(self) -> None:
        self.place = 3

    def seen(self) -> Any:
        return one_hot(self.place, 16)

    def step(self, action: Any) -> Seen:
        self.place += 1 if int(action) else -1
        return self.after({0: 0.3, 15: 1.0}.get(self.place, 0.0), over=self.place in (0, 15), cut=self.last)


class Noise(OddWorld):
    """Actions do nothing, rewards are noise: there is nothing to learn."""

    length = 100

    def __init__(self) -> None:
        self.observation_space, self.action_space = box(3), spaces.Discrete(4)

    def seen(self) -> Any:
        return self.np_random.standard_normal(3).astype(np.float32)

    def step(self, action: Any) -> Seen:
        over = bool(self.np_random.random() < 0.05)
        return self.after(float(self.np_random.standard_normal()), over=over, cut=self.last)


WORLDS = (
    Delayed,
    HeavyTailed,
    Maze,
    Hidden,
    Wide,
    Moving,
    Masked,
    Constants,
    Negative,
    Endless,
    Cards,
    Lock,
    Xor,
    Jackpot,
    Corridor,
    Noise,
)
for world in WORLDS:
    gymnasium.register(f"odd/{world.__name__}-v0", entry_point=f"odd_worlds:{world.__name__}")
