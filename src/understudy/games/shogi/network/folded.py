"""The tower as it is computed in play and in learning: norms folded into the convolutions, all heads in one product.

It gives the same results as `Tower.forward` with less work. A backend (convolutions.py) computes the 3×3 convolutions;
everything else is torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from understudy.games.shogi.network.convolutions import Convolutions
from understudy.games.shogi.network.modules import (
    DROPS,
    SQUARES,
    AttentionPolicy,
    ResidualBlock,
    Tower,
    all_moves,
    as_squares,
    gate_of,
    residual,
)
from understudy.games.shogi.network.moves import Listed, in_lists, listed_logits


def fold(tower: Tower) -> dict[str, Tensor]:
    """All tensors that a pass needs, as functions of the tower's parameters."""
    made: dict[str, Tensor] = {}
    made["stem"], made["stem bias"] = tower.stem_norm.folded(tower.stem)
    for i, block in enumerate(tower.blocks):
        assert isinstance(block, ResidualBlock)
        made[f"{i} conv1"], made[f"{i} conv1 bias"] = block.norm1.folded(block.conv1)
        made[f"{i} conv2"], made[f"{i} conv2 bias"] = block.norm2.folded(block.conv2)
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
    """The 1×1 convolutions at the start of the heads, stacked: those of the policy, then the value's."""
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
    """A tower's weights, folded at the last `refresh`, and the forward pass with them."""

    def __init__(self, tower: Tower, convolutions: Convolutions) -> None:
        self._tower = tower
        self.convolutions = convolutions
        self._width = tower.policy.width if isinstance(tower.policy, AttentionPolicy) else 0
        self._made = fold(tower)
        self._weights = {
            name: tensor.detach().clone(memory_format=_layout(tensor)).requires_grad_()
            for name, tensor in self._made.items()
        }
        self._prepared = self._prepare()

    @property
    def weights(self) -> list[Tensor]:
        """The leaf tensors with respect to which a pass is differentiated."""
        return list(self._weights.values())

    def refresh(self) -> None:
        """Fold the tower with its current parameters."""
        with torch.enable_grad():
            self._made = fold(self._tower)
        with torch.no_grad():
            for name, tensor in self._weights.items():
                tensor.copy_(self._made[name])
        self._prepared = self._prepare()

    def add_gradients(self, gradients: Sequence[Tensor]) -> None:
        """Add gradients with respect to `weights` to the tower's parameters (`grad`), at most once per `refresh`."""
        torch.autograd.backward(list(self._made.values()), gradients)

    def __call__(self, planes: Tensor, moves: Listed | None = None) -> tuple[Tensor, Tensor]:
        """See Tower.forward. With `moves`, only their logits (N, K), 0 for empty entries."""
        weights = self._weights
        x = self._convolution("stem", relu=True)(planes)
        for i in range(len(self._tower.blocks)):
            x = residual(x, self._convolution(f"{i} conv1", relu=True), self._convolution(f"{i} conv2"), self._gate(i))
        n = planes.shape[0]  # not len(planes), which an export would treat as a constant
        squares = as_squares(x).reshape(n * SQUARES, -1)
        if self._width and moves is not None:
            policy, value = self._listed(squares, moves)
        else:
            policy, value = self._attention(squares) if self._width else self._linear(squares, moves)
        hidden = functional.linear(functional.relu(value.reshape(n, -1)), weights["hidden"], weights["hidden bias"])
        material = functional.linear(planes.sum(dim=(2, 3)).sqrt(), weights["counts"])
        return policy, functional.linear(functional.relu(hidden), weights["value"], weights["value bias"]) + material

    def _convolution(self, name: str, *, relu: bool = False) -> Callable[[Tensor], Tensor]:
        kernels, biases = self._weights[name], self._weights[f"{name} bias"]
        return partial(
            self.convolutions.convolve, kernels=kernels, prepared=self._prepared[name], biases=biases, relu=relu
        )

    def _gate(self, i: int) -> Callable[[Tensor], Tensor] | None:
        if f"{i} squeeze" not in self._weights:
            return None
        names = ("squeeze", "squeeze bias", "excite", "excite bias")
        return partial(gate_of, *(self._weights[f"{i} {name}"] for name in names))

    @torch.no_grad()
    def _prepare(self) -> dict[str, object]:
        """What the backend computes once for all boards, by convolution."""
        return {
            name: self.convolutions.prepare(tensor)
            for name, tensor in self._weights.items()
            if name.endswith(("stem", "conv1", "conv2"))
        }

    def _listed(self, squares: Tensor, moves: Listed) -> tuple[Tensor, Tensor]:
        """Logits of listed moves (N, K) and the planes of the value (N, 2, 81), from squares (N·81, C)."""
        w = self._width
        heads, biases = self._weights["heads"], self._weights["heads bias"]
        layers = torch.cat([heads, biases[:, None]], dim=1)[: 3 * w]  # the channels are followed by a constant 1
        pairs = torch.matmul(layers[:w].t(), layers[w:].view(2, w, -1)).transpose(0, 1).flatten(1)
        logits, value = listed_logits(squares, moves, pairs, heads[3 * w :], biases[3 * w :])
        return in_lists(logits, moves), value.view(2, -1, SQUARES).transpose(0, 1)

    def _attention(self, squares: Tensor) -> tuple[Tensor, Tensor]:
        """The same for all actions (N, 13527), as in `_linear`."""
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
            logits = in_lists(logits.reshape(-1).index_select(0, moves.actions), moves)
        return logits, value

    def _heads(self, squares: Tensor) -> Tensor:
        return functional.linear(squares, self._weights["heads"], self._weights["heads bias"])


def _layout(tensor: Tensor) -> torch.memory_format:
    return torch.channels_last if tensor.ndim == 4 else torch.contiguous_format
