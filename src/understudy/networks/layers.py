"""A stack of ReLU layers in NumPy, on parameters and gradients that the caller keeps in one vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.networks.network import Floats, absorb_into
from understudy.networks.workspace import ALIGNMENT, aligned

_ZERO = np.zeros((), np.float32)
_BLOCK = 16  # rows compared with zeros at once: a maximum with a single zero takes four times as long


@dataclass(slots=True)
class _Hidden:
    """What backward needs from one hidden layer, for the rows of the last forward.

    `outputs` has an additional last column of ones, the input for the next layer's bias. Rows are padded with a few
    columns, and elementwise work includes them: contiguous arrays are worth more than the saved columns.
    """

    outputs: Floats
    whole: Floats  # with all columns
    blocks: Floats  # the same, possibly with some more rows
    zeros: Floats
    sums: Floats
    active: NDArray[np.bool_]
    d_whole: Floats
    d_sums: Floats


class Layers:
    """Every matrix has its bias as the last row; all layers except the last end with a ReLU.

    A `skip` matrix and its gradient, without a bias, lead from the inputs directly to the outputs.
    """

    def __init__(
        self, weights: Sequence[Floats], gradients: Sequence[Floats], skip: tuple[Floats, Floats] | None = None
    ) -> None:
        *self._hidden_weights, self._head_weights = weights
        *self._hidden_gradients, self._head_gradients = gradients
        self._skip_weights: Floats | None = None
        self._skip_gradients: Floats | None = None
        if skip is not None:
            self._skip_weights, self._skip_gradients = skip
        self._widths = [len(matrix) - 1 for matrix in weights]
        self._columns = self._head_weights.shape[1]
        self._dtype = self._head_weights.dtype
        self._capacity = 0
        self._rows = -1
        self._prepare_play()

    def forward(self, inputs: Floats) -> Floats:
        """Outputs (N, O) of inputs (N, I); valid until the next forward."""
        if len(inputs) != self._rows:
            self._prepare_rows(len(inputs))
        self._inputs[:, :-1] = inputs
        inputs = self._inputs
        for weights, layer in zip(self._hidden_weights, self._hidden, strict=True):
            np.matmul(inputs, weights, out=layer.sums)
            np.maximum(layer.blocks, layer.zeros, out=layer.blocks)
            inputs = layer.outputs
        np.matmul(inputs, self._head_weights, out=self._outputs)
        if self._skip_weights is not None:
            np.add(self._outputs, self._inputs[:, :-1] @ self._skip_weights, out=self._outputs)
        return self._outputs

    @property
    def d_outputs(self) -> Floats:
        """(N, O) to be filled before `backward`: the derivatives with respect to the outputs of the last forward."""
        return self._d_outputs

    def backward(self) -> None:
        """Overwrite the gradients."""
        if self._skip_gradients is not None:
            np.matmul(self._inputs[:, :-1].T, self._d_outputs, out=self._skip_gradients)
        d_sums, weights, gradients = self._d_outputs, self._head_weights, self._head_gradients
        for i in reversed(range(len(self._hidden))):
            layer = self._hidden[i]
            np.matmul(layer.outputs.T, d_sums, out=gradients)
            np.matmul(d_sums, weights[:-1].T, out=layer.d_sums)
            np.greater(layer.whole, _ZERO, out=layer.active)
            np.multiply(layer.d_whole, layer.active, out=layer.d_whole)
            d_sums, weights, gradients = layer.d_sums, self._hidden_weights[i], self._hidden_gradients[i]
        np.matmul(self._inputs.T, d_sums, out=gradients)

    def d_inputs(self, out: Floats) -> Floats:
        """Write the derivatives (N, I) with respect to the inputs to `out`; call it after `backward`."""
        if not self._hidden_weights:
            return np.matmul(self._d_outputs, self._head_weights[:-1].T, out=out)
        np.matmul(self._hidden[0].d_sums, self._hidden_weights[0][:-1].T, out=out)
        if self._skip_weights is not None:
            out += self._d_outputs @ self._skip_weights.T
        return out

    def absorb(self, gain: Floats, offset: Floats) -> None:
        """Change the weights so that inputs x that used to be gain·x + offset give the same outputs as before."""
        absorb_into((*self._hidden_weights, self._head_weights)[0], gain, offset)
        if self._skip_weights is not None:
            self._head_weights[-1] += offset @ self._skip_weights
            self._skip_weights *= gain[:, None]

    def step(self, inputs: Floats) -> Floats:
        """Outputs (O,) of one row; does not disturb a forward. The method `dot` avoids the dispatch of `np.dot`."""
        self._play_inputs[...] = inputs
        for row, weights, sums, outputs in self._play_hidden:
            row.dot(weights, sums)
            np.maximum(outputs, _ZERO, out=outputs)
        row, weights, outputs = self._play_head
        row.dot(weights, outputs)
        if self._skip_weights is not None:
            np.add(outputs, self._play_inputs.dot(self._skip_weights, self._play_skipped), outputs)
        return outputs

    def _prepare_play(self) -> None:
        ones = [np.ones(width + 1, self._dtype) for width in self._widths]
        self._play_inputs = ones[0][:-1]
        self._play_hidden = [
            (inputs, weights, outputs[:-1], outputs)
            for inputs, weights, outputs in zip(ones, self._hidden_weights, ones[1:], strict=False)
        ]
        self._play_head = (ones[-1], self._head_weights, np.zeros(self._columns, self._dtype))
        self._play_skipped = np.zeros(self._columns, self._dtype)

    def _prepare_rows(self, rows: int) -> None:
        """Point the views at `rows` rows of the buffers, which grow to the largest batch seen."""
        if rows > self._capacity:
            self._allocate(_whole(max(rows, 2 * self._capacity)))
        self._rows = rows
        self._inputs = self._input_buffer[:rows, : self._widths[0] + 1]
        self._hidden = [
            _Hidden(
                outputs=outputs[:rows, : width + 1],
                whole=outputs[:rows],
                blocks=outputs[: _whole(rows)].reshape(-1, len(zeros)),
                zeros=zeros,
                sums=outputs[:rows, :width],
                active=active[:rows],
                d_whole=d_outputs[:rows],
                d_sums=d_outputs[:rows, :width],
            )
            for width, (outputs, zeros, active, d_outputs) in zip(self._widths[1:], self._hidden_buffers, strict=True)
        ]
        # Column-major, so that sums and maxima over the few actions run along the many rows.
        self._outputs = self._output_buffer[: rows * self._columns].reshape(self._columns, rows).T
        self._d_outputs = self._d_output_buffer[: rows * self._columns].reshape(self._columns, rows).T

    def _allocate(self, capacity: int) -> None:
        self._capacity = capacity
        first, *others = [self._rows_of_ones(capacity, width + 1) for width in self._widths]
        self._input_buffer = first
        self._hidden_buffers = [
            (
                outputs,
                np.zeros(_BLOCK * outputs.shape[1], self._dtype),
                np.empty(outputs.shape, np.bool_),
                aligned(outputs.shape, self._dtype),
            )
            for outputs in others
        ]
        self._output_buffer = np.empty(capacity * self._columns, self._dtype)
        self._d_output_buffer = np.empty(capacity * self._columns, self._dtype)

    def _rows_of_ones(self, rows: int, columns: int) -> Floats:
        """With `columns` columns or a few more.

        Rows are aligned to cache lines and take an odd number of them: with a power of two, all rows of a column would
        map to the same cache sets.
        """
        line = ALIGNMENT // self._dtype.itemsize
        lines = -(-columns // line) | 1
        buffer = aligned((rows, lines * line), self._dtype)
        buffer[...] = 1
        return buffer


def _whole(rows: int) -> int:
    """The number of rows, rounded up to complete blocks."""
    return -(-rows // _BLOCK) * _BLOCK
