"""The residual tower on one thread: inference by backend, and PPO updates as a share of this CPU's matrix speed."""

from __future__ import annotations

import time

import numpy as np
import torch

from measure import Row, quantile, run_alone, take_turns
from understudy.games.shogi.batch import PLANES, SHAPE
from understudy.games.shogi.checkpoint import new_network
from understudy.games.shogi.inference import BACKENDS, Evaluator, installed
from understudy.games.shogi.matches import MOST_LEGAL, ShogiMatches
from understudy.learning.losses import ppo_clip, softmax, through_softmax, value_loss
from understudy.learning.optimizers import Adam, clip_global_norm
from understudy.networks.factory import model_factory
from understudy.networks.network import Floats
from understudy.settings import NetworkSettings

ROUNDS, MINIBATCH = 5, 512
PLIES = 60  # of random play before the positions that are learned from


def update_flops(settings: NetworkSettings) -> float:
    """Multiplications and additions of the convolutions for one position, forward and backward, in their plain form.

    The rest is small. The gradient with respect to the planes is not needed. The compiled backend computes less: see
    games/shogi/kernels/winograd.py.
    """
    c = settings.channels
    return 2 * 81 * 9 * (2 * PLANES * c + 3 * settings.blocks * 2 * c * c)


class Update:
    """PPO gradient steps on lists of legal moves, as in self-play, with the objective of the NumPy networks."""

    def __init__(self, settings: NetworkSettings) -> None:
        rng = np.random.default_rng(0)
        matches = ShogiMatches(MINIBATCH)
        self.states = np.zeros((MINIBATCH, matches.state_dim), np.float32)
        self.legal = np.zeros((MINIBATCH, MOST_LEGAL), np.bool_)
        matches.reset(np.random.SeedSequence(0))
        for _ in range(PLIES):
            matches.legal(self.legal)
            matches.step(rng.integers(self.legal.sum(axis=1)))
        matches.observe(self.states)
        matches.legal(self.legal)
        counts = self.legal.sum(axis=1)
        self.actions = rng.integers(counts)
        self.network = model_factory(matches.state_dim, MOST_LEGAL, settings, rng)
        self.adam = Adam(self.network.parameters, 3e-4)
        self.advantages, self.targets = (rng.normal(size=MINIBATCH).astype(np.float32) for _ in range(2))
        self.old = -np.log(counts).astype(np.float32)

    def objective(self, rows: slice, logits: Floats, values: Floats) -> tuple[Floats, Floats, None]:
        """See Network.differentiate."""
        policy = softmax(logits, self.legal[rows, : logits.shape[1]])
        actions = self.actions[rows]
        loss = ppo_clip(policy.log_probs, actions, self.advantages[rows], self.old[rows], 0.2)
        _, d_logits = through_softmax(policy, actions, loss.d_log_probs, 0.01)
        _, d_values = value_loss(values, self.targets[rows])
        return d_logits, 0.5 * d_values, None

    def __call__(self) -> list[float]:
        start = time.perf_counter()
        self.network.differentiate(self.states, None, self.objective)
        clip_global_norm(self.network.gradients, 0.5)
        self.adam.step(self.network.gradients)
        return [(time.perf_counter() - start) / MINIBATCH]


class Evaluations:
    """Inference of one batch, a few times."""

    def __init__(self, evaluate: Evaluator, batch: int) -> None:
        self.evaluate, self.planes = evaluate, np.zeros((batch, *SHAPE), np.float32)
        self.calls = max(1, 64 // batch)

    def __call__(self) -> list[float]:
        start = time.perf_counter()
        for _ in range(self.calls):
            self.evaluate(self.planes)
        return [(time.perf_counter() - start) / (self.calls * len(self.planes))]


class Peak:
    """Seconds for one floating-point operation in a large matrix product."""

    def __init__(self) -> None:
        self.a = np.random.default_rng(0).random((1024, 1024), np.float32)

    def __call__(self) -> list[float]:
        start = time.perf_counter()
        self.a @ self.a
        return [(time.perf_counter() - start) / (2 * 1024**3)]


def measure() -> list[Row]:
    """Thousand positions a second."""
    torch.set_num_threads(1)
    rows = []
    for blocks, channels in ((2, 32), (4, 64)):
        settings = NetworkSettings(policy="resnet", blocks=blocks, channels=channels)
        network = new_network(settings)
        made = {name: BACKENDS[name][0](network) for name in installed()}
        name = f"{blocks} blocks × {channels} channels"
        for batch in (1, 32):
            results = take_turns({key: Evaluations(evaluate, batch) for key, evaluate in made.items()}, ROUNDS)
            rate = {key: 1e-3 / quantile([r[0] for r in rounds], 0.5) for key, rounds in results.items()}
            best = max(rate, key=lambda key: rate[key])
            rows.append(Row(f"play, {name}, batch {batch}: {best}", rate[best], "k/s", "torch", rate["torch"]))
        results = take_turns({"update": Update(settings), "peak": Peak()}, ROUNDS)
        # The best rounds: a share of a peak that a neighbour has lowered would say nothing.
        second, operation = (min(r[0] for r in results[key]) for key in ("update", "peak"))
        rows.append(Row(f"PPO update, {name}, minibatch {MINIBATCH}", 1e-3 / second, "k/s"))
        rows.append(
            Row(
                "  its convolutions, in plain form, as a share of the sgemm peak",
                100 * update_flops(settings) * operation / second,
                "%",
            )
        )
    return rows


if __name__ == "__main__":
    run_alone("Shogi network", measure)
