"""A multi-layer perceptron in NumPy, with policy and value on a shared trunk."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.networks.network import Floats, Integers, Network, initialise_head, orthogonal
from understudy.settings import NetworkSettings

_ZERO = np.zeros((), np.float32)


@dataclass(slots=True)
class _Hidden:
    """What backward needs of one hidden layer, for the rows of the last forward.

    `outputs` has a last column of ones, the input that the next layer's bias is the weight of.
    Elementwise work goes over it too: contiguous arrays are worth more than the column.
    """

    outputs: Floats
    sums: Floats
    active: NDArray[np.bool_]
    d_outputs: Floats
    d_sums: Floats


class Mlp(Network):
    """ReLU layers; every matrix carries its bias as its last row; the last gives logits and value together."""

    sequential = False

    def __init__(
        self,
        state_dim: int,
        n_actions: int,
        settings: NetworkSettings,
        rng: np.random.Generator,
        dtype: type[np.floating[Any]] = np.float32,
    ) -> None:
        self._widths = (state_dim, *settings.hidden)
        layout = [(f"hidden{i}", (a + 1, b)) for i, (a, b) in enumerate(itertools.pairwise(self._widths))]
        layout.append(("head", (self._widths[-1] + 1, n_actions + 1)))
        super().__init__(state_dim, n_actions, settings, tuple(layout), dtype)
        *self._hidden_weights, self._head_weights = self.views(self.parameters).values()
        *self._hidden_gradients, self._head_gradients = self.views(self.gradients).values()
        for weights in self._hidden_weights:
            weights[:-1] = orthogonal(rng, weights.shape[0] - 1, weights.shape[1], math.sqrt(2))
        initialise_head(rng, self._head_weights)
        self._capacity = 0
        self._rows = -1
        self._prepare_play()

    def forward(self, states: Floats, starts: Integers | None = None) -> tuple[Floats, Floats]:
        """See Network.forward; `starts` makes no difference."""
        if len(states) != self._rows:
            self._prepare_rows(len(states))
        self._states[:, :-1] = states
        inputs = self._states
        for weights, layer in zip(self._hidden_weights, self._hidden, strict=True):
            np.matmul(inputs, weights, out=layer.sums)
            np.maximum(layer.outputs, _ZERO, out=layer.outputs)
            inputs = layer.outputs
        np.matmul(inputs, self._head_weights, out=self._outputs)
        return self._logits, self._values

    def backward(self, d_logits: Floats, d_values: Floats) -> None:
        """See Network.backward."""
        self._d_outputs[:, :-1] = d_logits
        self._d_outputs[:, -1] = d_values
        d_sums, weights, gradients = self._d_outputs, self._head_weights, self._head_gradients
        for i in reversed(range(len(self._hidden))):
            layer = self._hidden[i]
            np.matmul(layer.outputs.T, d_sums, out=gradients)
            np.matmul(d_sums, weights.T, out=layer.d_outputs)
            np.greater(layer.outputs, _ZERO, out=layer.active)
            np.multiply(layer.d_outputs, layer.active, out=layer.d_outputs)
            d_sums, weights, gradients = layer.d_sums, self._hidden_weights[i], self._hidden_gradients[i]
        np.matmul(self._states.T, d_sums, out=gradients)

    def begin_episode(self) -> None:
        """Nothing to forget: every state stands alone."""

    def step(self, state: Floats) -> tuple[Floats, float]:
        """See Network.step. The method `dot` spares the dispatch of `np.dot`, a quarter of such a small product."""
        self._play_state[...] = state
        for inputs, weights, sums, outputs in self._play_hidden:
            inputs.dot(weights, sums)
            np.maximum(outputs, _ZERO, out=outputs)
        inputs, weights, outputs = self._play_head
        inputs.dot(weights, outputs)
        return self._play_logits, outputs.item(-1)

    def _prepare_play(self) -> None:
        dtype = self.parameters.dtype
        ones = [np.ones(width + 1, dtype) for width in self._widths]
        outputs = np.zeros(self.n_actions + 1, dtype)
        self._play_state = ones[0][:-1]
        self._play_hidden = [
            (inputs, weights, outputs[:-1], outputs)
            for inputs, weights, outputs in zip(ones, self._hidden_weights, ones[1:], strict=False)
        ]
        self._play_head = (ones[-1], self._head_weights, outputs)
        self._play_logits = outputs[:-1]

    def _prepare_rows(self, rows: int) -> None:
        """Point the views at `rows` rows of the buffers, which grow to the largest batch seen."""
        if rows > self._capacity:
            self._allocate(max(rows, 2 * self._capacity))
        self._rows = rows
        self._states = self._state_buffer[:rows]
        self._hidden = [
            _Hidden(
                outputs=outputs[:rows],
                sums=outputs[:rows, :-1],
                active=active[:rows],
                d_outputs=d_outputs[:rows],
                d_sums=d_outputs[:rows, :-1],
            )
            for outputs, active, d_outputs in self._hidden_buffers
        ]
        # Column-major, so that sums and maxima over the few actions of a row run along the many rows.
        columns = self.n_actions + 1
        self._outputs = self._output_buffer[: rows * columns].reshape(columns, rows).T
        self._d_outputs = self._d_output_buffer[: rows * columns].reshape(columns, rows).T
        self._logits, self._values = self._outputs[:, :-1], self._outputs[:, -1]

    def _allocate(self, capacity: int) -> None:
        dtype = self.parameters.dtype
        self._capacity = capacity
        self._state_buffer = np.ones((capacity, self.state_dim + 1), dtype)
        self._hidden_buffers = [
            (
                np.ones((capacity, width + 1), dtype),
                np.empty((capacity, width + 1), np.bool_),
                np.empty((capacity, width + 1), dtype),
            )
            for width in self._widths[1:]
        ]
        self._output_buffer = np.empty(capacity * (self.n_actions + 1), dtype)
        self._d_output_buffer = np.empty(capacity * (self.n_actions + 1), dtype)
