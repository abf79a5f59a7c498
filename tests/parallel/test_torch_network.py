"""A torch network plugs in through the same interface: it plays in a Player and is trained by the Trainer."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from parallel.small import Bandit, settings
from understudy.learning.trainer import Trainer
from understudy.networks.network import Floats, Integers, Network
from understudy.parallel.player import Player
from understudy.parallel.rollout import Rollout, RolloutShape, as_batch
from understudy.settings import NetworkSettings

pytestmark = pytest.mark.slow


class TorchNetwork(Network):
    """A torch module whose parameters are views of the flat vector, so that Adam and the rings see them as any."""

    sequential = False

    def __init__(self, state_dim: int, n_actions: int) -> None:
        torch.manual_seed(0)
        self.module = nn.Sequential(nn.Linear(state_dim, 32), nn.ReLU(), nn.Linear(32, n_actions + 1))
        layout = tuple((name, tuple(part.shape)) for name, part in self.module.named_parameters())
        super().__init__(state_dim, n_actions, NetworkSettings(), layout)
        views, gradients = self.views(self.parameters), self.views(self.gradients)
        for name, part in self.module.named_parameters():
            views[name][...] = part.detach().numpy()
            part.data = torch.from_numpy(views[name])
            part.grad = torch.from_numpy(gradients[name])

    def forward(self, states: Floats, starts: Integers | None = None) -> tuple[Floats, Floats]:
        self._outputs = self.module(torch.from_numpy(np.ascontiguousarray(states, np.float32)))
        outputs = self._outputs.detach().numpy()
        return outputs[:, :-1], outputs[:, -1]

    def backward(self, d_logits: Floats, d_values: Floats) -> None:
        self.module.zero_grad(set_to_none=False)
        self._outputs.backward(torch.from_numpy(np.column_stack([d_logits, d_values]).astype(np.float32)))

    def begin_episode(self) -> None: ...

    def step(self, state: Floats) -> tuple[Floats, float]:
        logits, values = self.forward(state[None])
        return logits[0], float(values[0])


def test_a_torch_network_learns_by_self_play() -> None:
    chosen = settings(games_per_worker=8, batch_size=1024)
    network = TorchNetwork(Bandit.state_dim, len(Bandit.actions))
    trainer = Trainer(network, chosen.training, seed=0)
    player = Player(Bandit(8), network, trainer.normalizer)
    player.begin(0)
    rollout = Rollout(RolloutShape.of(player.game, chosen.parallel))
    returns = []
    for _ in range(50):
        assert player.play(rollout)
        trainer.update_batch(as_batch([rollout]))
        returns.append(float(rollout.results()[0].mean()))
    assert returns[0] < 3.5
    assert returns[-1] > 7
