"""Shogi self-play and training end to end on two cores, beside the same network in plain torch in one process.

Everybody: 2 blocks × 32 channels, 128 games side by side, 64 steps a batch, 4 passes in minibatches of 512.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Categorical

from measure import Row, quantile, run_alone
from shogi_network import update_flops
from understudy.games.shogi.actions import ACTIONS
from understudy.games.shogi.batch import SHAPE, ShogiBatch
from understudy.games.shogi.checkpoint import new_network
from understudy.games.shogi.matches import ShogiMatches
from understudy.games.shogi.network.modules import expectation
from understudy.models.live import Interface, LiveModel, new_model
from understudy.parallel.local import ParallelManager
from understudy.parallel.player import PlayerSpec
from understudy.parallel.rollout import RolloutShape, as_batch
from understudy.settings import NetworkSettings, ParallelSettings, TrainingSettings

NETWORK = NetworkSettings(policy="resnet", blocks=2, channels=32)
TRAINING = TrainingSettings(
    epochs=4, minibatch=512, target_kl=0.0, normalize_states=False, exploration=0.0, learning_rate=3e-4
)
WORKERS, GAMES, STEPS, ROUNDS = 2, 128, 64, 5
PLAY_GOAL, TRAIN_GOAL = 6.4, 1.32  # thousand steps a second


def only_itself(matches: int) -> ShogiMatches:
    """Matches without rivals, so that every step is the network's."""
    return ShogiMatches(matches)


class OurSpeed(NamedTuple):
    """Medians of rounds."""

    played: float  # steps a second of two workers that only play
    trained: float  # of playing and learning in turn
    learned: float  # samples a second of the update alone, each counted in every pass
    share: float  # of the update's time that its convolutions, in plain form, would take in large matrix products


def ours() -> OurSpeed:
    """Two workers that play, and an update on both cores, in turn."""
    each = GAMES // WORKERS
    settings = ParallelSettings(
        enabled=True, num_workers=WORKERS, games_per_worker=each, batch_size=each * STEPS, max_staleness=0
    )
    game = only_itself(each)
    model = LiveModel(new_model(Interface(game.state_dim, game.actions), NETWORK, TRAINING, 0))
    model.network.use_threads(0)
    players = PlayerSpec("shogi_selfplay:only_itself", each, model.base.spec, False, 0, 1000)
    rounds = []
    with ParallelManager(players, RolloutShape.of(game, settings), settings) as manager:
        manager.start_workers(model)
        for _ in range(ROUNDS + 1):
            began = time.perf_counter()
            rollouts = manager.collect_experiences()
            between = time.perf_counter()
            model.trainer.update_batch(as_batch(rollouts, model.trainer.updates))
            manager.sync_model_if_needed(model, force=True)
            end = time.perf_counter()
            manager.release_experiences()
            rounds.append((between - began, end - began, (end - between) / TRAINING.epochs))
            del rollouts
    # In the first round processes start.
    played, trained, learned = (GAMES * STEPS / quantile(s, 0.5) for s in zip(*rounds[1:], strict=True))
    # Not between the rounds: workers would play meanwhile.
    return OurSpeed(played, trained, learned, learned * update_flops(NETWORK) / peak(WORKERS))


def peak(threads: int) -> float:
    """Floating-point operations per second of large matrix products on `threads` threads."""
    size, times = 1024, 8
    a = torch.rand(size, size)

    def work(_: int) -> None:
        torch.set_num_threads(1)
        for _ in range(times):
            a @ a

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
        began = time.perf_counter()
        list(pool.map(work, range(threads)))
        return threads * times * 2 * size**3 / (time.perf_counter() - began)


class PlainTorch:
    """The same network as most programs use it: all 13,527 logits, a mask, Categorical, torch's Adam; two threads."""

    def __init__(self) -> None:
        torch.set_num_threads(2)
        self.tower = new_network(NETWORK).tower
        self.adam = torch.optim.Adam(self.tower.parameters(), 3e-4)
        self.batch = ShogiBatch(GAMES)
        self.planes = np.zeros((STEPS, GAMES, *SHAPE), np.float32)
        self.legal = np.zeros((STEPS, GAMES, ACTIONS), np.bool_)
        self.actions = torch.zeros((STEPS, GAMES), dtype=torch.long)
        self.log_probs = torch.zeros((STEPS, GAMES))

    def policy(self, planes: Tensor, legal: Tensor) -> tuple[Categorical, Tensor]:
        """The distribution over the legal actions, and the value."""
        logits, wdl = self.tower(planes)
        return Categorical(logits=logits.masked_fill(~legal, -torch.inf), validate_args=False), expectation(wdl)

    def play(self) -> None:
        """One batch of all games."""
        for t in range(STEPS):
            self.batch.observe(self.planes[t], self.legal[t])
            with torch.no_grad():
                policy, _ = self.policy(torch.from_numpy(self.planes[t]), torch.from_numpy(self.legal[t]))
                self.actions[t] = policy.sample()  # type: ignore[no-untyped-call]
                self.log_probs[t] = policy.log_prob(self.actions[t])  # type: ignore[no-untyped-call]
            stepped = self.batch.step(self.actions[t].numpy(), self.legal[t])
            self.batch.reset(np.flatnonzero(stepped.over))

    def learn(self) -> None:
        """Four passes over it."""
        planes = torch.from_numpy(self.planes).flatten(0, 1)
        legal = torch.from_numpy(self.legal).flatten(0, 1)
        actions, old = self.actions.flatten(), self.log_probs.flatten()
        for _ in range(TRAINING.epochs):
            for rows in torch.split(torch.randperm(len(actions)), TRAINING.minibatch):
                policy, value = self.policy(planes[rows], legal[rows])
                log_probs = policy.log_prob(actions[rows])  # type: ignore[no-untyped-call]
                ratio = (log_probs - old[rows]).exp()
                entropy = -torch.where(legal[rows], policy.probs * policy.logits, 0).sum(1).mean()
                loss = -torch.minimum(ratio, ratio.clamp(0.8, 1.2)).mean() + value.square().mean() - 0.01 * entropy
                self.adam.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                self.adam.step()


def speed(call: Callable[[], None]) -> float:
    """Steps a second of one batch."""
    began = time.perf_counter()
    call()
    return GAMES * STEPS / (time.perf_counter() - began)


def measure() -> list[Row]:
    """Thousand steps a second, by wall clock."""
    plain = PlainTorch()
    speed(plain.play)
    their_play = speed(plain.play)
    their_learning = speed(plain.learn)
    their_training = 1 / (1 / their_play + 1 / their_learning)
    our = ours()
    peer = "plain torch, 2 threads"
    return [
        Row("shogi self-play, 2 workers", our.played / 1e3, "k/s", peer, their_play / 1e3, limit=PLAY_GOAL),
        Row("shogi, played and learned in 4 passes", our.trained / 1e3, "k/s", peer, their_training / 1e3, TRAIN_GOAL),
        Row("  samples in its updates, on both cores", our.learned / 1e3, "k/s"),
        Row("  their convolutions, in plain form, as a share of both cores' sgemm peak", 100 * our.share, "%"),
    ]


if __name__ == "__main__":
    run_alone("Shogi self-play", measure)
