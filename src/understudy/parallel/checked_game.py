"""A game as self-play uses it: errors name the method and the line; numbers that are not finite count as 0."""

from __future__ import annotations

import logging
import traceback
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import GameFailed, UnderstudyError
from understudy.games.game import Bools, Game, Sides, Singles, Step
from understudy.learning.finite import LARGEST_REWARD, zero_broken_features

logger = logging.getLogger(__name__)


class CheckedGame:
    """Passes calls on to a game. An error raised by the game, or an invalid result, becomes a GameFailed."""

    def __init__(self, game: Game) -> None:
        self._game = game
        self._warned: Counter[str] = Counter()

    def reset(self, seed: np.random.SeedSequence) -> None:
        """See Game.reset."""
        self._call(self._game.reset, seed)

    def observe(self, out: Singles) -> None:
        """See Game.observe."""
        self._call(self._game.observe, out)
        self._clean(out, "observe")

    def legal(self, out: Bools) -> None:
        """See Game.legal."""
        self._call(self._game.legal, out)
        stuck = np.flatnonzero(~out.any(axis=1))
        if len(stuck):
            raise GameFailed(
                f"{self._name}.legal allows no action in match {stuck[0]}. A match without a legal action must be over."
            )

    def to_move(self) -> Sides:
        """See Game.to_move."""
        sides: Sides = self._fitting("to_move", "the result", self._call(self._game.to_move), (self._game.matches,))
        return sides

    def begin_anew(self, which: Bools) -> Bools:
        """See Game.begin_anew."""
        result = self._call(self._game.begin_anew, which)
        restarted: Bools = self._fitting("begin_anew", "the result", result, (self._game.matches,))
        return restarted

    def step(self, actions: NDArray[np.int64]) -> Step:
        """See Game.step."""
        step: Step = self._call(self._game.step, actions)
        if not isinstance(step, Step):
            raise GameFailed(f"{self._name}.step returned {type(step).__name__}; it must return a Step.")
        each = (self._game.matches,)
        for name in ("rewards", "over", "cut"):
            self._fitting("step", name, getattr(step, name), each)
        if step.cut.any():
            self._fitting("step", "finals", step.finals, (*each, self._game.state_dim))
            self._fitting("step", "final_sides", step.final_sides, each)
            finals = step.finals[step.cut]
            if self._clean(finals, "step"):
                step = step._replace(finals=step.finals.copy())
                step.finals[step.cut] = finals
        counts = np.abs(step.rewards) <= LARGEST_REWARD
        if not counts.all():
            wrong = f"{self._name}.step gave a reward of {step.rewards[~counts][0]:g}, which cannot be learned from"
            if not counts.any():
                raise GameFailed(f"{wrong}, and no other reward in any match.")
            self._warn(f"{wrong}; it counts as 0.")
            step = step._replace(rewards=np.where(counts, step.rewards, 0))
        return step

    @property
    def _name(self) -> str:
        return type(self._game).__name__

    def _call(self, method: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return method(*arguments)
        except UnderstudyError:
            raise
        except (Exception, SystemExit) as error:  # other people's code may fail in any way
            at = traceback.extract_tb(error.__traceback__)[-1]
            raise GameFailed(
                f"{self._name}.{method.__name__} raised {type(error).__name__}: {error} ({at.filename}:{at.lineno})."
            ) from error

    def _fitting(self, method: str, what: str, array: Any, shape: tuple[int, ...]) -> Any:
        if not isinstance(array, np.ndarray) or array.shape != shape:
            found = f"has shape {array.shape}" if isinstance(array, np.ndarray) else f"is a {type(array).__name__}"
            raise GameFailed(f"{self._name}.{method}: {what} {found}; it must be an array of shape {shape}.")
        return array

    def _clean(self, states: Singles, method: str) -> bool:
        """Set values that are not finite to 0, and warn; True if there were any."""
        broken = zero_broken_features(states)
        names = self._game.features
        for feature in broken:
            name = f"feature {feature}" if names is None else repr(names[feature])
            self._warn(f"{self._name}.{method} wrote NaN or infinity into {name} of the states; it counts as 0.")
        return bool(broken)

    def _warn(self, text: str) -> None:
        """Log a warning the first time, and again after 10, 100, 1,000 … times."""
        self._warned[text] += 1
        times = self._warned[text]
        if times == 10 ** (len(str(times)) - 1):
            logger.warning("%s%s", text, f" ({times:,} times so far.)" if times > 1 else "")
