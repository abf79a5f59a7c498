"""3×3 convolutions of 9×9 boards with 169 multiplications a pair of channels, not 729, and their derivatives.

After Winograd (1980) and Lavin and Gray (2016): along each axis, five squares and then four are made from seven and six
products, y = A (G w · B x). Boards lie squares first, (81, N, C): so every step is a matrix product.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from understudy.networks.scratch import scratch
from understudy.networks.tower import SIDE, SQUARES

# Where polynomials are multiplied, and at infinity: with these few digits are lost.
# Where polynomials are multiplied, besides infinity; these few lose few digits.
_POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5)
_ONE = _POINTS.index(1.0)  # a number that is added there is added to every square of the tile
_TILES = (5, 4)  # squares
_STEP = _TILES[0] + 2  # from a point of the first tile to the same of the second
_NUMBERS = sum(_TILES) + 2 * len(_TILES)


class _Matrices(NamedTuple):
    """The three of y = A (G w · B x), and G for both axes at once."""

    a: Tensor  # (9, 13)
    b: Tensor  # (13, 9)
    gg: Tensor  # (169, 9)


def _tile(squares: int) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """A, B and G for some squares in a row and their neighbours."""
    n = squares + 2
    points = np.array(_POINTS[: n - 1])
    a, b, g = np.zeros((squares, n)), np.zeros((n, n)), np.zeros((n, 3))
    for i, point in enumerate(points):
        others = np.delete(points, i)
        a[:, i] = point ** np.arange(squares)
        b[i, :-1] = np.poly(others)[::-1]
        g[i] = point ** np.arange(3) / np.prod(point - others)
    a[-1, -1], b[-1], g[-1, -1] = 1, np.poly(points)[::-1], 1
    return a, b, g


@functools.cache
def _matrices(dtype: torch.dtype) -> _Matrices:
    a, b, g = np.zeros((SIDE, _NUMBERS)), np.zeros((_NUMBERS, SIDE + 2)), np.zeros((_NUMBERS, 3))
    for i, squares in enumerate(_TILES):
        first, row = sum(_TILES[:i]), i * _STEP
        rows = slice(row, row + squares + 2)
        a[first : first + squares, rows], b[rows, first : first + squares + 2], g[rows] = _tile(squares)
    b = b[:, 1:-1]  # beyond the edge there are zeros
    return _Matrices(*(torch.from_numpy(np.ascontiguousarray(m)).to(dtype) for m in (a, b, np.kron(g, g))))


def spread(kernels: Tensor) -> Tensor:
    """Kernels (O, C, 3, 3) as `convolve` takes them, (169, O, C)."""
    return (_matrices(kernels.dtype).gg @ kernels.reshape(-1, 9).t()).view(-1, *kernels.shape[:2])


def convolve(x: Tensor, kernels: Tensor, biases: Tensor) -> tuple[Tensor, Tensor]:
    """Convolve boards (81, N, C) with `spread` kernels: the result, and what its derivative needs."""
    _, n, channels = x.shape
    matrices = _matrices(x.dtype)
    numbers = _NUMBERS**2
    seen = _both_axes(matrices.b, x, x.new_empty(numbers, n, channels))
    products = torch.bmm(seen, kernels.transpose(1, 2), out=scratch("products", x, (numbers, n, len(biases))))
    _constants(products).add_(biases)
    return _both_axes(matrices.a, products, x.new_empty(SQUARES, n, len(biases))), seen


def backward(d: Tensor, seen: Tensor, kernels: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """From the derivative by the result of `convolve` to those by boards, kernels (O, C, 3, 3) and biases."""
    _, n, outputs = d.shape
    numbers, _, channels = seen.shape
    matrices = _matrices(d.dtype)
    d_products = _both_axes(matrices.a.t(), d, scratch("products", d, (numbers, n, outputs)))
    d_seen = torch.bmm(d_products, kernels, out=scratch("seen", d, (numbers, n, channels)))
    d_x = _both_axes(matrices.b.t(), d_seen, d.new_empty(SQUARES, n, channels))
    d_spread = torch.bmm(d_products.transpose(1, 2), seen, out=scratch("kernels", d, (numbers, outputs, channels)))
    d_kernels = (matrices.gg.t() @ d_spread.view(numbers, -1)).view(3, 3, outputs, channels).permute(2, 3, 0, 1)
    return d_x, d_kernels, _constants(d_products).sum(dim=(0, 1, 2))


def _both_axes(matrix: Tensor, x: Tensor, out: Tensor) -> Tensor:
    """Multiply the rows of boards and then their columns by a matrix (H, W): (W·W, N, C) → (H·H, N, C)."""
    after, before = matrix.shape
    rows = scratch("rows", x, (after, x.numel() // before))
    torch.mm(matrix, x.view(before, -1), out=rows)
    torch.matmul(matrix, rows.view(after, before, -1), out=out.view(after, after, -1))
    return out


def _constants(products: Tensor) -> Tensor:
    """The numbers that become the same on all squares of a tile."""
    return products.view(_NUMBERS, _NUMBERS, *products.shape[1:])[_ONE::_STEP, _ONE::_STEP]
