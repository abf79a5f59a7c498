"""3×3 convolutions of 9×9 boards with 196 multiplications per pair of channels instead of 729, and their derivatives.

The algorithm is that of Winograd (1980) and Lavin and Gray (2016): along each axis, two tiles of five squares are
computed from seven products each, y = A (G w · B x); the tenth square is dropped. A few boards at a time pass through
all steps, so that they stay in the cache.

The plain version is `torch.nn.functional.conv2d` (network/convolutions.py); tests compare the two.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.games.shogi.kernels import compiled
from understudy.games.shogi.kernels.products import rows_of_product
from understudy.games.shogi.kernels.vectors import LANES, linear_map

_Array = NDArray[Any]

SIDE, SQUARES = 9, 81
_TILES, _SQUARES = 2, 5  # tiles along an axis, and squares of a tile along an axis
_POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5)  # interpolation points besides infinity, chosen for small rounding errors
_POINT = len(_POINTS) + 1  # points along an axis
_ONE = _POINTS.index(1.0) * (_POINT + 1)  # a number added at this point is added to every square of the tile
POINTS = _POINT**2
_AT_ONCE = 9  # boards: 36 tiles, a multiple of the six rows of a register tile; they fit a core's own cache
_ROWS = _AT_ONCE * _TILES**2


def _matrices() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """A (9, 14), B (14, 9) and G (7, 3), which is for one tile."""
    points = np.array(_POINTS)
    a, b, g = np.zeros((_SQUARES, _POINT)), np.zeros((_POINT, _POINT)), np.zeros((_POINT, 3))
    for i, point in enumerate(points):
        others = np.delete(points, i)
        a[:, i] = point ** np.arange(_SQUARES)
        b[i, :-1] = np.poly(others)[::-1]
        g[i] = point ** np.arange(3) / np.prod(point - others)
    a[-1, -1], b[-1], g[-1, -1] = 1, np.poly(points)[::-1], 1
    whole_a = np.zeros((_TILES * _SQUARES, _TILES * _POINT))
    whole_b = np.zeros((_TILES * _POINT, 1 + _TILES * _SQUARES + 1))  # zeros beyond the edge
    for tile in range(_TILES):
        first, points_of = tile * _SQUARES, slice(tile * _POINT, (tile + 1) * _POINT)
        whole_a[first : first + _SQUARES, points_of], whole_b[points_of, first : first + _POINT] = a, b
    return whole_a[:SIDE], whole_b[:, 1 : 1 + SIDE], g


_A, _B, G = _matrices()
# Along the columns of a board, whose tiles are not contiguous, and along its rows.
_b_rows, _b_columns = linear_map(_B), linear_map(_B, y_parts=_TILES)
_a_rows, _a_columns = linear_map(_A), linear_map(_A, x_parts=_TILES)
_b_rows_back, _b_columns_back = linear_map(_B.T), linear_map(_B.T, x_parts=_TILES)
_a_rows_back, _a_columns_back = linear_map(_A.T), linear_map(_A.T, y_parts=_TILES)


def _to_points(rows: Any, columns: Any) -> Any:
    """A kernel that transforms `count` boards of (N, 81, C), from `first` on, to points (49, 4·count, C)."""

    @compiled
    def to_points(boards: _Array, first: int, count: int, points: _Array) -> None:
        channels = boards.shape[2]
        size = boards.itemsize
        none = boards.dtype.type(-np.inf)
        between = np.empty((_TILES * _POINT, SIDE, channels), boards.dtype)
        line, row, vector = between.strides[0], between.strides[1], LANES * size
        tile = count * row  # offset to the same boards in the next tile
        point = _TILES * _TILES * tile
        for n in range(count):
            board = boards.ctypes.data + (first + n) * boards.strides[0]
            for at in range(0, line, vector):
                rows(board + at, line, 0, between.ctypes.data + at, line, 0, none)
            for i in range(_TILES * _POINT):
                at_line = between.ctypes.data + i * line
                to = points.ctypes.data + n * row + i % _POINT * _POINT * point + i // _POINT * _TILES * tile
                for at in range(0, row, vector):
                    columns(at_line + at, row, 0, to + at, point, tile, none)

    return to_points


def _to_boards(rows: Any, columns: Any) -> Any:
    """The inverse: a kernel that transforms points to boards; results below `floor` become `floor`."""

    @compiled
    def to_boards(points: _Array, first: int, count: int, boards: _Array, floor: Any) -> None:
        channels = boards.shape[2]
        size = boards.itemsize
        none = boards.dtype.type(-np.inf)
        between = np.empty((_TILES * _POINT, SIDE, channels), boards.dtype)
        line, row, vector = between.strides[0], between.strides[1], LANES * size
        tile = count * row
        point = _TILES * _TILES * tile
        for n in range(count):
            board = boards.ctypes.data + (first + n) * boards.strides[0]
            for i in range(_TILES * _POINT):
                at_line = between.ctypes.data + i * line
                come = points.ctypes.data + n * row + i % _POINT * _POINT * point + i // _POINT * _TILES * tile
                for at in range(0, row, vector):
                    columns(come + at, point, tile, at_line + at, row, 0, none)
            for at in range(0, line, vector):
                rows(between.ctypes.data + at, line, 0, board + at, line, 0, floor)

    return to_boards


_inputs, _outputs = _to_points(_b_rows, _b_columns), _to_boards(_a_rows, _a_columns)
_output_gradient, _input_gradient = _to_points(_a_rows_back, _a_columns_back), _to_boards(_b_rows_back, _b_columns_back)


@compiled
def _check(squares: int, channels: int, outputs: int, fit: bool) -> None:
    """Raise ValueError for a wrong shape: the kernels compute with addresses, without bounds checks."""
    if not fit or squares != SQUARES or channels % LANES or outputs % LANES:
        raise ValueError("the shapes of the arrays do not fit a 3×3 convolution of 9×9 boards")


@compiled
def _product(
    rows: int,
    columns: int,
    depth: int,
    a: int,
    a_row: int,
    a_step: int,
    b: int,
    c: int,
    size: int,
    add: bool,
    none: Any,
) -> None:
    """c = a·b, or c += a·b, for matrices at these addresses; the rows of b and c are contiguous."""
    row = columns * size
    for panel in range(0, row, LANES * size):
        rows_of_product(rows, a, a_row, a_step, b + panel, row, c + panel, row, depth, add, none)


@compiled
def convolve(x: _Array, kernels: _Array, biases: _Array, floor: float, y: _Array) -> None:
    """y (N, 81, O) from x (N, 81, C) and kernels (49, C, O); results below `floor` become `floor`.

    C and O are multiples of 16.
    """
    n, squares, channels = x.shape
    outputs = kernels.shape[2]
    fit = kernels.shape == (POINTS, channels, outputs) and y.shape == (n, squares, outputs)
    _check(squares, channels, outputs, fit)
    size, none = x.itemsize, x.dtype.type(-np.inf)
    inputs = np.empty(POINTS * _ROWS * channels, x.dtype)
    products = np.empty(POINTS * _ROWS * outputs, x.dtype)
    for first in range(0, n, _AT_ONCE):
        count = min(_AT_ONCE, n - first)
        rows = _TILES * _TILES * count
        _inputs(x, first, count, inputs)
        products[_ONE * rows * outputs : (_ONE + 1) * rows * outputs].reshape(rows, outputs)[:] = biases
        for point in range(POINTS):
            _product(
                rows,
                outputs,
                channels,
                inputs.ctypes.data + point * rows * channels * size,
                channels * size,
                size,
                kernels.ctypes.data + point * channels * outputs * size,
                products.ctypes.data + point * rows * outputs * size,
                size,
                point == _ONE,
                none,
            )
        _outputs(products, first, count, y, x.dtype.type(floor))


@compiled
def backward(d: _Array, x: _Array, kernels: _Array, d_x: _Array, d_kernels: _Array, d_biases: _Array) -> None:
    """Derivatives of `convolve`, given d with respect to y: fill d_x, and add to d_kernels (49, C, O) and d_biases.

    Here `kernels` are (49, O, C). If d_x has no boards, it is not computed.
    """
    n, squares, channels = x.shape
    outputs = d.shape[2]
    fit = kernels.shape == (POINTS, outputs, channels) and d_kernels.shape == (POINTS, channels, outputs)
    wanted = len(d_x) > 0
    fit = fit and d.shape == (n, squares, outputs) and (not wanted or d_x.shape == x.shape)
    _check(squares, channels, outputs, fit)
    size, none = x.itemsize, x.dtype.type(-np.inf)
    inputs = np.empty(POINTS * _ROWS * channels, x.dtype)
    products = np.empty(POINTS * _ROWS * outputs, x.dtype)
    for first in range(0, n, _AT_ONCE):
        count = min(_AT_ONCE, n - first)
        rows = _TILES * _TILES * count
        _inputs(x, first, count, inputs)
        _output_gradient(d, first, count, products)
        for constants in products[_ONE * rows * outputs : (_ONE + 1) * rows * outputs].reshape(rows, outputs):
            d_biases += constants
        for point in range(POINTS):
            input_matrix = inputs.ctypes.data + point * rows * channels * size
            product_matrix = products.ctypes.data + point * rows * outputs * size
            matrix = point * channels * outputs * size
            to = d_kernels.ctypes.data + matrix
            _product(channels, outputs, rows, input_matrix, size, channels * size, product_matrix, to, size, True, none)
            if wanted:  # overwrites `inputs`, which is no longer needed
                by = kernels.ctypes.data + matrix
                of_row = outputs * size
                _product(rows, channels, outputs, product_matrix, of_row, size, by, input_matrix, size, False, none)
        if wanted:
            _input_gradient(inputs, first, count, d_x, none)
