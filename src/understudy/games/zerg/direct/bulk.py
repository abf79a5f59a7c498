"""Many games on the simulation, one after another, recorded as a live bot records them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from understudy.agent import RLAgent
from understudy.games.zerg.challenges import DIFFICULTIES
from understudy.games.zerg.challenges import MIX as MIX_NAMES
from understudy.games.zerg.direct.game import Opponent, StrategyGame
from understudy.games.zerg.learned_openings import Openings
from understudy.games.zerg.opponent_memory import OpponentMemory

RACES = (1, 2, 3)
BUILDS = (2, 3, 4, 5, 6)  # rush, timing, power, macro, air
MIX = tuple(DIFFICULTIES.index(name) + 1 for name in MIX_NAMES)
PERIOD = len(RACES) * len(BUILDS) * len(MIX)  # games after which the mix begins anew
MAPS = 10
INTERRUPTED = "Interrupted"


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


def play_recorded(
    agent: RLAgent,
    opponent: Opponent,
    *,
    seed: int,
    explore: bool = True,
    opponents: OpponentMemory | None = None,
    openings: Openings | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> BulkResult:
    """Play one game with the agent's decisions and leave it for the learner; `opponents` remembers it, too.

    Once `stopped` says so, the game is cut where it is.
    """
    game = StrategyGame(
        opponent, map_seed=seed % MAPS, seed=seed, opponents=opponents, openings=openings, explore=explore
    )
    race, difficulty, build = opponent.name.split("-")
    agent.begin_episode(
        trial=game.trial,
        game="zerg-direct",
        map=f"ProvingGround-{seed % MAPS}",
        opponent_id=opponent.name,
        opponent_race=race,
        difficulty=difficulty,
        build=build,
        opening=game.opening.name,
    )
    state, decisions = game.state(), 0
    while True:
        if decisions and stopped():
            stats = agent.end_episode(INTERRUPTED, final_state=state)
            return BulkResult(opponent, INTERRUPTED, float(stats["total_reward"]), decisions, game.loop)
        turn = game.play(agent.select_action(state, explore=explore).action)
        state, decisions = turn.state, decisions + 1
        agent.observe_reward(turn.reward)
        if turn.result:
            break
    stats = agent.end_episode(turn.result)
    if opponents is not None:
        brain, opening = game.brain, game.opening.name
        opponents.record(opponent.name, brain.enemy_race, turn.result, brain.was_rushed, opening, brain.start)
    return BulkResult(opponent, turn.result, float(stats["total_reward"]), decisions, game.loop)


def games(
    agent: RLAgent,
    first: int,
    count: int,
    *,
    explore: bool = True,
    opponents: OpponentMemory | None = None,
    openings: Openings | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[BulkResult]:
    """Games `first` to `first + count` of the mix. Seeds are the numbers, so that evaluation can keep to fresh ones."""
    for number in range(first, first + count):
        if stopped():
            return
        opponent = mixed_opponent(shuffled(number))
        yield play_recorded(
            agent, opponent, seed=number, explore=explore, opponents=opponents, openings=openings, stopped=stopped
        )


def shuffled(number: int) -> int:
    """Numbers in an order in which difficulties alternate: a step that shares no factor with the mix's period."""
    return number // PERIOD * PERIOD + number * 17 % PERIOD
