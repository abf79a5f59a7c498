"""The torch modules of ActorCriticResTower: blocks, heads, and the tower built from them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from understudy.settings import NetworkSettings

SIDE = 9
SQUARES = SIDE * SIDE
DROPS = 7
BOARD_ACTIONS = SQUARES * (SQUARES - 1) * 2
ACTIONS = BOARD_ACTIONS + SQUARES * DROPS
MOMENTUM = 0.01
SAMPLE = 8  # boards of a batch that update the running statistics; they have 648 squares


class RunningNorm(nn.BatchNorm2d):
    """Batch normalisation with running statistics, in learning as in play.

    With the statistics of the batch, a position's policy would depend on the other positions in the batch, and PPO's
    ratios would not start at 1. Instead, the statistics follow a few boards of every batch slowly.
    """

    def folded(self, conv: nn.Conv2d) -> tuple[Tensor, Tensor]:
        """Kernels and biases of one convolution that includes the normalisation: fixed statistics scale the kernels."""
        scale, shift = self._line()
        return conv.weight * scale[:, None, None, None], shift

    def after(self, conv: nn.Conv2d, x: Tensor) -> Tensor:
        """Convolve and normalise; in training mode, the statistics then move towards those of the input."""
        if not self.training:
            return functional.conv2d(x, *self.folded(conv), padding=conv.padding)
        y = conv(x)
        scale, shift = self._line()
        result = torch.addcmul(shift[:, None, None], y, scale[:, None, None])
        functional.batch_norm(y.detach(), self.running_mean, self.running_var, training=True, momentum=MOMENTUM)
        return result

    def _line(self) -> tuple[Tensor, Tensor]:
        """The norm as a linear function, for given statistics: a factor and an offset for each channel."""
        assert self.running_mean is not None
        assert self.running_var is not None
        scale = self.weight * torch.rsqrt(self.running_var + self.eps)
        return scale, self.bias - self.running_mean * scale


class ResidualBlock(nn.Module):
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
        """(N, C, 9, 9) → (N, C, 9, 9)."""
        gate = None
        if self.squeeze is not None and self.excite is not None:
            gate = partial(gate_of, self.squeeze.weight, self.squeeze.bias, self.excite.weight, self.excite.bias)
        return residual(
            x, lambda x: functional.relu_(self.norm1.after(self.conv1, x)), partial(self.norm2.after, self.conv2), gate
        )


def residual(
    x: Tensor,
    first: Callable[[Tensor], Tensor],
    second: Callable[[Tensor], Tensor],
    gate: Callable[[Tensor], Tensor] | None,
) -> Tensor:
    """The residual block, for every backend: `first` convolves with a ReLU, `second` without; x is (N, C, 9, 9)."""
    y = second(first(x))
    if gate is None:
        return functional.relu_(x + y)
    return functional.relu_(torch.addcmul(x, y, gate(y.mean(dim=(2, 3)))[:, :, None, None]))


def gate_of(squeeze: Tensor, squeeze_bias: Tensor, excite: Tensor, excite_bias: Tensor, mean: Tensor) -> Tensor:
    """Squeeze and excite: a factor for each channel (N, C), from the channels' means over the board (N, C)."""
    squeezed = functional.relu_(functional.linear(mean, squeeze, squeeze_bias))
    return torch.sigmoid(functional.linear(squeezed, excite, excite_bias))


def as_squares(boards: Tensor) -> Tensor:
    """(N, C, 9, 9) as (N, 81, C): a view if the boards are channels last."""
    return boards.permute(0, 2, 3, 1).flatten(1, 2)


def as_boards(squares: Tensor) -> Tensor:
    """(N, 81, C) as (N, C, 9, 9), channels last."""
    return squares.reshape(squares.shape[0], SIDE, SIDE, squares.shape[2]).permute(0, 3, 1, 2)


def all_moves(board_moves: Tensor, drops: Tensor) -> Tensor:
    """Logits (N, 13527) from those of origins, targets and promotion (N, 81, 162) and of drops (N, 81, 7)."""
    n = drops.shape[0]  # not len(drops), which an export would treat as a constant
    # Without the first entry, every 82nd number is on the diagonal (from = to), so a reshape removes the diagonal.
    moves = board_moves.reshape(n, -1)[:, 2:].reshape(n, SQUARES - 1, 2 * (SQUARES + 1))[:, :, :-2]
    return torch.cat([moves.reshape(n, -1), drops.reshape(n, -1)], dim=1)


class AttentionPolicy(nn.Module):
    """A move's logit is the dot product of its origin's query and its target's key; promotion has its own keys."""

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
        return all_moves(moves, self.drops(x).reshape(n, DROPS, SQUARES).transpose(1, 2))


class LinearPolicy(nn.Module):
    """Two planes and one large linear layer, as in older networks."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, 2, 1, bias=False)
        self.norm = RunningNorm(2)
        self.linear = nn.Linear(2 * SQUARES, ACTIONS)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (N, 13527)."""
        return self.linear(functional.relu_(self.norm.after(self.conv, x)).flatten(1))  # type: ignore[no-any-return]


class Tower(nn.Module):
    """Planes (N, P, 9, 9) → logits of the actions (N, 13527) and of win, draw and loss (N, 3)."""

    def __init__(self, planes: int, settings: NetworkSettings) -> None:
        super().__init__()
        channels = settings.channels
        self.stem = nn.Conv2d(planes, channels, 3, padding=1, bias=False)
        self.stem_norm = RunningNorm(channels)
        self.blocks = nn.ModuleList([ResidualBlock(channels, settings.se_ratio) for _ in range(settings.blocks)])
        attention = settings.policy_head == "attention"
        self.policy: AttentionPolicy | LinearPolicy = (
            AttentionPolicy(channels, settings.attention_width) if attention else LinearPolicy(channels)
        )
        self.value_conv = nn.Conv2d(channels, 2, 1, bias=False)
        self.value_norm = RunningNorm(2)
        self.value_hidden = nn.Linear(2 * SQUARES, settings.value_width)
        self.value = nn.Linear(settings.value_width, 3)
        self.counts = nn.Linear(planes, 3, bias=False)  # from the pieces on the board to the value: learns fast
        self._norms = [module for module in self.modules() if isinstance(module, RunningNorm)]

    def forward(self, planes: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of the policy, and of win, draw and loss."""
        x = self._trunk(planes)
        value = functional.relu_(self.value_norm.after(self.value_conv, x)).flatten(1)
        material = self.counts(planes.sum(dim=(2, 3)).sqrt())  # brings small and large counts to one scale
        return self.policy(x), self.value(functional.relu(self.value_hidden(value))) + material

    @torch.no_grad()
    def follow(self, planes: Tensor) -> None:
        """Move the running statistics of all norms towards those of these boards."""
        for norm in self._norms:  # self.train() would visit all modules, which takes longer than a layer
            norm.training = True
        x = self._trunk(planes)
        self.value_norm.after(self.value_conv, x)
        if isinstance(self.policy, LinearPolicy):
            self.policy.norm.after(self.policy.conv, x)
        for norm in self._norms:
            norm.training = False

    def _trunk(self, planes: Tensor) -> Tensor:
        x = functional.relu_(self.stem_norm.after(self.stem, planes))
        for block in self.blocks:
            x = block(x)
        return x


def expectation(wdl: Tensor) -> Tensor:
    """P(win) − P(loss) from the logits of win, draw and loss."""
    p = torch.softmax(wdl, dim=1)
    return p[:, 0] - p[:, 2]
