"""A causal transformer over the states of a game, in NumPy: trained on whole games, played one state at a time."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from understudy.errors import SettingsError
from understudy.networks.affine import (
    EPSILON,
    affine,
    affine_backward,
    affine_gradient,
    layer_norm,
    layer_norm_backward,
)
from understudy.networks.attention import Attended, attend, attend_backward, hiding
from understudy.networks.in_play import InPlay, TransformerInPlay
from understudy.networks.network import (
    Floats,
    Integers,
    Layout,
    Network,
    absorb_into,
    initialise_head,
    orthogonal,
    rescale_column,
)
from understudy.networks.workspace import Workspace
from understudy.settings import NetworkSettings


@dataclass(frozen=True, slots=True)
class LayerParameters:
    """The parameters of one layer, or their gradients. Biases are the last rows of matrices."""

    attention_norm: Floats
    qkv: Floats
    position_bias: Floats
    projection: Floats
    mlp_norm: Floats
    up: Floats
    down: Floats


@dataclass(frozen=True, slots=True)
class _Trace:
    """What the backward pass needs from one layer's forward pass."""

    attention_norm: tuple[Floats, Floats]
    attention_input: Floats
    attended: Attended
    mixed: Floats
    mlp_norm: tuple[Floats, Floats]
    mlp_input: Floats
    active: Floats


class TransformerDecisionModel(Network):
    """Pre-norm blocks of multi-head attention over the last `context` rows, with a learned bias for each distance.

    Positions enter only as distances, so a row's keys and values never change: play keeps them in a ring buffer and
    computes only the newest row, with the same result as `forward` over the whole game.
    """

    sequential = True

    def __init__(
        self,
        state_dim: int,
        n_actions: int,
        settings: NetworkSettings,
        rng: np.random.Generator,
        dtype: type[np.floating[Any]] = np.float32,
    ) -> None:
        if settings.width % settings.heads:
            raise SettingsError(
                f"network.width is {settings.width}; it must be a multiple of network.heads, {settings.heads}."
            )
        super().__init__(state_dim, n_actions, settings, _layout(state_dim, n_actions, settings), dtype)
        self._input, self._blocks, self._final_norm, self._head = self._parts(self.parameters)
        self._d_input, self._d_blocks, self._d_final_norm, self._d_head = self._parts(self.gradients)
        self._initialise(rng)
        self._space = Workspace(dtype)
        self._player = _Player(self._input, self._blocks, self._final_norm, self._head, settings)

    def forward(self, states: Floats, starts: Integers | None = None) -> tuple[Floats, Floats]:
        """See Network.forward."""
        n, context = len(states), self.settings.context
        rows = -(-n // context) * context  # complete blocks; the rows past the end form a separate episode
        space = self._space
        space.begin()
        self._n = n
        self._states = space.take(rows, self.state_dim)
        self._states[:n] = states
        self._states[n:] = 0
        starts = np.zeros(1, np.int64) if starts is None else starts
        mask = hiding(np.append(starts, n) if rows > n else starts, rows, context, space)
        x = affine(self._states, self._input, space)
        self._traces = [self._block_forward(block, x, mask) for block in self._blocks]
        self._trunk, self._final_trace = layer_norm(x, self._final_norm, space)
        outputs = affine(self._trunk, self._head, space)[:n]
        return outputs[:, :-1], outputs[:, -1]

    def backward(self, d_logits: Floats, d_values: Floats) -> None:
        """See Network.backward."""
        space, rows = self._space, len(self._states)
        with space.scratch():
            d_outputs = space.take(rows, self.n_actions + 1)
            d_outputs[: self._n, :-1] = d_logits
            d_outputs[: self._n, -1] = d_values
            d_outputs[self._n :] = 0
            d_trunk = affine_backward(d_outputs, self._trunk, self._head, self._d_head, space)
            d_x = layer_norm_backward(d_trunk, self._final_trace, self._final_norm, self._d_final_norm, space)
            for block, d_block, trace in zip(self._blocks[::-1], self._d_blocks[::-1], self._traces[::-1], strict=True):
                with space.scratch():
                    self._block_backward(block, d_block, trace, d_x)
            affine_gradient(d_x, self._states, self._d_input)

    @property
    def reach(self) -> int:
        """See Network.reach: each layer looks back over `context` outputs of the layer below."""
        return self.settings.layers * (self.settings.context - 1)

    def in_play(self, matches: int) -> InPlay:
        """See Network.in_play."""
        return TransformerInPlay((self._input, self._blocks, self._final_norm, self._head), matches)

    def policy_part(self, vector: Floats) -> Floats:
        """See Network.policy_part."""
        return self.views(vector)["head"][:, :-1]

    def absorb(self, gain: Floats, offset: Floats) -> None:
        """See Network.absorb."""
        absorb_into(self._input, gain, offset)

    def rescale_value(self, gain: float, offset: float) -> None:
        """See Network.rescale_value."""
        rescale_column(self._head, gain, offset)

    def begin_episode(self) -> None:
        """See Network.begin_episode."""
        self._player.begin_episode()

    def step(self, state: Floats) -> tuple[Floats, float]:
        """See Network.step."""
        return self._player.step(state)

    def _block_forward(self, block: LayerParameters, x: Floats, mask: Floats) -> _Trace:
        """Add the block's output to `x` in place."""
        space = self._space
        attention_input, attention_norm = layer_norm(x, block.attention_norm, space)
        qkv = affine(attention_input, block.qkv, space)
        mixed, attended = attend(qkv, block.position_bias, mask, space)
        with space.scratch():
            x += affine(mixed, block.projection, space)
        mlp_input, mlp_norm = layer_norm(x, block.mlp_norm, space)
        active = affine(mlp_input, block.up, space)
        np.maximum(active, 0, out=active)
        with space.scratch():
            x += affine(active, block.down, space)
        return _Trace(attention_norm, attention_input, attended, mixed, mlp_norm, mlp_input, active)

    def _block_backward(self, block: LayerParameters, d_block: LayerParameters, trace: _Trace, d_x: Floats) -> None:
        """Convert in place the derivative with respect to the block's output to that of its input; write gradients."""
        space = self._space
        d_active = affine_backward(d_x, trace.active, block.down, d_block.down, space)
        d_active *= trace.active > 0
        d_mlp = affine_backward(d_active, trace.mlp_input, block.up, d_block.up, space)
        d_x += layer_norm_backward(d_mlp, trace.mlp_norm, block.mlp_norm, d_block.mlp_norm, space)
        d_mixed = affine_backward(d_x, trace.mixed, block.projection, d_block.projection, space)
        d_qkv = space.take(len(d_x), block.qkv.shape[1])
        attend_backward(d_mixed, trace.attended, d_qkv, d_block.position_bias, space)
        d_attention = affine_backward(d_qkv, trace.attention_input, block.qkv, d_block.qkv, space)
        d_x += layer_norm_backward(
            d_attention, trace.attention_norm, block.attention_norm, d_block.attention_norm, space
        )

    def _parts(self, vector: Floats) -> tuple[Floats, list[LayerParameters], Floats, Floats]:
        views = list(self.views(vector).values())
        per_block = len(LayerParameters.__slots__)
        blocks = [LayerParameters(*views[i : i + per_block]) for i in range(1, len(views) - 2, per_block)]
        return views[0], blocks, views[-2], views[-1]

    def _initialise(self, rng: np.random.Generator) -> None:
        width = self.settings.width
        residual_gain = 1 / math.sqrt(2 * len(self._blocks))  # keeps the sum of all residuals at unit scale
        self._input[:-1] = orthogonal(rng, self.state_dim, width, 1)
        for block in self._blocks:
            block.attention_norm[0] = block.mlp_norm[0] = 1
            for columns in np.split(block.qkv, 3, axis=1):
                columns[:-1] = orthogonal(rng, width, width, 1)
            block.projection[:-1] = orthogonal(rng, width, width, residual_gain)
            block.up[:-1] = orthogonal(rng, width, 4 * width, math.sqrt(2))
            block.down[:-1] = orthogonal(rng, 4 * width, width, residual_gain)
        self._final_norm[0] = 1
        initialise_head(rng, self._head, self.n_actions)


class _Player:
    """Plays one state at a time: keys and values of the last `context` states of each layer, in ring buffers.

    Every entry is written twice, `context` apart, so the window is always one contiguous slice, oldest first.
    """

    def __init__(
        self, input_: Floats, blocks: list[LayerParameters], final_norm: Floats, head: Floats, settings: NetworkSettings
    ) -> None:
        self._input, self._blocks, self._final_norm, self._head = input_, blocks, final_norm, head
        self._context, heads, width = settings.context, settings.heads, settings.width
        self._scale = (width // heads) ** -0.5
        dtype = input_.dtype
        shape = (len(blocks), 2, heads, 2, settings.context, width // heads)
        rings = np.zeros(shape, dtype)
        self._rings = list(rings)
        self._windows = [(ring[0], ring[1]) for ring in rings.reshape(*shape[:3], 2 * settings.context, shape[-1])]
        self._state = np.ones(input_.shape[0], dtype)
        self._x = np.empty(width, dtype)
        self._normed = np.ones(width + 1, dtype)
        self._qkv = np.empty(3 * width, dtype)
        self._query = self._qkv[:width].reshape(heads, -1, 1)
        self._key_value = self._qkv[width:].reshape(2, heads, 1, -1)
        self._mixed = np.ones(width + 1, dtype)
        self._mixed_by_head = self._mixed[:-1].reshape(heads, 1, -1)
        self._active = np.ones(4 * width + 1, dtype)
        self._residual = np.empty(width, dtype)
        self._mean = np.full(width, 1 / width, dtype)
        self._outputs = np.empty(head.shape[1], dtype)
        self.begin_episode()

    def begin_episode(self) -> None:
        self._seen = 0

    def step(self, state: Floats) -> tuple[Floats, float]:
        slot = self._seen % self._context
        self._seen += 1
        length = min(self._seen, self._context)
        window = slice(slot + self._context + 1 - length, slot + self._context + 1)
        x = self._x
        self._state[:-1] = state
        np.dot(self._state, self._input, x)
        for block, ring, (keys, values) in zip(self._blocks, self._rings, self._windows, strict=True):
            self._norm(block.attention_norm)
            np.dot(self._normed, block.qkv, self._qkv)
            ring[:, :, :, slot] = self._key_value
            self._attend(keys[:, window], values[:, window], block.position_bias[:, self._context - length :])
            np.dot(self._mixed, block.projection, self._residual)
            np.add(x, self._residual, out=x)
            self._norm(block.mlp_norm)
            np.dot(self._normed, block.up, self._active[:-1])
            np.maximum(self._active, 0, out=self._active)
            np.dot(self._active, block.down, self._residual)
            np.add(x, self._residual, out=x)
        self._norm(self._final_norm)
        np.dot(self._normed, self._head, self._outputs)
        return self._outputs[:-1], self._outputs.item(-1)

    def _attend(self, keys: Floats, values: Floats, position_bias: Floats) -> None:
        scores = np.matmul(keys, self._query)[:, :, 0]
        np.multiply(scores, self._scale, out=scores)
        np.add(scores, position_bias, out=scores)
        np.subtract(scores, scores.max(axis=1, keepdims=True), out=scores)
        np.exp(scores, out=scores)
        np.divide(scores, scores.sum(axis=1, keepdims=True), out=scores)
        np.matmul(scores[:, None, :], values, out=self._mixed_by_head)

    def _norm(self, norm: Floats) -> None:
        normed = self._normed[:-1]
        np.subtract(self._x, np.dot(self._x, self._mean), out=normed)
        deviation = math.sqrt(np.dot(normed, normed) / len(normed) + EPSILON)
        np.multiply(normed, 1 / deviation, out=normed)
        np.multiply(normed, norm[0], out=normed)
        np.add(normed, norm[1], out=normed)


def _layout(state_dim: int, n_actions: int, settings: NetworkSettings) -> Layout:
    width = settings.width
    shapes = {
        "attention_norm": (2, width),
        "qkv": (width + 1, 3 * width),
        "position_bias": (settings.heads, settings.context),
        "projection": (width + 1, width),
        "mlp_norm": (2, width),
        "up": (width + 1, 4 * width),
        "down": (4 * width + 1, width),
    }
    return (
        ("input", (state_dim + 1, width)),
        *((f"block{i}.{name}", shape) for i in range(settings.layers) for name, shape in shapes.items()),
        ("final_norm", (2, width)),
        ("head", (width + 1, n_actions + 1)),
    )
