"""The tower as it computes: norms folded into the convolutions, the first layers of all heads in one product.

The same results as the tower's with less work, in play and in learning. Boards are channels last, (N, 81, C): so a row
of a matrix is a square.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from understudy.games.shogi.network import sparse_convolution as boards
from understudy.games.shogi.network import winograd
from understudy.games.shogi.network.modules import (
    ACTIONS,
    BOARD_ACTIONS,
    DROPS,
    SIDE,
    SQUARES,
    AttentionPolicy,
    Block,
    Tower,
    all_moves,
)
from understudy.networks.network import Floats

_through_relu = torch.ops.aten.threshold_backward


class Listed(NamedTuple):
    """Some actions of each of N positions, as `listed` finds them: M in all, board moves first, then drops.

    Squares are rows of (N·81).
    """

    places: Tensor  # (M,) where their logits go, in the flat (N, K)
    origins: Tensor  # (U,) all squares from which something moves
    choices: Tensor  # of board moves: twice the place of its origin among those, and 1 if it promotes
    targets: Tensor
    drops: Tensor  # places in the flat (9, rows)
    actions: Tensor  # (M,) all of them, as places in the flat (N, 13527)
    shape: tuple[int, int]


def listed(lists: Floats) -> Listed:
    """Read lists of actions (N, K); entries below 0 are none."""
    n, k = lists.shape
    taken = np.flatnonzero(lists >= 0)
    actions = lists.reshape(-1)[taken].astype(np.int64)
    drops = actions >= BOARD_ACTIONS
    order = np.argsort(drops, kind="stable")
    taken, actions = taken[order], actions[order]
    moves = len(actions) - int(np.count_nonzero(drops))
    rows = taken // k
    first = rows * SQUARES
    origins, rest = np.divmod(actions[:moves], 2 * (SQUARES - 1))
    targets = rest >> 1
    targets += targets >= origins
    origins += first[:moves]
    moving = np.zeros(n * SQUARES, np.bool_)
    moving[origins] = True
    drop_targets, pieces = np.divmod(actions[moves:] - BOARD_ACTIONS, DROPS)
    tensor = torch.from_numpy
    return Listed(
        places=tensor(taken),
        origins=tensor(np.flatnonzero(moving)),
        choices=tensor(2 * np.cumsum(moving)[origins] - 2 + (rest & 1)),
        targets=tensor(first[:moves] + targets),
        drops=tensor(first[moves:] + drop_targets + pieces * (n * SQUARES)),
        actions=tensor(rows * ACTIONS + actions),
        shape=(n, k),
    )


def fold(tower: Tower) -> dict[str, Tensor]:
    """All that a pass needs, as functions of the tower's parameters."""
    made: dict[str, Tensor] = {}
    made["stem"], made["stem bias"] = tower.stem_norm.folded(tower.stem)
    for i, block in enumerate(tower.blocks):
        assert isinstance(block, Block)
        made[f"{i} conv1"], made[f"{i} bias1"] = block.norm1.folded(block.conv1)
        made[f"{i} conv2"], made[f"{i} bias2"] = block.norm2.folded(block.conv2)
        if block.squeeze is not None and block.excite is not None:
            made[f"{i} squeeze"], made[f"{i} squeeze bias"] = block.squeeze.weight, block.squeeze.bias
            made[f"{i} excite"], made[f"{i} excite bias"] = block.excite.weight, block.excite.bias
    made["heads"], made["heads bias"] = _heads(tower)
    if not isinstance(tower.policy, AttentionPolicy):
        made["linear"], made["linear bias"] = tower.policy.linear.weight, tower.policy.linear.bias
    made["hidden"], made["hidden bias"] = tower.value_hidden.weight, tower.value_hidden.bias
    made["value"], made["value bias"] = tower.value.weight, tower.value.bias
    made["counts"] = tower.counts.weight
    return made


def _heads(tower: Tower) -> tuple[Tensor, Tensor]:
    """The 1×1 convolutions with which the heads begin, one below the other: those of the policy, then the value's."""
    policy = tower.policy
    value = tower.value_norm.folded(tower.value_conv)
    if not isinstance(policy, AttentionPolicy):
        layers = [policy.norm.folded(policy.conv), value]
    else:
        (query, bias), keys, drops = (_layer(conv) for conv in (policy.query, policy.keys, policy.drops))
        scale = 1 / math.sqrt(policy.width)
        layers = [(query * scale, bias * scale), keys, drops, value]
    weights, biases = (torch.cat(parts) for parts in zip(*layers, strict=True))
    return weights[:, :, 0, 0], biases


def _layer(conv: nn.Conv2d) -> tuple[Tensor, Tensor]:
    assert conv.bias is not None
    return conv.weight, conv.bias


class FoldedTower:
    """A tower's weights, folded as they were at the last `refresh`, what they make of boards, and the way back."""

    def __init__(self, tower: Tower) -> None:
        self._tower = tower
        self._blocks = len(tower.blocks)
        self._width = tower.policy.width if isinstance(tower.policy, AttentionPolicy) else 0
        self._made = fold(tower)
        self._weights = {
            name: tensor.detach().clone(memory_format=_layout(tensor)).requires_grad_()
            for name, tensor in self._made.items()
        }
        self._kernels = self._spread_kernels()

    @property
    def weights(self) -> list[Tensor]:
        """The leaves by which a pass is differentiated."""
        return list(self._weights.values())

    def refresh(self) -> None:
        """Fold the tower as it is now."""
        with torch.enable_grad():
            self._made = fold(self._tower)
        with torch.no_grad():
            for name, tensor in self._weights.items():
                tensor.copy_(self._made[name])
        self._kernels = self._spread_kernels()

    def lead_back(self, gradients: Sequence[Tensor]) -> None:
        """Add gradients by `weights` to the `grad` of the tower's parameters, at most once after each `refresh`."""
        torch.autograd.backward(list(self._made.values()), gradients)

    def __call__(self, planes: Tensor | Floats, moves: Listed | None = None) -> tuple[Tensor, Tensor]:
        """See Tower.forward; with `moves`, their logits (N, K) alone, 0 where there is none.

        Planes are a tensor (N, P, 9, 9), channels last, or an array (N, P, 81), which is faster.
        """
        weights = self._weights
        if isinstance(planes, Tensor):
            x, totals = self._plain_stem(planes), planes.sum(dim=(2, 3))
        else:
            x, totals = _Stem.apply(planes, weights["stem"], weights["stem bias"])  # type: ignore[no-untyped-call]
        plain = isinstance(planes, Tensor) and not torch.is_grad_enabled()
        n = totals.shape[0]  # not len(totals), which an export would take for a constant
        squares = (self._plain_blocks(x) if plain else self._compiled_blocks(x)).reshape(n * SQUARES, -1)
        if self._width and moves is not None:
            logits, said = self._picked(squares, moves)
            policy, value = _spread(logits, moves), said.view(2, n, SQUARES).transpose(0, 1)
        else:
            policy, value = self._attention(squares) if self._width else self._linear(squares, moves)
        hidden = functional.linear(functional.relu(value.reshape(n, -1)), weights["hidden"], weights["hidden bias"])
        material = functional.linear(totals.sqrt(), weights["counts"])
        return policy, functional.linear(functional.relu(hidden), weights["value"], weights["value bias"]) + material

    def _plain_stem(self, planes: Tensor) -> Tensor:
        """By torch's own operations, so that it can be exported: (N, 81, C)."""
        y = functional.conv2d(planes, self._weights["stem"], self._weights["stem bias"], padding=1)
        return functional.relu(y).permute(0, 2, 3, 1).flatten(1, 2)

    def _plain_blocks(self, x: Tensor) -> Tensor:
        """The same for the blocks."""
        x = x.view(-1, SIDE, SIDE, x.shape[2]).permute(0, 3, 1, 2)
        for i in range(self._blocks):
            conv1, bias1, conv2, bias2, *gates = self._of_block(i)
            hidden = functional.conv2d(x, conv1, bias1, padding=1).relu_()
            y = functional.conv2d(hidden, conv2, bias2, padding=1)
            if gates:
                *_, gate = _gate(y.mean(dim=(2, 3)), *gates)
                x = torch.addcmul(x, y, gate[:, :, None, None]).relu_()
            else:
                x = y.add_(x).relu_()
        return x.permute(0, 2, 3, 1).flatten(1, 2)

    def _compiled_blocks(self, x: Tensor) -> Tensor:
        """The same by our own code, with derivatives where they are wanted."""
        for i in range(self._blocks):
            x = _Block.apply(x, *self._kernels[i], *self._of_block(i))  # type: ignore[no-untyped-call]
        return x

    def _of_block(self, i: int) -> list[Tensor]:
        names = ["conv1", "bias1", "conv2", "bias2"]
        if f"{i} squeeze" in self._weights:
            names += ["squeeze", "squeeze bias", "excite", "excite bias"]
        return [self._weights[f"{i} {name}"] for name in names]

    @torch.no_grad()
    def _spread_kernels(self) -> list[tuple[winograd.Spread, winograd.Spread]]:
        """Of both convolutions of each block."""
        kernels = (self._of_block(i)[:3:2] for i in range(self._blocks))
        return [(winograd.spread(conv1), winograd.spread(conv2)) for conv1, conv2 in kernels]

    def _picked(self, squares: Tensor, moves: Listed) -> tuple[Tensor, Tensor]:
        """Logits (M,) of listed moves and the planes of the value (2, rows), from squares in the order of the moves."""
        w = self._width
        heads, biases = self._weights["heads"], self._weights["heads bias"]
        layers = torch.cat([heads, biases[:, None]], dim=1)[: 3 * w]  # they see a 1 after the channels
        pairs = torch.matmul(layers[:w].t(), layers[w:].view(2, w, -1))
        weights = pairs.transpose(0, 1).flatten(1), heads[3 * w :], biases[3 * w :]
        if torch.is_grad_enabled():
            logits, value = _Picked.apply(squares, moves, *weights)  # type: ignore[no-untyped-call]
            return logits, value
        logits, value, *_ = _picked(squares, moves, *weights)
        return logits, value

    def _attention(self, squares: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of all actions and the planes of the value (N, 2, 81), from squares (N·81, C); so does `_linear`."""
        w = self._width
        said = self._heads(squares)
        n = squares.shape[0] // SQUARES
        query, keys, drops, value = torch.split(said.reshape(n, SQUARES, -1), [w, 2 * w, DROPS, 2], dim=2)
        board_moves = torch.bmm(query, keys.reshape(n, 2 * SQUARES, w).transpose(1, 2))
        return all_moves(board_moves, drops), value.transpose(1, 2)

    def _linear(self, squares: Tensor, moves: Listed | None) -> tuple[Tensor, Tensor]:
        said = self._heads(squares)
        policy, value = torch.split(said.reshape(-1, SQUARES, said.shape[1]).transpose(1, 2), 2, dim=1)
        planes = functional.relu(policy.flatten(1))
        logits = functional.linear(planes, self._weights["linear"], self._weights["linear bias"])
        if moves is not None:
            logits = _spread(logits.reshape(-1).index_select(0, moves.actions), moves)
        return logits, value

    def _heads(self, squares: Tensor) -> Tensor:
        return functional.linear(squares, self._weights["heads"], self._weights["heads bias"])


def _layout(tensor: Tensor) -> torch.memory_format:
    return torch.channels_last if tensor.ndim == 4 else torch.contiguous_format


def _spread(logits: Tensor, moves: Listed) -> Tensor:
    """Logits (M,) of listed moves, in the shape of their lists (N, K)."""
    n, k = moves.shape
    return logits.new_zeros(n * k).index_copy(0, moves.places, logits).reshape(n, k)


def _gate(mean: Tensor, squeeze: Tensor, squeeze_bias: Tensor, excite: Tensor, excite_bias: Tensor) -> list[Tensor]:
    """Squeeze and excite: what the gate is made of, and the gate (N, C)."""
    squeezed = functional.linear(mean, squeeze, squeeze_bias).relu_()
    return [mean, squeezed, functional.linear(squeezed, excite, excite_bias).sigmoid_()]


class _Stem(torch.autograd.Function):
    """Convolution and ReLU of planes, and the sums of the planes, by which nobody differentiates."""

    @staticmethod
    def forward(ctx: Any, planes: Floats, kernels: Tensor, biases: Tensor) -> tuple[Tensor, Tensor]:
        result, totals = boards.convolve(planes, kernels, biases)
        ctx.planes = planes
        ctx.save_for_backward(result)
        ctx.mark_non_differentiable(totals)
        return result, totals

    @staticmethod
    def backward(ctx: Any, d_result: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        (result,) = ctx.saved_tensors
        return None, *boards.backward(d_result, result, ctx.planes)


class _Block(torch.autograd.Function):
    """conv-ReLU-conv-SE-add-ReLU and its derivative, with half of the passes over memory that autograd would make."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, spread1: winograd.Spread, spread2: winograd.Spread, *weights: Tensor) -> Tensor:
        _, bias1, _, bias2, *gates = weights
        hidden = winograd.convolve(x, spread1, bias1, relu=True)
        y = winograd.convolve(hidden, spread2, bias2)
        ctx.kernels = spread1, spread2
        used = [x, hidden]
        if gates:
            found = _gate(y.mean(dim=1), *gates)
            result = torch.addcmul(x, y, found[-1][:, None]).relu_()
            used += [y, *found, *gates]
        else:
            result = y.add_(x).relu_()
        ctx.save_for_backward(result, *used)
        return result

    @staticmethod
    def backward(ctx: Any, d_result: Tensor) -> tuple[Tensor | None, ...]:
        result, x, hidden, *gating = ctx.saved_tensors
        spread1, spread2 = ctx.kernels
        d_sum = _through_relu(d_result.contiguous(), result, 0)
        d_y, d_gates = _through_gate(d_sum, *gating) if gating else (d_sum, ())
        d_hidden, d_conv2, d_bias2 = winograd.backward(d_y, hidden, spread2, through_relu=True)
        d_x, d_conv1, d_bias1 = winograd.backward(d_hidden, x, spread1)
        return d_x.add_(d_sum), None, None, d_conv1, d_bias1, d_conv2, d_bias2, *d_gates


def _through_gate(
    d: Tensor, y: Tensor, mean: Tensor, squeezed: Tensor, gate: Tensor, *gates: Tensor
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """From the derivative by y·gate to those by y and by the weights that make the gate of it."""
    squeeze, _, excite, _ = gates
    d_excited = (d * y).sum(dim=1) * gate * (1 - gate)
    d_squeezed = _through_relu(d_excited @ excite, squeezed, 0)
    d_mean = (d_squeezed @ squeeze) * (1 / SQUARES)
    d_y = torch.addcmul(d_mean[:, None], d, gate[:, None])
    return d_y, (d_squeezed.t() @ mean, d_squeezed.sum(0), d_excited.t() @ squeezed, d_excited.sum(0))


def _picked(squares: Tensor, moves: Listed, pairs: Tensor, short: Tensor, biases: Tensor) -> tuple[Tensor, ...]:
    """Logits (M,) of listed moves and the two planes of the value; then what the derivative needs.

    A query times a key is x·Q·K·x', and Q·K is one matrix, for moves with and without promotion (C + 1, 2·(C + 1)). So
    only the squares from which something moves are multiplied by it; other squares say nothing but drops and value.
    """
    channels = squares.shape[1]
    movers = squares.index_select(0, moves.origins)
    asked = torch.addmm(pairs[-1], movers, pairs[:-1]).view(-1, channels + 1).index_select(0, moves.choices)
    targets = squares.new_ones(len(asked), channels + 1)
    targets[:, :-1] = squares.index_select(0, moves.targets)
    said = torch.addmm(biases[:, None], short, squares.t())
    logits = torch.cat([(asked * targets).sum(1), said.view(-1).index_select(0, moves.drops)])
    return logits, said[DROPS:], movers, asked, targets


class _Picked(torch.autograd.Function):
    """`_picked` and its derivative."""

    @staticmethod
    def forward(ctx: Any, squares: Tensor, moves: Listed, *weights: Tensor) -> tuple[Tensor, Tensor]:
        logits, value, *used = _picked(squares, moves, *weights)
        ctx.moves = moves
        ctx.save_for_backward(squares, *weights[:2], *used)
        return logits, value

    @staticmethod
    def backward(ctx: Any, d_logits: Tensor, d_value: Tensor) -> tuple[Tensor | None, ...]:
        squares, pairs, short, movers, asked, targets = ctx.saved_tensors
        moves: Listed = ctx.moves
        d_board, d_drops = torch.split(d_logits, [len(asked), len(moves.drops)])
        d_said = d_logits.new_zeros(len(short), len(squares))
        d_said.view(-1).index_add_(0, moves.drops, d_drops)
        d_said[DROPS:] = d_value
        d_squares = d_said.t() @ short
        d_squares.index_add_(0, moves.targets, asked[:, :-1] * d_board[:, None])
        d_asked = d_logits.new_zeros(len(movers), pairs.shape[1])
        d_asked.view(-1, targets.shape[1]).index_add_(0, moves.choices, targets * d_board[:, None])
        d_squares.index_add_(0, moves.origins, d_asked @ pairs[:-1].t())
        d_pairs = torch.cat([movers.t() @ d_asked, d_asked.sum(0, keepdim=True)])
        return d_squares, None, d_pairs, d_said @ squares, d_said.sum(1)
