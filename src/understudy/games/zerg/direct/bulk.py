"""Many games on the simulation, one after another, recorded as a live bot records them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from understudy.agent import RLAgent
from understudy.games.zerg.challenges import MIX as MIX_NAMES
from understudy.games.zerg.direct.game import Opponent, StrategyGame
from understudy.games.zerg.learned_openings import Openings
from understudy.games.zerg.starcraft import BUILDS, DIFFICULTIES, RACES
from understudy.ledger.history import PURPOSE
from understudy.sc2.opponents import OpponentMemory

MIX = tuple(DIFFICULTIES.index(name) + 1 for name in MIX_NAMES)
PERIOD = len(RACES) * len(BUILDS) * len(MIX)  # games after which the mix repeats
MAPS = 10
INTERRUPTED = "Interrupted"


class BulkResult(NamedTuple):
    """The result of one game."""

    opponent: Opponent
    result: str
    reward: float
    decisions: int
    loops: int


def mixed_opponent(number: int, difficulties: tuple[int, ...] = MIX) -> Opponent:
    """The opponent of the n-th game of a mix: every race, plan and difficulty equally often."""
    race, build = tuple(RACES)[number % 3], tuple(BUILDS)[number // 3 % 5]
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
    purpose: str = "",
) -> BulkResult:
    """Play one game with the agent, save it for the learner, and add it to `opponents`.

    When `stopped` returns True, the game is cut short.
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
        **({PURPOSE: purpose} if purpose else {}),
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
    purpose: str = "",
) -> Iterator[BulkResult]:
    """Games `first` to `first + count` of the mix. Their numbers are their seeds."""
    for number in range(first, first + count):
        if stopped():
            return
        opponent = mixed_opponent(shuffled(number))
        yield play_recorded(
            agent,
            opponent,
            seed=number,
            explore=explore,
            opponents=opponents,
            openings=openings,
            stopped=stopped,
            purpose=purpose,
        )


def shuffled(number: int) -> int:
    """A permutation within each period in which races and plans alternate (17 is coprime to the period)."""
    return number // PERIOD * PERIOD + number * 17 % PERIOD
