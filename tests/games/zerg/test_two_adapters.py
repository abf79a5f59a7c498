"""The same decisions on both adapters: through burnysc2 and the protocol, and on the simulation itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("sc2")
pytest.importorskip("numba")

from loguru import logger
from sc2.data import AIBuild, Difficulty, Race
from sc2.player import Bot, Computer

from understudy.agent import Decision
from understudy.games.zerg.bot import WickedZergBotProImpl
from understudy.games.zerg.direct.game import Opponent, StrategyGame
from understudy.games.zerg.proving_ground import play
from understudy.games.zerg.rewards import GAMMA
from understudy.games.zerg.state import NAMES
from understudy.games.zerg.strategies import NAMES as STRATEGIES

pytestmark = pytest.mark.slow

# Positions go through the protocol as 32-bit floats. Until a fight turns on such a difference, states are equal.
TOLERANCE = 2e-3
PLAN = [0] * 12 + [1] * 8 + [0] * 14 + [2] * 12 + [3] * 4 + [4] * 60


class Script:
    """An agent that follows a list of strategies and records its calls."""

    actions, gamma = STRATEGIES, GAMMA

    def __init__(self, plan: list[int]) -> None:
        self._plan = iter(plan)
        self.states: list[NDArray[np.float32]] = []
        self.rewards: list[float] = []

    def begin_episode(self, **about: Any) -> None:
        pass

    def select_action(self, state: NDArray[np.float32], explore: bool = True) -> Decision:
        self.states.append(state)
        action = next(self._plan)
        return Decision(action, STRATEGIES[action], 1.0, 0.0)

    def observe_reward(self, reward: float) -> None:
        self.rewards.append(reward)

    def end_episode(self, result: str, **about: Any) -> dict[str, Any]:
        return {}


@pytest.fixture
def quiet() -> None:
    logger.remove()


@pytest.mark.usefixtures("quiet")
def test_states_rewards_and_result_agree() -> None:
    seed, limit = 1, 210.0
    script = Script(PLAN)
    bot = WickedZergBotProImpl(script)  # type: ignore[arg-type]
    report = play(
        Bot(Race.Zerg, bot),
        Computer(Race.Zerg, Difficulty.VeryHard, AIBuild.Timing),
        seed=seed,
        map_seed=seed,
        game_time_limit=limit,
    )
    game = StrategyGame(Opponent(2, 7, 3), seed=seed, map_seed=seed, time_limit=limit)
    states, rewards = [game.state()], []
    for strategy in PLAN:
        turn = game.play(strategy)
        rewards.append(turn.reward)
        if turn.result:
            break
        states.append(turn.state)
    assert report.result is not None
    assert turn.result == report.result.name == bot.outcome["result"]
    assert len(states) == len(script.states) > 40
    for number, (direct, protocol) in enumerate(zip(states, script.states, strict=True)):
        worst = int(np.abs(direct - protocol).argmax())
        assert np.abs(direct - protocol).max() < TOLERANCE, (number, NAMES[worst], direct[worst], protocol[worst])
    np.testing.assert_allclose(script.rewards, rewards, atol=TOLERANCE)
