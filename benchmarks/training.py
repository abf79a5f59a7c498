"""Training the network: REINFORCE on 10 games at once, and PPO in minibatches, each with everything an update does.

PyTorch's passes of PPO get their advantages ready made and no normalisation of states; understudy's figure is of
`Trainer.update`, which lays out the games, normalises, evaluates, computes V-trace, and checks what comes out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from games import N_ACTIONS, STATE_DIM, random_game
from measure import Row, run_alone, take_turns, timed, typical
from peers import EPOCHS, LEARNING_RATE, TorchSamples, TorchTrainer, sb3_ppo
from understudy import Episode, model_factory
from understudy.learning.trainer import Trainer
from understudy.settings import NetworkSettings, TrainingSettings

TITLE = "Training (50 → 128 → 64 → 8, one thread)"
ROUNDS = 15
SAMPLES = 8192
GAMMA = 0.99


def rows() -> list[Row]:
    return [*_reinforce(), *_ppo(256, factor=2), *_ppo(2048, factor=None)]


def _reinforce() -> list[Row]:
    rng = np.random.default_rng(0)
    games = [random_game(rng) for _ in range(10)]
    arrays = [(game.states, game.actions, game.rewards) for game in games]
    peer = TorchTrainer()
    results = take_turns(
        {
            "ours": _once(_trainer(algorithm="reinforce").update, games),
            "torch": _once(lambda games: peer.reinforce(games, GAMMA), arrays),
        },
        2 * ROUNDS,
    )
    ours, theirs = (1e3 * typical(results[name]) for name in ("ours", "torch"))
    return [Row("REINFORCE, update from 10 games × 300", ours, "ms", "torch eager", theirs, limit=27)]


def _ppo(minibatch: int, factor: float | None) -> list[Row]:
    rng = np.random.default_rng(0)
    games = [random_game(rng, 256) for _ in range(SAMPLES // 256)]
    trainer, torch_trainer, sb3 = _trainer(minibatch=minibatch), TorchTrainer(), _filled_sb3(games, minibatch)
    samples = _torch_samples(games)
    results = take_turns(
        {
            "ours": _once(trainer.update, games),
            "torch": _once(lambda samples: torch_trainer.ppo_passes(samples, minibatch), samples),
            "SB3": _once(lambda _: sb3.train(), None),
        },
        ROUNDS,
    )
    ours, theirs, sb3s = (SAMPLES * EPOCHS / typical(taken) / 1e3 for taken in results.values())
    what = f"PPO, minibatch {minibatch:,}, samples"
    return [
        Row(what, ours, "k/s", "torch eager, passes only", theirs, factor=factor),
        Row(what, ours, "k/s", "SB3 PPO.train (two trunks)", sb3s, factor=factor),
    ]


def _once(call: Callable[[Any], object], argument: Any) -> Callable[[], Sequence[float]]:
    return lambda: timed(call, [argument])


def _trainer(**settings: Any) -> Trainer:
    network = model_factory(STATE_DIM, N_ACTIONS, NetworkSettings(), np.random.default_rng(0))
    # target_kl=0: all passes are made, as the peers make them.
    return Trainer(
        network, TrainingSettings(learning_rate=LEARNING_RATE, gamma=GAMMA, epochs=EPOCHS, target_kl=0, **settings), 0
    )


def _torch_samples(games: Sequence[Episode]) -> TorchSamples:
    generator = torch.Generator().manual_seed(0)
    return TorchSamples(
        states=torch.from_numpy(np.concatenate([game.states for game in games])),
        actions=torch.from_numpy(np.concatenate([game.actions for game in games])),
        old_log_probs=torch.full((SAMPLES,), -float(np.log(N_ACTIONS))),
        advantages=torch.randn(SAMPLES, generator=generator),
        targets=torch.randn(SAMPLES, generator=generator),
    )


def _filled_sb3(games: Sequence[Episode], minibatch: int) -> Any:
    learner = sb3_ppo(SAMPLES, minibatch)
    buffer = learner.rollout_buffer
    buffer.observations[:, 0] = np.concatenate([game.states for game in games])
    buffer.actions[:, 0, 0] = np.concatenate([game.actions for game in games])
    buffer.rewards[:, 0] = np.concatenate([game.rewards for game in games])
    buffer.log_probs[:] = -np.log(N_ACTIONS)
    buffer.compute_returns_and_advantage(torch.zeros(1), np.zeros(1))
    buffer.pos, buffer.full = SAMPLES, True
    return learner


if __name__ == "__main__":
    run_alone(TITLE, rows)
