"""PPO on CartPole in one file: the map of what the learner does, before its details.

    python examples/ppo_in_one_file.py                # solves CartPole-v1 (a mean return of 475) in about 5 seconds
    python examples/ppo_in_one_file.py --env Acrobot-v1 --goal -100

It uses the same pure functions as the learner (`understudy.learning`); comments name the file of each step. The learner
adds (learning/trainer.py): value targets of any scale, corrections for old experience (V-trace), undoing an update that
moves the policy too far, and a learning rate that adjusts itself.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from understudy.acting.sampling import draw
from understudy.learning.losses import ppo_clip, softmax, through_softmax, value_loss
from understudy.learning.normalizers import StateNormalizer
from understudy.learning.optimizers import Adam, clip_global_norm
from understudy.learning.returns import gae
from understudy.networks.factory import model_factory
from understudy.networks.network import Network
from understudy.settings import NetworkSettings

STEPS = 2048  # decisions of one update
EPOCHS, MINIBATCH = 10, 64
GAMMA, LAMBDA = 0.99, 0.95  # discount; trust in observed rewards (1) over the value estimate (0)
CLIP, ENTROPY, VALUE = 0.2, 0.0, 0.5
LEARNING_RATE, MAX_GRAD_NORM = 6e-4, 0.5

Floats = NDArray[np.float32]


@dataclass
class Experience:
    """Decisions of several episodes, one after the other."""

    states: list[Floats] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)  # of each action, when it was drawn
    starts: list[int] = field(default_factory=list)  # where each episode begins
    final_states: list[Floats | None] = field(default_factory=list)  # None: the episode is over, nothing follows


def main() -> int:
    """Train until the mean return of 100 episodes reaches the goal, or until the steps are used up."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--env", default="CartPole-v1", help="Gymnasium environment with discrete actions")
    parser.add_argument("--goal", type=float, default=475.0, help="mean return to reach (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=150_000, help="most decisions (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    reached = train(options.env, options.goal, options.steps, options.seed)
    return 0 if reached >= options.goal else 1


def train(env_id: str, goal: float, most_steps: int, seed: int) -> float:
    """Alternate between playing and learning; returns the mean return of the last 100 episodes."""
    env, rng = gymnasium.make(env_id), np.random.default_rng(seed)
    state_dim, n_actions = gymnasium.spaces.flatdim(env.observation_space), int(env.action_space.n)  # type: ignore[attr-defined]
    network = model_factory(state_dim, n_actions, NetworkSettings(hidden=(64, 64), separate=True), rng)
    normalizer, adam = StateNormalizer(state_dim), Adam(network.parameters, LEARNING_RATE)
    returns: deque[float] = deque(maxlen=100)
    began, steps = time.perf_counter(), 0
    player = Actor(env, seed)
    while steps < most_steps and (len(returns) < 100 or np.mean(returns) < goal):
        batch = player.play(network, normalizer, rng, returns)
        normalizer.update(np.array(batch.states))
        update(network, normalizer, adam, batch, rng)
        steps += STEPS
        print(f"{steps:>7} decisions  mean return {np.mean(returns):7.1f}  {time.perf_counter() - began:5.1f} s")
    return float(np.mean(returns))


class Actor:
    """Plays episodes with the current policy. An episode may continue in the next batch."""

    def __init__(self, env: Any, seed: int) -> None:
        self.env = env
        self.state: Floats = env.reset(seed=seed)[0]
        self.total = 0.0

    def play(
        self, network: Network, normalizer: StateNormalizer, rng: np.random.Generator, returns: deque[float]
    ) -> Experience:
        """Make the decisions of one batch; the returns of episodes that end go to `returns`."""
        batch = Experience(starts=[0])
        for number in range(1, STEPS + 1):
            logits, _ = network.step(normalizer.apply(self.state))
            choice = draw(logits, None, 0.0, rng.random())
            following, reward, terminated, truncated, _ = self.env.step(choice.action)
            batch.states.append(self.state)
            batch.actions.append(choice.action)
            batch.rewards.append(float(reward))
            batch.log_probs.append(float(np.log(choice.probability)))
            self.state, self.total = following, self.total + float(reward)
            if terminated or truncated or number == STEPS:
                batch.final_states.append(None if terminated else following)
                if number < STEPS:
                    batch.starts.append(number)
            if terminated or truncated:
                returns.append(self.total)
                self.state, self.total = self.env.reset()[0], 0.0
        return batch


def update(
    network: Network, normalizer: StateNormalizer, adam: Adam, batch: Experience, rng: np.random.Generator
) -> None:
    """One PPO update (Schulman et al. 2017): several passes over the batch, in minibatches."""
    states = normalizer.apply(np.array(batch.states))
    actions, old = np.array(batch.actions), np.array(batch.log_probs, np.float32)
    # 1. How much better was each action than expected? (learning/returns.py)
    bootstrap = np.array(
        [
            0.0 if final is None else network.evaluate(normalizer.apply(final[np.newaxis]))[1][0]
            for final in batch.final_states
        ]
    )
    _, values = network.evaluate(states)
    rewards = np.array(batch.rewards, np.float32)
    advantages = gae(rewards, values, bootstrap, GAMMA, LAMBDA, np.array(batch.starts))
    targets = advantages + values
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    # 2. Make better actions more probable, within the clip; move the values to their targets. (learning/losses.py)
    for _ in range(EPOCHS):
        order = rng.permutation(len(actions))
        for rows in np.split(order, range(MINIBATCH, len(order), MINIBATCH)):
            logits, estimates = network.forward(states[rows])
            policy = softmax(logits)
            surrogate = ppo_clip(policy.log_probs, actions[rows], advantages[rows], old[rows], CLIP)
            _, d_logits = through_softmax(policy, actions[rows], surrogate.d_log_probs, ENTROPY)
            _, d_values = value_loss(estimates, targets[rows])
            network.backward(d_logits, VALUE * d_values)
            clip_global_norm(network.gradients, MAX_GRAD_NORM)
            adam.step(network.gradients)


if __name__ == "__main__":
    sys.exit(main())
