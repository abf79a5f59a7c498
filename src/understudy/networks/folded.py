"""The tower as it computes: norms folded into the convolutions, the first layers of all heads in one product.

The same results as the tower's in fewer passes over memory, in play and in learning. Boards are channels last, so that
a row of a matrix is a square.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from understudy.networks.network import Floats
from understudy.networks.tower import ACTIONS, BOARD_ACTIONS, DROPS, SQUARES, AttentionPolicy, Block, Tower, all_moves

_backward = torch.ops.aten.convolution_backward
_through_relu = torch.ops.aten.threshold_backward


class Listed(NamedTuple):
    """Some actions of each of N positions, as `listed` finds them: M in all, board moves first, then drops.

    Squares are rows of (N·81).
    """

    places: Tensor  # (M,) where their logits go, in the flat (N, K)
    origins: Tensor
    targets: Tensor
    promotes: Tensor  # 0 or 1
    drop_targets: Tensor
    pieces: Tensor  # that are dropped, 0 to 6
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
    boards = len(actions) - int(np.count_nonzero(drops))
    rows = taken // k
    origins, rest = np.divmod(actions[:boards], 2 * (SQUARES - 1))
    targets = rest >> 1
    targets += targets >= origins
    first = rows * SQUARES
    drop_targets, pieces = np.divmod(actions[boards:] - BOARD_ACTIONS, DROPS)
    tensor = torch.from_numpy
    return Listed(
        places=tensor(taken),
        origins=tensor(first[:boards] + origins),
        targets=tensor(first[:boards] + targets),
        promotes=tensor(rest & 1),
        drop_targets=tensor(first[boards:] + drop_targets),
        pieces=tensor(pieces),
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
    padding = -len(biases) % policy.width if isinstance(policy, AttentionPolicy) else 0  # see _Picked
    return functional.pad(weights[:, :, 0, 0], (0, 0, 0, padding)), functional.pad(biases, (0, padding))


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

    def lead_back(self, gradients: Sequence[Tensor]) -> None:
        """Add gradients by `weights` to the `grad` of the tower's parameters, at most once after each `refresh`."""
        torch.autograd.backward(list(self._made.values()), gradients)

    def __call__(self, planes: Tensor, moves: Listed | None = None) -> tuple[Tensor, Tensor]:
        """See Tower.forward; with `moves`, their logits (N, K) alone, 0 where there is none. Planes: channels last."""
        weights = self._weights
        n = planes.shape[0]
        x = functional.relu_(functional.conv2d(planes, weights["stem"], weights["stem bias"], padding=1))
        for i in range(self._blocks):
            x = self._block(x, i)
        squares = x.permute(0, 2, 3, 1).reshape(n * SQUARES, -1)
        policy, value = self._attention(squares, moves) if self._width else self._linear(squares, moves)
        hidden = functional.relu(functional.linear(_flat(value, n), weights["hidden"], weights["hidden bias"]))
        material = functional.linear(planes.sum(dim=(2, 3)).sqrt(), weights["counts"])
        return policy, functional.linear(hidden, weights["value"], weights["value bias"]) + material

    def _block(self, x: Tensor, i: int) -> Tensor:
        names = ["conv1", "bias1", "conv2", "bias2"]
        if f"{i} squeeze" in self._weights:
            names += ["squeeze", "squeeze bias", "excite", "excite bias"]
        weights = [self._weights[f"{i} {name}"] for name in names]
        if torch.is_grad_enabled():
            result: Tensor = _Block.apply(x, *weights)  # type: ignore[no-untyped-call]
            return result
        return _block(x, *weights)[-1]

    def _attention(self, squares: Tensor, moves: Listed | None) -> tuple[Tensor, Tensor]:
        w = self._width
        if moves is not None:
            heads, biases = self._weights["heads"], self._weights["heads bias"]
            if torch.is_grad_enabled():
                logits, value = _Picked.apply(squares, heads, biases, moves, w)  # type: ignore[no-untyped-call]
            else:
                logits, value, _ = _picked(squares @ heads.t(), biases, moves, w)
            return _spread(logits, moves), functional.relu(value)
        said = self._heads(squares)
        boards = said.reshape(-1, SQUARES, said.shape[1])
        n = boards.shape[0]
        query, keys, drops, value = torch.split(boards[:, :, : 3 * w + DROPS + 2], [w, 2 * w, DROPS, 2], dim=2)
        board_moves = torch.bmm(query, keys.reshape(n, 2 * SQUARES, w).transpose(1, 2))
        return all_moves(board_moves, drops), functional.relu(value.reshape(-1, 2))

    def _linear(self, squares: Tensor, moves: Listed | None) -> tuple[Tensor, Tensor]:
        policy, value = torch.split(functional.relu(self._heads(squares)), 2, dim=1)
        planes = _flat(policy, squares.shape[0] // SQUARES)
        logits = functional.linear(planes, self._weights["linear"], self._weights["linear bias"])
        if moves is not None:
            logits = _spread(logits.reshape(-1).index_select(0, moves.actions), moves)
        return logits, value

    def _heads(self, squares: Tensor) -> Tensor:
        return functional.linear(squares, self._weights["heads"], self._weights["heads bias"])


def _layout(tensor: Tensor) -> torch.memory_format:
    return torch.channels_last if tensor.ndim == 4 else torch.contiguous_format


def _flat(squares: Tensor, n: int) -> Tensor:
    """(N·81, C) → (N, C·81), the order in which the tower's linear layers see planes."""
    return squares.reshape(n, SQUARES, -1).transpose(1, 2).reshape(n, -1)


def _spread(logits: Tensor, moves: Listed) -> Tensor:
    """Logits (M,) of listed moves, in the shape of their lists (N, K)."""
    n, k = moves.shape
    return logits.new_zeros(n * k).index_copy(0, moves.places, logits).reshape(n, k)


def _block(x: Tensor, conv1: Tensor, bias1: Tensor, conv2: Tensor, bias2: Tensor, *gates: Tensor) -> list[Tensor]:
    """conv-ReLU-conv-SE-add-ReLU: all that was computed on the way, the result last."""
    hidden = functional.conv2d(x, conv1, bias1, padding=1).relu_()
    y = functional.conv2d(hidden, conv2, bias2, padding=1)
    if not gates:
        return [hidden, y.add_(x).relu_()]
    squeeze, squeeze_bias, excite, excite_bias = gates
    mean = y.mean(dim=(2, 3))
    squeezed = functional.linear(mean, squeeze, squeeze_bias).relu_()
    gate = functional.linear(squeezed, excite, excite_bias).sigmoid_()
    return [hidden, y, mean, squeezed, gate, torch.addcmul(x, y, gate[:, :, None, None]).relu_()]


class _Block(torch.autograd.Function):
    """`_block` and its derivative, with half of the passes over memory that autograd would make."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *weights: Tensor) -> Tensor:
        found = _block(x, *weights)
        ctx.save_for_backward(x, *weights, *found)
        ctx.weights = len(weights)
        return found[-1]

    @staticmethod
    def backward(ctx: Any, d_result: Tensor) -> tuple[Tensor, ...]:
        x, *saved = ctx.saved_tensors
        (conv1, bias1, conv2, bias2, *gates), found = saved[: ctx.weights], saved[ctx.weights :]
        hidden, result = found[0], found[-1]
        d_sum = _through_relu(d_result, result, 0)
        d_y, d_gates = _through_gate(d_sum, gates, found[1:-1]) if gates else (d_sum, ())
        d_hidden, d_conv2, d_bias2 = _conv_backward(d_y, hidden, conv2, bias2)
        _through_relu.grad_input(d_hidden, hidden, 0, grad_input=d_hidden)
        d_x, d_conv1, d_bias1 = _conv_backward(d_hidden, x, conv1, bias1)
        return d_x.add_(d_sum), d_conv1, d_bias1, d_conv2, d_bias2, *d_gates


def _through_gate(d: Tensor, gates: Sequence[Tensor], found: Sequence[Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
    """From the derivative by y·gate to those by y and by the weights that make the gate of it."""
    squeeze, _, excite, _ = gates
    y, mean, squeezed, gate = found
    d_excited = (d * y).sum(dim=(2, 3)) * gate * (1 - gate)
    d_squeezed = _through_relu(d_excited @ excite, squeezed, 0)
    d_mean = (d_squeezed @ squeeze) * (1 / SQUARES)
    d_y = torch.addcmul(d_mean[:, :, None, None], d, gate[:, :, None, None])
    return d_y, (d_squeezed.t() @ mean, d_squeezed.sum(0), d_excited.t() @ squeezed, d_excited.sum(0))


def _conv_backward(d: Tensor, x: Tensor, kernels: Tensor, biases: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    one, none = [1, 1], [0, 0]
    result: tuple[Tensor, Tensor, Tensor] = _backward(
        d, x, kernels, biases.shape, one, one, one, False, none, 1, (True, True, True)
    )
    return result


def _picked(said: Tensor, biases: Tensor, moves: Listed, width: int) -> tuple[Tensor, Tensor, tuple[Tensor, ...]]:
    """Logits (M,) of listed moves and the two planes of the value, from what all squares say; then what was used.

    A square says its query, two keys, seven drops and the value's planes, padded to R times the width. Seen as R rows
    of that width, the first is the query and the next two are the keys. Biases are added to what is picked: less than
    a fifth of it all.
    """
    columns = said.shape[1]
    ratio = columns // width
    kinds = torch.cat([torch.zeros_like(moves.origins), moves.promotes + 1])
    rows = torch.cat([moves.origins, moves.targets]).mul_(ratio).add_(kinds)
    drop_kinds = moves.pieces + 3 * width
    drops = moves.drop_targets * columns + drop_kinds
    pairs = said.view(-1, width).index_select(0, rows).add_(biases.view(-1, width).index_select(0, kinds))
    query, keys = pairs.chunk(2)
    dropped = said.view(-1).index_select(0, drops).add_(biases.index_select(0, drop_kinds))
    logits = torch.cat([(query * keys).sum(1), dropped])
    value = said[:, _value_columns(width)] + biases[_value_columns(width)]
    return logits, value, (kinds, rows, drop_kinds, drops, pairs)


class _Picked(torch.autograd.Function):
    """`_picked` and its derivative, which fills one matrix instead of adding up four."""

    @staticmethod
    def forward(
        ctx: Any, squares: Tensor, heads: Tensor, biases: Tensor, moves: Listed, width: int
    ) -> tuple[Tensor, Tensor]:
        said = torch.mm(squares, heads.t(), out=_kept("said", squares, len(heads)))
        logits, value, used = _picked(said, biases, moves, width)
        ctx.save_for_backward(squares, heads, *used)
        return logits, value

    @staticmethod
    def backward(ctx: Any, d_logits: Tensor, d_value: Tensor) -> tuple[Tensor | None, ...]:
        squares, heads, kinds, rows, drop_kinds, drops, pairs = ctx.saved_tensors
        width = pairs.shape[1]
        query, keys = pairs.chunk(2)
        d_board, d_drops = torch.split(d_logits, [len(query), len(drops)])
        d_pairs = torch.cat([keys, query]).mul_(d_board.repeat(2)[:, None])
        d_biases = d_logits.new_zeros(len(heads))
        d_biases.view(-1, width).index_add_(0, kinds, d_pairs)
        d_biases.index_add_(0, drop_kinds, d_drops)
        d_biases[_value_columns(width)] = d_value.sum(0)
        # Most of it is 0. It is only cleared where it was written: clearing all of it costs as much as a product.
        d_said = _kept("zeros", squares, len(heads))
        try:
            d_said.view(-1, width).index_add_(0, rows, d_pairs)
            d_said.view(-1).index_add_(0, drops, d_drops)
            d_said[:, _value_columns(width)] = d_value
            d_squares, d_heads = d_said @ heads, d_said.t() @ squares
        finally:
            d_said.view(-1, width).index_fill_(0, rows, 0)
            d_said.view(-1).index_fill_(0, drops, 0)
            d_said[:, _value_columns(width)] = 0
        return d_squares, d_heads, d_biases, None, None


def _value_columns(width: int) -> slice:
    return slice(3 * width + DROPS, 3 * width + DROPS + 2)


_own = threading.local()


def _kept(name: str, squares: Tensor, columns: int) -> Tensor:
    """A matrix of this thread's with as many rows as there are squares, 0 at first: new memory is slow to be had."""
    matrix: Tensor | None = getattr(_own, name, None)
    if matrix is None or matrix.shape[0] < len(squares) or matrix.shape[1] != columns or matrix.dtype != squares.dtype:
        matrix = squares.new_zeros(len(squares), columns)
        setattr(_own, name, matrix)
    return matrix[: len(squares)]
