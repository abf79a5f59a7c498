from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.networks.attention import attend, attend_backward, hiding
from understudy.networks.workspace import Workspace


def by_explicit_sums(
    qkv: NDArray[np.float64], bias: NDArray[np.float64], starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """softmax(q·k/√d + b[distance])·v over the window, one row, head and key at a time."""
    heads, context = bias.shape
    width = qkv.shape[1] // 3
    d = width // heads
    out = np.zeros((len(qkv), width))
    for t in range(len(qkv)):
        begin = max(start for start in starts if start <= t)
        window = range(max(begin, t - context + 1), t + 1)
        for head in range(heads):
            q = qkv[t, head * d : (head + 1) * d]
            keys = {j: qkv[j, width + head * d : width + (head + 1) * d] for j in window}
            values = {j: qkv[j, 2 * width + head * d : 2 * width + (head + 1) * d] for j in window}
            e = {j: math.exp(q @ keys[j] / math.sqrt(d) + bias[head, context - 1 - (t - j)]) for j in window}
            out[t, head * d : (head + 1) * d] = sum(e[j] * values[j] for j in window) / sum(e.values())
    return out


@pytest.mark.parametrize("starts", [[0], [0, 1, 2], [0, 4], [0, 5, 11]])
def test_attention_is_the_explicit_sum_over_the_window(starts: list[int]) -> None:
    rng = np.random.default_rng(0)
    qkv, bias = rng.normal(size=(12, 3 * 6)), rng.normal(size=(2, 4))
    begins = np.array(starts)
    space = Workspace(np.float64)
    mixed, _ = attend(qkv, bias, hiding(begins, 12, 4, space), space)
    np.testing.assert_allclose(mixed, by_explicit_sums(qkv, bias, begins), atol=1e-12)


def test_gradients_are_those_of_finite_differences() -> None:
    rng = np.random.default_rng(1)
    qkv, bias, d_mixed = rng.normal(size=(12, 3 * 4)), rng.normal(size=(2, 3)), rng.normal(size=(12, 4))
    space = Workspace(np.float64)
    mask = hiding(np.array([0, 4, 5]), 12, 3, space)
    d_qkv, d_bias = np.full_like(qkv, np.nan), np.full_like(bias, np.nan)
    attend_backward(d_mixed, attend(qkv, bias, mask, space)[1], d_qkv, d_bias, space)
    for array, gradient in ((qkv, d_qkv), (bias, d_bias)):
        for index in np.ndindex(array.shape):
            kept = array[index]
            array[index] = kept + 1e-6
            above = (attend(qkv, bias, mask, space)[0] * d_mixed).sum()
            array[index] = kept - 1e-6
            below = (attend(qkv, bias, mask, space)[0] * d_mixed).sum()
            array[index] = kept
            assert gradient[index] == pytest.approx((above - below) / 2e-6, abs=1e-8)
