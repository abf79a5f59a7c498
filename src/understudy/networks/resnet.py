"""ActorCriticResTower: a residual network for boards of 9×9 squares and the 13,527 actions of shogi, in torch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from understudy.errors import SettingsError
from understudy.networks.network import Floats, Integers, Network
from understudy.networks.resnet_settings import ResNetSettings

SIDE = 9
SQUARES = SIDE * SIDE
DROPS = 7
ACTIONS = SQUARES * (SQUARES - 1) * 2 + SQUARES * DROPS
MOMENTUM = 0.01
SAMPLE = 32  # boards; their 2,592 squares tell enough of a channel, and the whole batch would cost a third of forward


class RunningNorm(nn.BatchNorm2d):
    """Batch normalisation by running statistics, in learning as in play.

    With the statistics of the batch a position's policy would depend on its neighbours in the batch, and PPO's ratios
    would not begin at 1. The statistics follow the batches slowly instead, after each backward pass.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Normalise; remember the batch's own statistics if gradients will be asked for."""
        if torch.is_grad_enabled():
            sample = x.detach()[:: max(1, len(x) // SAMPLE)]
            self.seen = torch.var_mean(sample, dim=(0, 2, 3))
        return functional.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False, 0, self.eps)

    def follow(self) -> None:
        """Move the statistics towards those of the last batch."""
        assert self.running_mean is not None
        assert self.running_var is not None
        variance, mean = self.seen
        self.running_mean.lerp_(mean, MOMENTUM)
        self.running_var.lerp_(variance, MOMENTUM)


class Block(nn.Module):
    """conv-norm-ReLU-conv-norm-SE-add-ReLU (He et al. 2016, Hu et al. 2018)."""

    def __init__(self, channels: int, se_ratio: float) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1 = RunningNorm(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = RunningNorm(channels)
        squeezed = max(1, round(se_ratio * channels))
        self.squeeze = nn.Linear(channels, squeezed) if se_ratio else None
        self.excite = nn.Linear(squeezed, channels) if se_ratio else None

    def forward(self, x: Tensor) -> Tensor:
        """(N, C, 9, 9) → the same."""
        y = functional.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        if self.squeeze is not None and self.excite is not None:
            gate = torch.sigmoid(self.excite(functional.relu(self.squeeze(y.mean(dim=(2, 3))))))
            y = y * gate[:, :, None, None]
        return functional.relu(x + y)


class AttentionPolicy(nn.Module):
    """A move's logit is the query of its origin times the key of its target; promotion has keys of its own."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.query = nn.Conv2d(channels, width, 1)
        self.keys = nn.Conv2d(channels, 2 * width, 1)
        self.drops = nn.Conv2d(channels, DROPS, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (N, 13527)."""
        n = x.shape[0]
        query = self.query(x).reshape(n, self.width, SQUARES).transpose(1, 2)
        keys = self.keys(x).reshape(n, 2, self.width, SQUARES).permute(0, 2, 3, 1).reshape(n, self.width, 2 * SQUARES)
        moves = torch.bmm(query, keys) * (1 / math.sqrt(self.width))
        # Without its first entry, the diagonal (from = to) is the last of every 82: cut it off without an index.
        moves = moves.reshape(n, SQUARES * SQUARES * 2)[:, 2:].reshape(n, SQUARES - 1, 2 * (SQUARES + 1))[:, :, :-2]
        drops = self.drops(x).reshape(n, DROPS, SQUARES).transpose(1, 2)
        return torch.cat([moves.reshape(n, -1), drops.reshape(n, -1)], dim=1)


class LinearPolicy(nn.Module):
    """Two planes and one large linear layer, as older networks have it."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, 2, 1, bias=False)
        self.norm = RunningNorm(2)
        self.linear = nn.Linear(2 * SQUARES, ACTIONS)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (N, 13527)."""
        return self.linear(functional.relu(self.norm(self.conv(x))).flatten(1))  # type: ignore[no-any-return]


class Tower(nn.Module):
    """Planes (N, P, 9, 9) → logits of the actions (N, 13527) and of win, draw and loss (N, 3)."""

    def __init__(self, planes: int, settings: ResNetSettings) -> None:
        super().__init__()
        channels = settings.channels
        self.stem = nn.Conv2d(planes, channels, 3, padding=1, bias=False)
        self.stem_norm = RunningNorm(channels)
        self.blocks = nn.ModuleList([Block(channels, settings.se_ratio) for _ in range(settings.blocks)])
        attention = settings.policy_head == "attention"
        self.policy = AttentionPolicy(channels, settings.attention_width) if attention else LinearPolicy(channels)
        self.value_conv = nn.Conv2d(channels, 2, 1, bias=False)
        self.value_norm = RunningNorm(2)
        self.value_hidden = nn.Linear(2 * SQUARES, settings.value_width)
        self.value = nn.Linear(settings.value_width, 3)

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of the policy and of win, draw and loss."""
        x = functional.relu(self.stem_norm(self.stem(planes)))
        for block in self.blocks:
            x = block(x)
        value = functional.relu(self.value_norm(self.value_conv(x))).flatten(1)
        return self.policy(x), self.value(functional.relu(self.value_hidden(value)))


class ActorCriticResTower(Network):
    """The tower as a Network: states are the planes, flat; the value is P(win) − P(loss).

    The torch parameters are views of `parameters`, and so are the running statistics, whose gradient stays 0: the
    optimizer, saving and publishing treat this network like any other.
    """

    sequential = False

    def __init__(
        self,
        state_dim: int,
        n_actions: int,
        settings: ResNetSettings,
        rng: np.random.Generator,
        dtype: type[np.floating[Any]] = np.float32,
    ) -> None:
        if state_dim % SQUARES or n_actions != ACTIONS:
            raise SettingsError(
                f"A resnet is for planes of 81 squares and {ACTIONS} actions, not {state_dim} and {n_actions}."
            )
        self.planes = state_dim // SQUARES
        self.tower = Tower(self.planes, settings)
        named = [*self.tower.named_parameters(), *self._statistics()]
        layout = tuple((name, tuple(tensor.shape)) for name, tensor in named)
        super().__init__(state_dim, n_actions, settings, layout, dtype)
        views, gradients = self.views(self.parameters), self.views(self.gradients)
        for name, tensor in named:
            tensor.data = torch.from_numpy(views[name])
            if isinstance(tensor, nn.Parameter):
                tensor.grad = torch.from_numpy(gradients[name])
        self._initialise(rng)
        self._outputs: tuple[Tensor, Tensor] | None = None

    def forward(self, states: Floats, starts: Integers | None = None) -> tuple[Floats, Floats]:
        """See Network.forward; `starts` makes no difference."""
        logits, wdl = self.tower(self._planes(states))
        self._outputs = logits, expectation(wdl)
        return logits.detach().numpy(), self._outputs[1].detach().numpy()

    def backward(self, d_logits: Floats, d_values: Floats) -> None:
        """See Network.backward."""
        assert self._outputs is not None, "forward comes before backward"
        outputs, self._outputs = self._outputs, None
        dtype = self.parameters.dtype
        derivatives = [torch.from_numpy(np.ascontiguousarray(d, dtype)) for d in (d_logits, d_values)]
        self.backward_from(outputs, derivatives)

    def backward_from(self, outputs: Any, derivatives: Any) -> None:
        """Overwrite `gradients` with those of torch outputs, and let the running statistics follow."""
        self.gradients[:] = 0
        torch.autograd.backward(outputs, derivatives)
        for module in self.tower.modules():
            if isinstance(module, RunningNorm):
                module.follow()

    def begin_episode(self) -> None:
        """Nothing to forget: every state stands alone."""

    def step(self, state: Floats) -> tuple[Floats, float]:
        """See Network.step."""
        with torch.no_grad():
            logits, wdl = self.tower(self._planes(state[None]))
            return logits[0].numpy(), float(expectation(wdl)[0])

    def _planes(self, states: Floats) -> Tensor:
        shaped = np.ascontiguousarray(states, self.parameters.dtype).reshape(-1, self.planes, SIDE, SIDE)
        return torch.from_numpy(shaped).contiguous(memory_format=torch.channels_last)  # the fastest on CPUs

    def _statistics(self) -> list[tuple[str, Tensor]]:
        return [(name, buffer) for name, buffer in self.tower.named_buffers() if buffer.is_floating_point()]

    def _initialise(self, rng: np.random.Generator) -> None:
        """He initialisation; a block begins as the identity, the policy nearly uniform, the value near a draw."""
        for name, view in self.views(self.parameters).items():
            if view.ndim > 1:
                fan_in = math.prod(view.shape[1:])
                view[...] = rng.standard_normal(view.shape) * math.sqrt(2 / fan_in)
            else:
                view[...] = name.endswith(("norm.weight", "norm1.weight", "running_var"))
            if name in ("policy.query.weight", "policy.drops.weight", "policy.linear.weight", "value.weight"):
                np.multiply(view, 0.01, out=view)


def expectation(wdl: Tensor) -> Tensor:
    """P(win) − P(loss) from the logits of win, draw and loss."""
    p = torch.softmax(wdl, dim=1)
    return p[:, 0] - p[:, 2]
