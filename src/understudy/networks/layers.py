"""A stack of ReLU layers in NumPy, over parameters and gradients that somebody else keeps in one vector."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.networks.network import Floats, aligned

_ZERO = np.zeros((), np.float32)
_PIECE = 512  # rows: what a layer makes of them is still in the cache when the next one needs it
_UNIT = 16  # columns: a cache line


@dataclass(slots=True)
class _Hidden:
    """One hidden layer, for one piece of the rows of the last forward.

    `outputs` has a last column of ones, the input that the next layer's bias is the weight of. Elementwise work goes
    over `padded` rows of whole cache lines, most of which are outputs: contiguous arrays are worth more than the rest.
    """

    padded: Floats
    outputs: Floats
    sums: Floats
    active: NDArray[np.bool_]
    d_padded: Floats
    d_sums: Floats


@dataclass(slots=True)
class _Piece:
    """Some of the rows of the last forward."""

    rows: slice
    inputs: Floats
    hidden: list[_Hidden]
    outputs: Floats
    d_outputs: Floats


class Layers:
    """Every matrix carries its bias as its last row; all but the last are followed by a ReLU."""

    def __init__(self, weights: Sequence[Floats], gradients: Sequence[Floats]) -> None:
        *self._hidden_weights, self._head_weights = weights
        self._weights, self._gradients = weights, gradients
        self._parts = [np.empty_like(matrix) for matrix in gradients]
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
        for piece in self._pieces:
            x = piece.inputs
            x[:, :-1] = inputs[piece.rows]
            for weights, layer in zip(self._hidden_weights, piece.hidden, strict=True):
                np.matmul(x, weights, out=layer.sums)
                np.maximum(layer.padded, _ZERO, out=layer.padded)
                x = layer.outputs
            np.matmul(x, self._head_weights, out=piece.outputs)
        return self._outputs

    @property
    def d_outputs(self) -> Floats:
        """(N, O) for the caller to fill before `backward`: the derivatives by the last forward's outputs."""
        return self._d_outputs

    def backward(self) -> None:
        """Overwrite the gradients."""
        for number, piece in enumerate(self._pieces):
            self._backward(piece, self._parts if number else self._gradients)
            if number:
                for gradients, part in zip(self._gradients, self._parts, strict=True):
                    np.add(gradients, part, out=gradients)

    def _backward(self, piece: _Piece, gradients: Sequence[Floats]) -> None:
        d_sums = piece.d_outputs
        for i in reversed(range(len(piece.hidden))):
            layer = piece.hidden[i]
            np.matmul(layer.outputs.T, d_sums, out=gradients[i + 1])
            np.matmul(d_sums, self._weights[i + 1][:-1].T, out=layer.d_sums)
            np.greater(layer.padded, _ZERO, out=layer.active)
            np.multiply(layer.d_padded, layer.active, out=layer.d_padded)
            d_sums = layer.d_sums
        np.matmul(piece.inputs.T, d_sums, out=gradients[0])

    def step(self, inputs: Floats) -> Floats:
        """Outputs (O,) of one row; a forward is not disturbed. The method `dot` spares the dispatch of `np.dot`."""
        self._play_inputs[...] = inputs
        for row, weights, sums, outputs in self._play_hidden:
            row.dot(weights, sums)
            np.maximum(outputs, _ZERO, out=outputs)
        row, weights, outputs = self._play_head
        row.dot(weights, outputs)
        return outputs

    def _prepare_play(self) -> None:
        ones = [np.ones(width + 1, self._dtype) for width in self._widths]
        self._play_inputs = ones[0][:-1]
        self._play_hidden = [
            (inputs, weights, outputs[:-1], outputs)
            for inputs, weights, outputs in zip(ones, self._hidden_weights, ones[1:], strict=False)
        ]
        self._play_head = (ones[-1], self._head_weights, np.zeros(self._columns, self._dtype))

    def _prepare_rows(self, rows: int) -> None:
        """Cut `rows` rows of the buffers, which grow to the largest batch seen, into nearly equal pieces."""
        if rows > self._capacity:
            self._allocate(max(rows, 2 * self._capacity))
        self._rows = rows
        # Column-major, so that sums and maxima over the few actions of a row run along the many rows.
        self._outputs = self._output_buffer[: rows * self._columns].reshape(self._columns, rows).T
        self._d_outputs = self._d_output_buffer[: rows * self._columns].reshape(self._columns, rows).T
        count = max(1, -(-rows // _PIECE))
        cuts = [rows * i // count for i in range(count + 1)]
        self._pieces = [self._piece(slice(start, stop)) for start, stop in itertools.pairwise(cuts)]

    def _piece(self, rows: slice) -> _Piece:
        return _Piece(
            rows=rows,
            inputs=self._buffers[0][rows, : self._widths[0] + 1],
            hidden=[
                _Hidden(
                    padded=padded[rows],
                    outputs=padded[rows, : width + 1],
                    sums=padded[rows, :width],
                    active=active[: rows.stop - rows.start],
                    d_padded=d_padded[: rows.stop - rows.start],
                    d_sums=d_padded[: rows.stop - rows.start, :width],
                )
                for width, padded, (active, d_padded) in zip(
                    self._widths[1:], self._buffers[1:], self._d_buffers, strict=True
                )
            ],
            outputs=self._outputs[rows],
            d_outputs=self._d_outputs[rows],
        )

    def _allocate(self, capacity: int) -> None:
        """Derivatives are of one piece at a time. Rows are padded with zeros, which stay."""
        self._capacity = capacity
        padded = [-(-(width + 1) // _UNIT) * _UNIT for width in self._widths]
        self._buffers = [aligned(capacity, columns, dtype=self._dtype) for columns in padded]
        for width, buffer in zip(self._widths, self._buffers, strict=True):
            buffer[:, width] = 1
        most = min(capacity, _PIECE)
        self._d_buffers = [
            (np.empty((most, columns), np.bool_), aligned(most, columns, dtype=self._dtype)) for columns in padded[1:]
        ]
        self._output_buffer = aligned(capacity * self._columns, dtype=self._dtype)
        self._d_output_buffer = aligned(capacity * self._columns, dtype=self._dtype)
