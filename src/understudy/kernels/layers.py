"""Both passes through a stack of ReLU layers, each in one call; see `networks.layers`, whose arrays these are.

`inputs` and `outputs` hold a column of ones after the others, and some columns more. Weights have their biases last.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.kernels import compiled
from understudy.kernels.products import multiply

_Array = NDArray[Any]
_Arrays = tuple[_Array, ...]


@compiled
def forward(inputs: _Array, weights: _Arrays, outputs: _Arrays, head: _Array, results: _Array) -> None:
    """Fill `outputs` and `results` from the inputs."""
    x = inputs
    for i in range(len(weights)):
        width = weights[i].shape[1]
        multiply(x[:, : len(weights[i])], weights[i], outputs[i][:, :width], 0.0)
        x = outputs[i]
    multiply(x[:, : len(head)], head, results, -math.inf)


@compiled
def backward(
    inputs: _Array,
    weights: _Arrays,
    outputs: _Arrays,
    d_outputs: _Arrays,
    gradients: _Arrays,
    head: _Array,
    d_results: _Array,
    head_gradients: _Array,
) -> None:
    """Fill the gradients from `d_results`."""
    last = len(weights) - 1
    width = len(head) - 1
    multiply(outputs[last][:, : width + 1].T, d_results, head_gradients, -math.inf)
    multiply(d_results, head[:-1].T, d_outputs[last][:, :width], -math.inf)
    for i in range(last, -1, -1):
        _through_relu(d_outputs[i], outputs[i])
        below = outputs[i - 1] if i > 0 else inputs
        width = len(weights[i]) - 1
        d_sums = d_outputs[i][:, : weights[i].shape[1]]
        multiply(below[:, : width + 1].T, d_sums, gradients[i], -math.inf)
        if i > 0:
            multiply(d_sums, weights[i][:-1].T, d_outputs[i - 1][:, :width], -math.inf)


@compiled
def _through_relu(d_outputs: _Array, outputs: _Array) -> None:
    d, y = d_outputs.reshape(-1), outputs.reshape(-1)
    for i in range(len(d)):
        d[i] = d[i] if y[i] > 0 else np.float32(0)
