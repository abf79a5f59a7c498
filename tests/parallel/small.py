"""Games that show where every number came from, and games that misbehave."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from understudy.games.game import Bools, Game, Sides, Singles, Step
from understudy.games.saved import generator_of, pack, unpack
from understudy.models.live import Interface, LiveModel, new_model
from understudy.parallel.player import PlayerSpec
from understudy.settings import NetworkSettings, ParallelSettings, Settings, TrainingSettings


class Counting(Game):
    """Two players. A state is (match, game, decision, side); lengths are random; every third game is cut."""

    name, players, state_dim, masked = "counting", 2, 4, True
    actions = ("A", "B", "C")

    def reset(self, seed: np.random.SeedSequence) -> None:
        self._rng = np.random.default_rng(seed)
        self._game = np.zeros(self.matches, np.int64)
        self._age = np.zeros(self.matches, np.int64)
        self._side = np.zeros(self.matches, np.int8)
        self._length = self._rng.integers(1, 12, self.matches)

    def observe(self, out: Singles) -> None:
        out[:] = np.stack([np.arange(self.matches), self._game, self._age, self._side], axis=1)

    def legal(self, out: Bools) -> None:
        out[:] = True
        out[np.arange(self.matches), self._age % 3] = False

    def to_move(self) -> Sides:
        return self._side.copy()

    def step(self, actions: NDArray[np.int64]) -> Step:
        rewards = self._rng.normal(size=self.matches).astype(np.float32)
        self._age += 1
        self._side ^= (self._rng.random(self.matches) < 0.8).astype(np.int8)  # the same player may move twice
        ended = self._age >= self._length
        cut = ended & (self._game % 3 == 2)
        finals = np.empty((self.matches, 4), np.float32)
        self.observe(finals)
        sides = self._side.copy()
        self._game += ended
        self._age[ended], self._side[ended] = 0, 0
        self._length[ended] = self._rng.integers(1, 12, int(ended.sum()))
        return Step(rewards, ended & ~cut, cut, finals, sides)

    def snapshot(self) -> bytes | None:
        arrays: dict[str, NDArray[Any]] = {
            "game": self._game,
            "age": self._age,
            "side": self._side,
            "length": self._length,
        }
        return pack({"rng": self._rng.bit_generator.state}, arrays)

    def restore(self, saved: bytes) -> Bools:
        facts, arrays = unpack(saved)
        self._rng = generator_of(facts["rng"])
        self._game, self._age, self._side, self._length = (arrays[name] for name in ("game", "age", "side", "length"))
        return np.ones(self.matches, np.bool_)


class Bandit(Game):
    """1 for the action that is the argmax of the first five of fifteen inputs; a game is ten decisions."""

    name, players, state_dim, masked = "bandit", 1, 15, False
    actions = tuple("ABCDE")

    def reset(self, seed: np.random.SeedSequence) -> None:
        self._rng = np.random.default_rng(seed)
        self._states = self._rng.standard_normal((self.matches, 15), np.float32)
        self._age = 0

    def observe(self, out: Singles) -> None:
        out[:] = self._states

    def step(self, actions: NDArray[np.int64]) -> Step:
        rewards = (self._states[:, :5].argmax(axis=1) == actions).astype(np.float32)
        self._states = self._rng.standard_normal((self.matches, 15), np.float32)
        self._age += 1
        over = np.full(self.matches, self._age % 10 == 0)
        return Step(rewards, over, np.zeros_like(over), self._states, np.zeros(self.matches, np.int8))


class Walk(Game):
    """A game is 100 decisions, each worth 1; a state says how far it is."""

    name, players, state_dim, masked = "walk", 1, 1, False
    actions = ("LEFT", "RIGHT")

    def reset(self, seed: np.random.SeedSequence) -> None:
        self._age = np.zeros(self.matches, np.int64)

    def observe(self, out: Singles) -> None:
        out[:, 0] = self._age

    def step(self, actions: NDArray[np.int64]) -> Step:
        self._age += 1
        over = self._age == 100
        self._age[over] = 0
        no = np.zeros(self.matches, np.bool_)
        return Step(np.ones(self.matches, np.float32), over, no, np.zeros((self.matches, 1), np.float32), no.view("i1"))

    def begin_anew(self, which: Bools) -> Bools:
        self._age[which] = 0
        return which


class Recall(Game):
    """The first of six states shows a cue, the others do not: 1 for naming it at the end, otherwise 0."""

    name, players, state_dim, masked = "recall", 1, 4, False
    actions = ("A", "B")
    length = 6

    def reset(self, seed: np.random.SeedSequence) -> None:
        self._rng = np.random.default_rng(seed)
        self._age = np.zeros(self.matches, np.int64)
        self._cue = self._rng.integers(0, 2, self.matches)

    def observe(self, out: Singles) -> None:
        first = self._age == 0
        last = self._age == self.length - 1
        out[:] = np.stack([first & (self._cue == 0), first & (self._cue == 1), last, ~first & ~last], axis=1)

    def step(self, actions: NDArray[np.int64]) -> Step:
        over = self._age == self.length - 1
        rewards = (over & (actions == self._cue)).astype(np.float32)
        self._age += 1
        self.begin_anew(over)
        no = np.zeros(self.matches, np.bool_)
        return Step(rewards, over, no, np.zeros((self.matches, 4), np.float32), no.view("i1"))

    def begin_anew(self, which: Bools) -> Bools:
        self._age[which] = 0
        self._cue[which] = self._rng.integers(0, 2, int(which.sum()))
        return which


class Advised(Bandit):
    """Recommends training settings, and none for the network."""

    settings: ClassVar = {"training": {"gamma": 0.25}}


class AlwaysCut(Bandit):
    """Every decision ends its match, by a limit."""

    def step(self, actions: NDArray[np.int64]) -> Step:
        step = super().step(actions)
        return step._replace(over=np.zeros_like(step.over), cut=np.ones_like(step.over))


class Hanging(Bandit):
    """The first process that plays it never comes back from its thirtieth step; later ones play on."""

    def step(self, actions: NDArray[np.int64]) -> Step:
        flag = Path(os.environ["UNDERSTUDY_TEST_FLAG"])
        if self._age == 30 and not flag.exists():
            flag.touch()
            time.sleep(600)
        return super().step(actions)


class Dying(Bandit):
    """Ends its process, unless that is the one named in the environment."""

    def step(self, actions: NDArray[np.int64]) -> Step:
        if str(os.getpid()) != os.environ.get("UNDERSTUDY_TEST_PID"):
            os._exit(7)
        return super().step(actions)


class Raising(Bandit):
    """Raises, unless in the process named in the environment."""

    def step(self, actions: NDArray[np.int64]) -> Step:
        if str(os.getpid()) != os.environ.get("UNDERSTUDY_TEST_PID"):
            raise RuntimeError("the board is on fire")
        return super().step(actions)


class Hungry(Bandit):
    """Takes memory until it is stopped, unless the file named in the environment says that this has happened."""

    def step(self, actions: NDArray[np.int64]) -> Step:
        try:
            Path(os.environ["UNDERSTUDY_TEST_EATEN"]).touch(exist_ok=False)
        except FileExistsError:
            return super().step(actions)
        held = []
        for _ in range(50):
            held.append(np.ones(10_000_000))
            time.sleep(0.1)
        raise RuntimeError("nobody has stopped it")


class Recommending(Bandit):
    """Recommends settings of network and training."""

    def model_settings(self) -> dict[str, dict[str, Any]]:
        return {"network": {"hidden": (7, 5)}, "training": {"gae_lambda": 0.5}}


class Tiring(Bandit):
    """Raises after a batch."""

    steps = 0

    def step(self, actions: NDArray[np.int64]) -> Step:
        self.steps += 1
        if self.steps > 32:
            raise RuntimeError("tired")
        return super().step(actions)


class Poisoned(Bandit):
    """Rewards that cannot be learned from."""

    def step(self, actions: NDArray[np.int64]) -> Step:
        step = super().step(actions)
        return step._replace(rewards=step.rewards * np.float32("nan"))


def settings(training: dict[str, Any] | None = None, **parallel: Any) -> Settings:
    defaults = {"num_workers": 1, "games_per_worker": 8, "batch_size": 256}
    return Settings(
        network=NetworkSettings(hidden=(32,)),
        training=TrainingSettings(**({"exploration": 0.0, "gamma": 0.0} | (training or {}))),
        parallel=ParallelSettings(**(defaults | parallel)),
    )


def make_model(game: type[Game], seed: int = 0) -> LiveModel:
    chosen = settings()
    return LiveModel(
        new_model(Interface(game.state_dim, game.actions), chosen.network, chosen.training, seed)  # as a run has it
    )


def player_spec(name: str, model: LiveModel, matches: int, seed: int = 0) -> PlayerSpec:
    return PlayerSpec(f"parallel.small:{name}", matches, model.base.spec, True, seed, 1000)
