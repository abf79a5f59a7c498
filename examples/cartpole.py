"""CartPole played by a live loop, and learned by the background learner in another process.

    python examples/cartpole.py                     one run, 10 to 20 seconds
    python examples/cartpole.py --check 0 1 2       three seeds; fails unless each reaches a mean return of 475

This process only plays: it never computes a gradient. Its games go to the run directory; the learner trains on them and
publishes new weights, which the next game picks up. All settings are the defaults.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections import deque
from pathlib import Path

import gymnasium

from understudy import BackgroundParallelLearner, RLAgent

GOAL = 475.0


def main() -> int:
    """Run CartPole once, or check several seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=100_000, help="most environment steps (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of a single run (default: %(default)s)")
    parser.add_argument("--check", type=int, nargs="+", metavar="SEED", help="run these seeds and fail below the goal")
    parser.add_argument("--run-dir", type=Path, help="keep the run here (default: a temporary folder)")
    options = parser.parse_args()
    reached = []
    for seed in options.check or [options.seed]:
        folder = options.run_dir or Path(tempfile.mkdtemp(prefix="understudy-cartpole-"))
        try:
            reached.append(run(folder, seed, options.steps))
        finally:
            if options.run_dir is None:
                shutil.rmtree(folder, ignore_errors=True)
    if options.check and not all(reached):
        print(f"FAILED: {reached.count(False)} of {len(reached)} seeds stayed below {GOAL:g}.")
        return 1
    return 0


def run(folder: Path, seed: int, most_steps: int) -> bool:
    """Play until the mean return of 100 games reaches the goal or the steps are used up; True if it did."""
    env = gymnasium.make("CartPole-v1")
    agent = RLAgent(4, ("LEFT", "RIGHT"), run_dir=folder, online_training=False, seed=seed)
    returns: deque[float] = deque(maxlen=100)
    steps = games = 0
    start = time.perf_counter()
    print(f"CartPole-v1, seed {seed}: playing here, learning in another process ({folder})")
    with BackgroundParallelLearner(run_dir=folder, verbose=False) as learner:
        while steps < most_steps and (len(returns) < 100 or mean(returns) < GOAL):
            returns.append(play(env, agent, seed=seed if games == 0 else None))
            steps += int(returns[-1])
            games += 1
            agent.wait_for_learner()  # a simulation outruns any learner; a real game does not
            if games % 50 == 0:
                progress = f"{steps:>7} steps  {games:>5} games  mean return {mean(returns):6.1f}"
                print(f"  {progress}  model {agent.model_version}")
        stats = learner.stop()
    verdict = "reached" if mean(returns) >= GOAL else "stayed below"
    print(
        f"seed {seed}: {verdict} {GOAL:g} with a mean return of {mean(returns):.1f} over the last {len(returns)} games,"
        f" {steps} steps, {time.perf_counter() - start:.0f} s; the learner trained {stats['batches_trained']} batches "
        f"from {stats['files_processed']} games."
    )
    return mean(returns) >= GOAL


def play(env: gymnasium.Env, agent: RLAgent, seed: int | None) -> float:
    """Play one game with the newest model and return its return."""
    state, _ = env.reset(seed=seed)
    total = 0.0
    while True:
        decision = agent.select_action(state)
        state, reward, terminated, truncated, _ = env.step(decision.action)
        agent.observe_reward(float(reward))
        total += float(reward)
        if terminated or truncated:
            agent.end_episode(f"{total:.0f}", final_state=None if terminated else state, game="CartPole-v1")
            return total


def mean(values: deque[float]) -> float:
    """The average, 0 before there is any."""
    return sum(values) / len(values) if values else 0.0


if __name__ == "__main__":
    sys.exit(main())
