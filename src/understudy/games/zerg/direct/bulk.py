"""Many games on the simulation, one after another, recorded as a live bot records them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from understudy.agent import RLAgent
from understudy.games.zerg.direct.game import Opponent, StrategyGame

RACES = (1, 2, 3)
BUILDS = (2, 3, 4, 5, 6)  # rush, timing, power, macro, air
MIX = (3, 5, 7, 9)  # difficulties of the fixed mix: Medium, Hard, VeryHard, CheatMoney
MAPS = 10


class BulkResult(NamedTuple):
    """How one game went."""

    opponent: Opponent
    result: str
    reward: float
    decisions: int
    loops: int


def mixed_opponent(number: int, difficulties: tuple[int, ...] = MIX) -> Opponent:
    """The opponent of the n-th game of a mix: every race, plan and difficulty equally often."""
    race, build = RACES[number % 3], BUILDS[number // 3 % 5]
    return Opponent(race, difficulties[number // 15 % len(difficulties)], build)


def play_recorded(agent: RLAgent, opponent: Opponent, *, seed: int, explore: bool = True) -> BulkResult:
    """Play one game with the agent's decisions and leave it for the learner."""
    game = StrategyGame(opponent, map_seed=seed % MAPS, seed=seed)
    agent.begin_episode(game="zerg-direct", map=f"ProvingGround-{seed % MAPS}", difficulty=opponent.difficulty)
    state, decisions = game.state(), 0
    while True:
        turn = game.play(agent.select_action(state, explore=explore).action)
        state, decisions = turn.state, decisions + 1
        agent.observe_reward(turn.reward)
        if turn.result:
            break
    stats = agent.end_episode(turn.result)
    return BulkResult(opponent, turn.result, float(stats["total_reward"]), decisions, game.loop)


def games(agent: RLAgent, first: int, count: int, *, explore: bool = True) -> Iterator[BulkResult]:
    """Games `first` to `first + count` of the mix. Seeds are the numbers, so that evaluation can keep to fresh ones."""
    order = _shuffled(first, count)
    for number in order:
        yield play_recorded(agent, mixed_opponent(number), seed=number, explore=explore)


def _shuffled(first: int, count: int) -> list[int]:
    """The numbers in an order in which difficulties alternate: a step that shares no factor with the mix's period."""
    period = 15 * len(MIX)
    return [first + (n // period) * period + (n * 17) % period for n in range(count)]
