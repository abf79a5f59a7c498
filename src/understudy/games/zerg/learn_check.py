"""Does it learn? From an untrained policy to a trained one against the fixed mix, evaluated on fresh games.

`understudy zerg-check` runs it; docs/zerg-bot.md has the numbers it gave.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from understudy.background.learner import BackgroundParallelLearner
from understudy.games.zerg.direct.bulk import MAPS, games, mixed_opponent
from understudy.games.zerg.direct.game import StrategyGame
from understudy.games.zerg.policy import SETTINGS, zerg_agent
from understudy.games.zerg.strategies import NAMES

FRESH = 50_000_000  # first number of evaluation games; training never gets there
GOAL = 0.7


class CheckResult(NamedTuple):
    """Win rates of one seed."""

    untrained: float
    trained: float
    games: int
    seconds: float


def check_seed(
    run_dir: Path, seed: int, *, minutes: float, evaluation_games: int, say: Callable[[str], None]
) -> CheckResult:
    """Train from nothing in this run directory and evaluate before and after."""
    agent = zerg_agent(run_dir, seed=seed, online_training=False)
    untrained = win_rate(agent_policy(run_dir, explore=True), evaluation_games)
    say(f"seed {seed}: untrained, as it would play (sampling) {untrained:.1%}")
    began, played = time.monotonic(), 0
    won: list[bool] = []
    learner = BackgroundParallelLearner(
        run_dir=run_dir, verbose=False, settings=SETTINGS, poll_seconds=0.2, batch_games=20, min_batch_games=10
    )
    with learner:
        for result in games(agent, 1_000_000 * (seed + 1), 10**9):
            won.append(result.result == "Victory")
            played += 1
            if played % 100 == 0:
                say(f"seed {seed}: {played} games, {time.monotonic() - began:.0f} s, last 100 won {sum(won[-100:])} %")
            agent.wait_for_learner(backlog=20)
            if time.monotonic() - began > 60 * minutes:
                break
        learner.stop(drain=True)
    seconds = time.monotonic() - began
    trained = win_rate(agent_policy(run_dir, explore=False), evaluation_games)
    say(f"seed {seed}: after {played} games in {seconds:.0f} s, without exploration {trained:.1%}")
    return CheckResult(untrained, trained, played, seconds)


Policy = Callable[[StrategyGame], int]


def win_rate(policy: Callable[[], Policy], count: int) -> float:
    """Share of fresh games of the mix that a policy wins; it is made anew for each game."""
    won = 0
    for number in range(FRESH, FRESH + count):
        game, decide = StrategyGame(mixed_opponent(number), map_seed=number % MAPS, seed=number), policy()
        while not (turn := game.play(decide(game))).result:
            pass
        won += turn.result == "Victory"
    return won / count


def agent_policy(run_dir: Path, *, explore: bool) -> Callable[[], Policy]:
    """The decisions of a run's model, unrecorded: these games are no experience."""
    agent = zerg_agent(run_dir, record=False, online_training=False)

    def new_game() -> Policy:
        agent.begin_episode()
        return lambda game: agent.select_action(game.state(), explore=explore).action

    return new_game


def fixed_strategies(count: int) -> dict[str, float]:
    """The win rate of each strategy when nothing else is ever played."""

    def always(strategy: int) -> Callable[[], Policy]:
        return lambda: lambda _: strategy

    return {name: win_rate(always(number), count) for number, name in enumerate(NAMES)}
