"""The peers: the same network and the same training in PyTorch, and Stable-Baselines3's PPO."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from stable_baselines3 import PPO
from stable_baselines3.common.logger import Logger
from torch import Tensor, nn

from games import N_ACTIONS, STATE_DIM

HIDDEN = (128, 64)
EPOCHS, CLIP, VALUE_COEFFICIENT, ENTROPY_COEFFICIENT, MAX_GRAD_NORM = 4, 0.2, 0.5, 0.01, 0.5
LEARNING_RATE = 1e-6  # so small that the hundredth repetition of an update is still the work that the first one was


class TorchMlp(nn.Module):
    """The trunk and the joint head for policy and value that understudy's Mlp has."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(STATE_DIM, HIDDEN[0]),
            nn.ReLU(),
            nn.Linear(HIDDEN[0], HIDDEN[1]),
            nn.ReLU(),
            nn.Linear(HIDDEN[1], N_ACTIONS + 1),
        )

    def forward(self, states: Tensor) -> Tensor:
        """Logits and, in the last column, the value."""
        outputs: Tensor = self.body(states)
        return outputs


class TorchTransformer(nn.Module):
    """Two pre-norm layers of width 64 with 4 heads, as understudy's; it looks at the whole window for each decision."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(64, 4, 4 * 64, dropout=0.0, batch_first=True, norm_first=True)
        self.input = nn.Linear(STATE_DIM, 64)
        self.encoder = nn.TransformerEncoder(layer, 2, nn.LayerNorm(64), enable_nested_tensor=False)
        self.head = nn.Linear(64, N_ACTIONS + 1)

    def forward(self, window: Tensor) -> Tensor:
        """Logits and value for the last state of each window."""
        outputs: Tensor = self.head(self.encoder(self.input(window))[:, -1])
        return outputs


@dataclass(frozen=True, slots=True)
class TorchSamples:
    """What the passes of PPO need, ready made."""

    states: Tensor
    actions: Tensor
    old_log_probs: Tensor
    advantages: Tensor
    targets: Tensor

    def rows(self, rows: Tensor) -> TorchSamples:
        return TorchSamples(
            self.states[rows], self.actions[rows], self.old_log_probs[rows], self.advantages[rows], self.targets[rows]
        )


class TorchTrainer:
    """Understudy's gradient steps in eager PyTorch."""

    def __init__(self) -> None:
        self.network = TorchMlp()
        # The fused Adam is the fastest one that PyTorch has on a CPU.
        self.adam = torch.optim.Adam(self.network.parameters(), LEARNING_RATE, eps=1e-5, fused=True)

    def ppo_passes(self, samples: TorchSamples, minibatch: int) -> None:
        """Only the passes: the targets are given, where understudy computes them."""
        for _ in range(EPOCHS):
            for rows in torch.split(torch.randperm(len(samples.actions)), minibatch):
                part = samples.rows(rows)
                log_probs, entropy, values = self._evaluate(part.states, part.actions)
                ratio = (log_probs - part.old_log_probs).exp()
                clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
                policy_loss = -torch.min(ratio * part.advantages, clipped * part.advantages).mean()
                self._step(policy_loss, values, part.targets, entropy)

    def reinforce(self, games: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]], gamma: float) -> None:
        """One update from games of (states, actions, rewards), as they come from their files."""
        returns: list[float] = []
        for _, _, rewards in games:
            G = 0.0
            backwards = []
            for reward in reversed(rewards.tolist()):
                G = reward + gamma * G
                backwards.append(G)
            returns += reversed(backwards)
        states = torch.from_numpy(np.concatenate([game[0] for game in games]))
        actions = torch.from_numpy(np.concatenate([game[1] for game in games]))
        targets = torch.tensor(returns)
        log_probs, entropy, values = self._evaluate(states, actions)
        advantages = targets - values.detach()
        advantages = (advantages - advantages.mean()) / advantages.std()
        self._step(-(advantages * log_probs).mean(), values, targets, entropy)

    def _evaluate(self, states: Tensor, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        outputs = self.network(states)
        log_probs = outputs[:, :-1].log_softmax(1)
        entropy = -(log_probs.exp() * log_probs).sum(1).mean()
        return log_probs.gather(1, actions[:, None])[:, 0], entropy, outputs[:, -1]

    def _step(self, policy_loss: Tensor, values: Tensor, targets: Tensor, entropy: Tensor) -> None:
        value_loss = 0.5 * (values - targets).square().mean()
        loss = policy_loss + VALUE_COEFFICIENT * value_loss - ENTROPY_COEFFICIENT * entropy
        self.adam.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.network.parameters(), MAX_GRAD_NORM)
        self.adam.step()


class _NoGame(gymnasium.Env[NDArray[np.float32], np.int64]):
    """Stable-Baselines3 wants an environment; nothing is played in it."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (STATE_DIM,), np.float32)
    action_space = gymnasium.spaces.Discrete(N_ACTIONS)


def sb3_ppo(samples: int = 64, minibatch: int = 64) -> Any:
    """Stable-Baselines3's PPO with layers of the same widths; policy and value have their own, as it has them."""
    options = {"net_arch": list(HIDDEN), "activation_fn": nn.ReLU}
    learner = PPO(
        "MlpPolicy",
        _NoGame(),
        learning_rate=LEARNING_RATE,
        n_steps=samples,
        batch_size=minibatch,
        n_epochs=EPOCHS,
        clip_range=CLIP,
        ent_coef=ENTROPY_COEFFICIENT,
        vf_coef=VALUE_COEFFICIENT,
        max_grad_norm=MAX_GRAD_NORM,
        policy_kwargs=options,
        device="cpu",
    )
    learner.set_logger(Logger(None, []))
    return learner
