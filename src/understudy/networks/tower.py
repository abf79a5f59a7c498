"""The torch modules of ActorCriticResTower: blocks, heads, and the tower they make up."""

from __future__ import annotations

import copy
import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

from understudy.networks.network import Floats
from understudy.settings import NetworkSettings

SIDE = 9
SQUARES = SIDE * SIDE
DROPS = 7
BOARD_ACTIONS = SQUARES * (SQUARES - 1) * 2
ACTIONS = BOARD_ACTIONS + SQUARES * DROPS
MOMENTUM = 0.01
SAMPLE = 32  # boards of a batch that the running statistics follow; they have 2,592 squares


class RunningNorm(nn.BatchNorm2d):
    """Batch normalisation by running statistics, in learning as in play.

    With the statistics of the batch a position's policy would depend on its neighbours in the batch, and PPO's ratios
    would not begin at 1. The statistics follow the batches slowly instead, after each backward pass.
    """

    def after(self, conv: nn.Conv2d, x: Tensor) -> Tensor:
        """Convolve and normalise, in one pass: with statistics that stand still, the norm scales the kernels."""
        assert self.running_mean is not None
        assert self.running_var is not None
        if torch.is_grad_enabled():
            with torch.no_grad():  # a few boards tell enough of a channel
                sample = conv(x[:: max(1, len(x) // SAMPLE)])
                self.seen = torch.var_mean(sample, dim=(0, 2, 3))
        scale = self.weight * torch.rsqrt(self.running_var + self.eps)
        shift = self.bias - self.running_mean * scale
        return functional.conv2d(x, conv.weight * scale[:, None, None, None], shift, padding=conv.padding)

    def follow(self) -> None:
        """Move the statistics towards those of the last batch."""
        assert self.running_mean is not None
        assert self.running_var is not None
        variance, mean = self.seen
        self.running_mean.lerp_(mean, MOMENTUM)
        self.running_var.lerp_(variance, MOMENTUM)


class Nothing(nn.Module):
    """In the place of a norm that is part of its convolution already."""

    def after(self, conv: nn.Conv2d, x: Tensor) -> Tensor:
        """Convolve."""
        return conv(x)  # type: ignore[no-any-return]


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
        y = functional.relu_(self.norm1.after(self.conv1, x))
        y = self.norm2.after(self.conv2, y)
        if self.squeeze is not None and self.excite is not None:
            gate = torch.sigmoid(self.excite(functional.relu(self.squeeze(y.mean(dim=(2, 3))))))
            return functional.relu_(torch.addcmul(x, y, gate[:, :, None, None]))
        return functional.relu_(x + y)


class Listed(NamedTuple):
    """Some actions of each of N positions, as `listed` finds them: M in all, board moves and drops apart."""

    places: Tensor  # (M,) where their logits go, in the flat (N, K)
    origins: Tensor  # of the board moves, as rows of (N·81)
    targets: Tensor  # of the board moves, as rows of (N·81·2): square, then promotion
    drops: Tensor  # as places in the flat (N·81, 7)
    actions: Tensor  # (M,) all of them, as places in the flat (N, 13527)
    shape: tuple[int, int]


def listed(lists: Floats) -> Listed:
    """Read lists of actions (N, K); entries below 0 are none."""
    n, k = lists.shape
    places = np.flatnonzero(lists >= 0)
    actions = lists.reshape(-1)[places].astype(np.int64)
    on_board = actions < BOARD_ACTIONS
    drops = ~on_board
    rows = places // k * SQUARES
    origins, rest = np.divmod(actions[on_board], 2 * (SQUARES - 1))
    targets = rest >> 1
    targets += targets >= origins
    moved = rows[on_board]
    order = np.concatenate([np.flatnonzero(on_board), np.flatnonzero(drops)])
    places, origins, targets, dropped, actions = (
        places[order],
        moved + origins,
        2 * (moved + targets) + (rest & 1),
        DROPS * rows[drops] + actions[drops] - BOARD_ACTIONS,
        (places // k * ACTIONS + actions)[order],
    )
    tensor = torch.from_numpy
    return Listed(tensor(places), tensor(origins), tensor(targets), tensor(dropped), tensor(actions), (n, k))


def spread(logits: Tensor, moves: Listed) -> Tensor:
    """Logits (M,) of listed moves, in the shape of their lists (N, K)."""
    n, k = moves.shape
    return logits.new_zeros(n * k).index_copy(0, moves.places, logits).reshape(n, k)


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

    def of_listed(self, x: Tensor, moves: Listed) -> Tensor:
        """Logits of the listed moves only (N, K), 0 elsewhere: a position has about a hundred of the 13,527."""
        squares = x.permute(0, 2, 3, 1).reshape(-1, x.shape[1])  # no copy: the tower's layout is channels last
        query = functional.linear(squares, self.query.weight[:, :, 0, 0], self.query.bias)
        keys = functional.linear(squares, self.keys.weight[:, :, 0, 0], self.keys.bias).reshape(-1, self.width)
        drops = functional.linear(squares, self.drops.weight[:, :, 0, 0], self.drops.bias).reshape(-1)
        scaled = query * (1 / math.sqrt(self.width))
        on_board = (scaled.index_select(0, moves.origins) * keys.index_select(0, moves.targets)).sum(1)
        return spread(torch.cat([on_board, drops.index_select(0, moves.drops)]), moves)


class LinearPolicy(nn.Module):
    """Two planes and one large linear layer, as older networks have it."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, 2, 1, bias=False)
        self.norm = RunningNorm(2)
        self.linear = nn.Linear(2 * SQUARES, ACTIONS)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (N, 13527)."""
        return self.linear(functional.relu_(self.norm.after(self.conv, x)).flatten(1))  # type: ignore[no-any-return]

    def of_listed(self, x: Tensor, moves: Listed) -> Tensor:
        """Logits of the listed moves (N, K), 0 elsewhere."""
        return spread(self(x).reshape(-1).index_select(0, moves.actions), moves)


class Tower(nn.Module):
    """Planes (N, P, 9, 9) → logits of the actions (N, 13527) and of win, draw and loss (N, 3)."""

    def __init__(self, planes: int, settings: NetworkSettings) -> None:
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
        self.counts = nn.Linear(planes, 3, bias=False)  # what is on the board, straight to the value: learned at once

    def forward(self, planes: Tensor, moves: Listed | None = None) -> tuple[Tensor, Tensor]:
        """Logits of the policy, of all actions or of the listed ones, and of win, draw and loss."""
        x = functional.relu_(self.stem_norm.after(self.stem, planes))
        for block in self.blocks:
            x = block(x)
        value = functional.relu_(self.value_norm.after(self.value_conv, x)).flatten(1)
        policy = self.policy(x) if moves is None else self.policy.of_listed(x, moves)
        material = self.counts(planes.sum(dim=(2, 3)).sqrt())  # the root brings few and many to a scale
        return policy, self.value(functional.relu(self.value_hidden(value))) + material


def expectation(wdl: Tensor) -> Tensor:
    """P(win) − P(loss) from the logits of win, draw and loss."""
    p = torch.softmax(wdl, dim=1)
    return p[:, 0] - p[:, 2]


def folded(tower: Tower) -> Tower:
    """A copy without gradients whose norms are part of its convolutions: the same results in fewer steps."""
    tower = copy.deepcopy(tower).eval().requires_grad_(False)

    def fold(module: Any, conv: str, norm: str) -> None:
        setattr(module, conv, fuse_conv_bn_eval(getattr(module, conv), getattr(module, norm)))
        setattr(module, norm, Nothing())

    fold(tower, "stem", "stem_norm")
    fold(tower, "value_conv", "value_norm")
    for block in tower.blocks:
        fold(block, "conv1", "norm1")
        fold(block, "conv2", "norm2")
    if isinstance(tower.policy, LinearPolicy):
        fold(tower.policy, "conv", "norm")
    return tower.to(memory_format=torch.channels_last)  # type: ignore[no-any-return, call-overload]
