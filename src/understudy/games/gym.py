"""Any Gymnasium environment with a finite number of actions, as a game."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import GameFailed, SettingsError
from understudy.games.game import Bools, Game, Singles, Step
from understudy.games.images import image_of
from understudy.games.saved import pack, unpack, unpacking
from understudy.games.spec import import_here

try:
    import gymnasium
except ImportError as error:
    raise SettingsError("A Gymnasium environment needs Gymnasium: pip install 'understudy[gym]'.") from error

logger = logging.getLogger(__name__)

_MOST_FAILURES = 20  # within a short time
_FAR_APART = 50  # steps: failures that are further apart are not counted together
_REPLAYED = 100_000  # actions of an episode that are remembered; a longer episode starts again when a run is resumed


def open_environment(matches: int, env_id: str = "") -> GymnasiumGame:
    """The factory of `gym:ID`."""
    if not env_id:
        raise SettingsError("Name the environment: gym:ID, or --env ID.")
    return GymnasiumGame(env_id, matches)


class GymnasiumGame(Game):
    """B environments of one id. Observations are flattened; if the info has an `action_mask`, it is obeyed.

    `env_id` may begin with modules to import, as in `minatar:MinAtar/Breakout-v1`: they register the environment. Every
    episode has its own seed. A snapshot consists of these seeds and the actions since, so an environment that depends
    on nothing else is restored exactly.
    """

    players = 1

    def __init__(self, env_id: str, matches: int) -> None:
        super().__init__(matches)
        *modules, env_id = env_id.split(":")
        for module in modules:
            _import(module, env_id)
        try:
            self._envs = [gymnasium.make(env_id) for _ in range(matches)]
        except gymnasium.error.Error as error:
            raise SettingsError(
                f"Gymnasium cannot make {env_id!r}: {error} If a package registers it, name that with --import."
            ) from error
        self._env_id = env_id
        self._failures = self._steps_since = 0
        self._failed_before = False
        self._observation, space = self._envs[0].observation_space, self._envs[0].action_space
        self._image = image_of(self._observation, env_id)
        self._is_box = isinstance(self._observation, gymnasium.spaces.Box)
        if not isinstance(space, gymnasium.spaces.Discrete):
            raise SettingsError(f"The actions of {env_id} are {space}; only Discrete ones can be learned.")
        self.name = env_id
        try:
            self.state_dim = int(gymnasium.spaces.flatdim(self._observation))
        except (ValueError, NotImplementedError) as error:
            raise SettingsError(
                f"The observations of {env_id} are {self._observation}; they need a fixed length."
            ) from error
        self.actions = tuple(str(action) for action in range(int(space.n)))
        self._first_action = int(space.start)
        self._states = np.zeros((matches, self.state_dim), np.float32)
        self._finals = np.zeros_like(self._states)
        self._legal = np.ones((matches, len(self.actions)), np.bool_)
        self._sides = np.zeros(matches, np.int8)
        self._seeds = np.arange(matches, dtype=np.uint32)
        self._episodes = np.zeros(matches, np.int64)
        self._taken = [array("q") for _ in range(matches)]
        self.masked = "action_mask" in self._try_to_begin()

    def model_settings(self) -> Mapping[str, Mapping[str, Any]]:
        """See Game.model_settings: images get a convolutional network."""
        return {} if self._image is None else self._image.settings

    def reset(self, seed: np.random.SeedSequence) -> None:
        """See Game.reset."""
        self._seeds[:] = seed.generate_state(self.matches)
        self._episodes[:] = 0
        for match in range(self.matches):
            self._begin(match)

    def observe(self, out: Singles) -> None:
        """See Game.observe."""
        np.copyto(out, self._states)

    def legal(self, out: Bools) -> None:
        """See Game.legal."""
        np.copyto(out, self._legal)

    def step(self, actions: NDArray[np.int64]) -> Step:
        """See Game.step."""
        rewards = np.zeros(self.matches, np.float32)
        over, cut = np.zeros(self.matches, np.bool_), np.zeros(self.matches, np.bool_)
        for match, action in enumerate(actions.tolist()):
            try:
                seen, reward, terminated, truncated, info = self._act(match, action)
            except Exception as error:  # noqa: BLE001 - foreign code may fail in any way
                cut[match], self._finals[match] = True, self._states[match]
                self._replace(match, error)
                continue
            rewards[match] = reward
            if not (terminated or truncated):
                self._show(match, seen, info)
                continue
            over[match], cut[match] = terminated, truncated and not terminated
            if cut[match]:
                self._finals[match] = self._flat(seen)
            self._begin_next(match)
        return Step(rewards, over, cut, self._finals, self._sides)

    def begin_anew(self, which: Bools) -> Bools:
        """See Game.begin_anew."""
        for match in np.flatnonzero(which).tolist():
            self._begin_next(match)
        return which

    def snapshot(self) -> bytes:
        """See Game.snapshot."""
        taken = np.concatenate([np.asarray(actions, np.int64) for actions in self._taken])
        arrays: dict[str, NDArray[Any]] = {
            "seeds": self._seeds,
            "episodes": self._episodes,
            "lengths": np.array([len(actions) for actions in self._taken]),
            "taken": taken.astype(np.int32),
            "states": self._states,
        }
        return pack({}, arrays)

    def restore(self, saved: bytes) -> Bools:
        """See Game.restore. It plays the running episodes again, which takes as long as they have lasted."""
        _, arrays = unpack(saved)
        with unpacking():
            states = arrays["states"].reshape(self._states.shape)
            taken = np.split(arrays["taken"], np.cumsum(arrays["lengths"])[:-1])
            np.copyto(self._seeds, arrays["seeds"])
            np.copyto(self._episodes, arrays["episodes"])
            if len(taken) != self.matches or any(((a < 0) | (a >= len(self.actions))).any() for a in taken):
                raise ValueError("the number of matches or the actions differ")
        same = np.array([self._replay(match, actions.tolist()) for match, actions in enumerate(taken)])
        same &= ((self._states == states) | (np.isnan(self._states) & np.isnan(states))).all(axis=1)
        if not same.all():
            logger.warning(
                "%s cannot be resumed exactly: the same seed and actions led to different observations, or an episode "
                "is longer than %d decisions. %d of %d matches start again.",
                self.name,
                _REPLAYED,
                self.matches - int(same.sum()),
                self.matches,
            )
            self.begin_anew(~same)
        return same

    def close(self) -> None:
        """See Game.close."""
        for env in self._envs:
            env.close()

    def _replay(self, match: int, actions: list[int]) -> bool:
        """Replay the running episode of a match; False if it ends on the way, or is too long for a replay."""
        if len(actions) >= _REPLAYED:
            return False
        self._begin(match)
        for action in actions:
            seen, _, terminated, truncated, info = self._act(match, action)
            if terminated or truncated:
                return False
            self._show(match, seen, info)
        return True

    def _act(self, match: int, action: int) -> tuple[object, float, bool, bool, dict[str, object]]:
        if len(self._taken[match]) < _REPLAYED:
            self._taken[match].append(action)
        seen, reward, terminated, truncated, info = self._envs[match].step(action + self._first_action)
        self._steps_since += 1
        return seen, float(reward), bool(terminated), bool(truncated), info

    def _replace(self, match: int, error: Exception) -> None:
        """Begin the next episode in a new environment; GameFailed if this happens too often."""
        self._failures = 1 if self._steps_since > _FAR_APART else self._failures + 1
        self._steps_since = 0
        if self._failures >= _MOST_FAILURES:
            raise GameFailed(
                f"{self.name} failed {self._failures} times within {_FAR_APART} steps of each other; "
                f"the last time: {type(error).__name__}: {error}."
            ) from error
        logger.warning(
            "%s failed in match %d (%s: %s). The episode is cut there; the next one has a new environment.",
            self.name,
            match,
            type(error).__name__,
            error,
            exc_info=None if self._failed_before else error,
        )
        self._failed_before = True
        with contextlib.suppress(Exception):
            self._envs[match].close()
        self._envs[match] = gymnasium.make(self._env_id)
        self._begin_next(match)

    def _begin_next(self, match: int) -> None:
        self._episodes[match] += 1
        self._begin(match)

    def _try_to_begin(self) -> dict[str, object]:
        """Begin the first episode; GameFailed if the environment raises an error or returns an invalid observation."""
        try:
            return self._begin(0)
        except Exception as error:  # foreign code may fail in any way
            raise GameFailed(
                f"{self.name} cannot begin an episode, or its first observation is not in {self._observation}: "
                f"{type(error).__name__}: {error}."
            ) from error

    def _begin(self, match: int) -> dict[str, object]:
        """Begin the match's episode from its seed."""
        del self._taken[match][:]
        own = np.random.SeedSequence([int(self._seeds[match]), int(self._episodes[match])])
        seen, info = self._envs[match].reset(seed=int(own.generate_state(1)[0]) >> 1)  # some accept only 31 bits
        self._show(match, seen, info)
        return dict(info)

    def _flat(self, seen: object) -> NDArray[Any]:
        if self._image is not None:
            return self._image.flat(np.asarray(seen))
        if self._is_box:  # as Gymnasium flattens any space, but in a fraction of the time
            return np.asarray(seen).reshape(-1)
        return np.asarray(gymnasium.spaces.flatten(self._observation, seen))

    def _show(self, match: int, seen: object, info: dict[str, object]) -> None:
        self._states[match] = self._flat(seen)
        if "action_mask" in info:
            self._legal[match] = info["action_mask"]


def _import(module: str, env_id: str) -> None:
    """Import a package that registers environments, either on import or in `register_envs`, there or in its `gym`."""
    try:
        import_here(module)
        for place in (module, f"{module}.gym"):
            if env_id not in gymnasium.registry and importlib.util.find_spec(place) is not None:
                getattr(import_here(place), "register_envs", lambda: None)()
    except Exception as error:  # foreign code may fail in any way
        raise SettingsError(
            f"--import {module} fails ({type(error).__name__}: {error}). "
            "It must be an installed module or a file in the current folder."
        ) from error
