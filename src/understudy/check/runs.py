"""Understudy's training runs: by self-play in this process or in workers, and by a live loop with the learner beside
it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from understudy.agent import RLAgent
from understudy.check.evaluation import Play
from understudy.check.measure import FRESH_SEED, TaskOutcome, Watch
from understudy.check.tasks import Task
from understudy.check.worlds import World, open_world
from understudy.errors import LearnerFailed
from understudy.games.game import open_game
from understudy.learner.process import BackgroundParallelLearner
from understudy.models.live import LiveModel
from understudy.parallel.loop import TrainingLoopManager
from understudy.parallel.loop_stats import LoopStats
from understudy.parallel.rollout import Rollout
from understudy.run.lock import StopRequest
from understudy.settings import ParallelSettings, Settings


def self_play(task: Task, seed: int, watch: Watch, *, stop_at_goal: bool = False) -> TaskOutcome:
    """Train by self-play with default settings, in this process or in workers, then evaluate."""
    request, before = StopRequest(), 0

    def on_update(stats: LoopStats, rollouts: Sequence[Rollout]) -> None:
        nonlocal before
        for steps, result in ended_games(rollouts, before):
            watch.game(steps, result)
        before = stats.decisions
        watch.progress(stats.decisions)
        if watch.stopped() or (stop_at_goal and watch.outcome.reached is not None):
            request.stop()

    settings = Settings(parallel=ParallelSettings(enabled=task.way == "workers"))
    loop = TrainingLoopManager(task.game, settings, seed=seed, on_update=on_update)
    loop.run(request, decisions=task.steps)
    return watch.end(lambda: greedy_return(task.game, loop.model, task.fresh, seed + FRESH_SEED))


def ended_games(rollouts: Sequence[Rollout], before: int) -> Iterator[tuple[int, float]]:
    """The games that ended in rollouts collected at the same time, in order: total decisions at their end, and the
    return.

    A game without a length was restarted on purpose and has no result.
    """
    width = sum(rollout.shape.matches for rollout in rollouts)
    ended = []
    for rollout in rollouts:
        steps = rollout["steps"]
        over = np.nonzero(rollout.ended[:steps] & (rollout.lengths[:steps] > 0))
        ended += list(zip(over[0].tolist(), rollout.returns[over].tolist(), strict=True))
    for step, result in sorted(ended, key=lambda game: game[0]):
        yield before + (step + 1) * width, result


def greedy_return(game: str, model: LiveModel, count: int, seed: int) -> float:
    """The mean return of new matches in which the most probable action is always taken."""
    matches = open_game(game, count)
    try:
        return float(np.mean(Play(matches, model, False, seed).returns(count)[0]))
    finally:
        matches.close()


def live(task: Task, seed: int, watch: Watch, *, stop_at_goal: bool = False) -> TaskOutcome:
    """Play in this process with default settings while the background learner trains in another; then evaluate."""
    with tempfile.TemporaryDirectory(prefix="understudy-check-", ignore_cleanup_errors=True) as folder:
        world, steps = open_world(task, seed), 0
        agent = RLAgent(world.state_dim, world.actions, run_dir=folder, online_training=False, seed=seed)
        learner = BackgroundParallelLearner(run_dir=folder, verbose=False)
        with agent, learner:
            while steps < task.steps and not watch.stopped():
                length, result = _play(world, agent, task.env)
                steps += length
                watch.game(steps, result)
                watch.progress(steps)
                _keep_pace(agent, learner)
                if watch.due():
                    watch.mark(evaluate(task, Path(folder), seed + FRESH_SEED))
                if stop_at_goal and watch.outcome.reached is not None:
                    break
            learner.stop(drain=True)
        return watch.end(lambda: evaluate(task, Path(folder), seed + FRESH_SEED))


def evaluate(task: Task, run_dir: Path, seed: int) -> float:
    """The mean return of the published model in new games, without exploration. Nothing is recorded."""
    world, total = open_world(task, seed), 0.0
    with RLAgent(world.state_dim, world.actions, run_dir=run_dir, online_training=False, record=False) as agent:
        for _ in range(task.fresh):
            agent.begin_episode()
            total += _play(world, agent, task.env, explore=False)[1]
    return total / task.fresh


def _play(world: World, agent: RLAgent, game: str, *, explore: bool = True) -> tuple[int, float]:
    """Play one match; returns its number of decisions and its return."""
    state, steps, total = world.reset(), 0, 0.0
    while True:
        state, reward, over, cut = world.step(agent.select_action(state, world.legal, explore).action)
        agent.observe_reward(reward)
        steps, total = steps + 1, total + reward
        if over or cut:
            agent.end_episode(f"{total:g}", final_state=state if cut else None, game=game)
            return steps, total


def _keep_pace(agent: RLAgent, learner: BackgroundParallelLearner) -> None:
    """Wait until the learner has taken as many games as fit in a batch. A simulation is faster than the learner; a real
    game is not."""
    if not agent.wait_for_learner(timeout=60.0) and not learner.running:
        raise LearnerFailed("The learner process ended during the check.")
