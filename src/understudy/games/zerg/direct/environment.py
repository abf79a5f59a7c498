"""The proving ground as a Gymnasium environment: one step is one strategic decision, about four seconds of game."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from understudy.games.zerg.direct.bulk import MAPS, MIX, mixed_opponent
from understudy.games.zerg.direct.game import TIME_LIMIT, Opponent, StrategyGame
from understudy.games.zerg.state import MOST, STATE_DIM
from understudy.games.zerg.strategies import STRATEGIES


class ProvingGroundEnv(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Zerg against a scripted opponent. Without an opponent given, the seed draws one of the fixed mix.

    Observations are the features of `state.py`, actions the strategies of `strategies.py`, rewards those of
    `rewards.py`. A game that reaches the time limit is a tie and ends as terminated: the tie is part of the rules.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - Gymnasium's own form

    def __init__(self, opponent: Opponent | None = None, time_limit: float = TIME_LIMIT) -> None:
        self.observation_space = gymnasium.spaces.Box(0.0, MOST, (STATE_DIM,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(len(STRATEGIES))
        self._opponent, self._time_limit = opponent, time_limit
        self._game: StrategyGame | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Start a game; `options={"opponent": Opponent(...)}` chooses this game's opponent."""
        super().reset(seed=seed)
        number = int(self.np_random.integers(2**31))
        opponent = (options or {}).get("opponent") or self._opponent or mixed_opponent(number % (15 * len(MIX)))
        self._game = StrategyGame(opponent, map_seed=number % MAPS, seed=number, time_limit=self._time_limit)
        return self._game.state(), {"opponent": tuple(opponent)}

    def step(self, action: np.int64) -> tuple[NDArray[np.float32], float, bool, bool, dict[str, Any]]:
        """Follow a strategy until the next decision; `info["result"]` says how a finished game ended."""
        if self._game is None:
            raise gymnasium.error.ResetNeeded("Call reset before step.")
        turn = self._game.play(int(action))
        info = {"result": turn.result, "loop": self._game.loop}
        return turn.state, turn.reward, bool(turn.result), False, info
