"""3×3 convolutions of 9×9 boards with 196 multiplications a pair of channels, not 729, and their derivatives.

After Winograd (1980) and Lavin and Gray (2016): along each axis, two tiles of five squares are made from seven products
each, y = A (G w · B x); the tenth square is none. A few boards at a time go all the way: they stay in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.kernels import compiled
from understudy.kernels.products import rows_of_product
from understudy.kernels.vectors import LANES, linear_map

_Array = NDArray[Any]

SIDE, SQUARES = 9, 81
_TILES, _SQUARES = 2, 5  # along an axis; of a tile
_POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5)  # where polynomials are multiplied, besides infinity; these lose few digits
_POINT = len(_POINTS) + 1  # how many there are
_ONE = _POINTS.index(1.0) * (_POINT + 1)  # a number that is added there is added to every square of the tile
POINTS = _POINT**2
_AT_ONCE = 9  # boards: 36 tiles, which are whole sixes of rows, and all of it stays in a core's own cache
_ROWS = _AT_ONCE * _TILES**2


def _matrices() -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """A (9, 14), B (14, 9) and, of one tile, G (7, 3)."""
    points = np.array(_POINTS)
    a, b, g = np.zeros((_SQUARES, _POINT)), np.zeros((_POINT, _POINT)), np.zeros((_POINT, 3))
    for i, point in enumerate(points):
        others = np.delete(points, i)
        a[:, i] = point ** np.arange(_SQUARES)
        b[i, :-1] = np.poly(others)[::-1]
        g[i] = point ** np.arange(3) / np.prod(point - others)
    a[-1, -1], b[-1], g[-1, -1] = 1, np.poly(points)[::-1], 1
    whole_a = np.zeros((_TILES * _SQUARES, _TILES * _POINT))
    whole_b = np.zeros((_TILES * _POINT, 1 + _TILES * _SQUARES + 1))  # beyond the edge there are zeros
    for tile in range(_TILES):
        first, points_of = tile * _SQUARES, slice(tile * _POINT, (tile + 1) * _POINT)
        whole_a[first : first + _SQUARES, points_of], whole_b[points_of, first : first + _POINT] = a, b
    return whole_a[:SIDE], whole_b[:, 1 : 1 + SIDE], g


_A, _B, G = _matrices()
# Along the columns of a board, whose tiles lie apart, and along its rows.
_b_rows, _b_columns = linear_map(_B), linear_map(_B, y_parts=_TILES)
_a_rows, _a_columns = linear_map(_A), linear_map(_A, x_parts=_TILES)
_b_rows_back, _b_columns_back = linear_map(_B.T), linear_map(_B.T, x_parts=_TILES)
_a_rows_back, _a_columns_back = linear_map(_A.T), linear_map(_A.T, y_parts=_TILES)


def _to_points(rows: Any, columns: Any) -> Any:
    """A kernel that takes boards (N, 81, C) from `first` on to points (49, 4·count, C)."""

    @compiled
    def to_points(boards: _Array, first: int, count: int, points: _Array) -> None:
        channels = boards.shape[2]
        size = boards.itemsize
        none = boards.dtype.type(-np.inf)
        between = np.empty((_TILES * _POINT, SIDE, channels), boards.dtype)
        line, row, vector = between.strides[0], between.strides[1], LANES * size
        tile = count * row  # to the same boards in the next tile
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
    """The way back: a kernel that makes boards of points, no number less than `floor`."""

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


_seen, _told = _to_points(_b_rows, _b_columns), _to_boards(_a_rows, _a_columns)
_told_back, _seen_back = _to_points(_a_rows_back, _a_columns_back), _to_boards(_b_rows_back, _b_columns_back)


@compiled
def _check(squares: int, channels: int, outputs: int, fit: bool) -> None:
    """What follows computes with addresses: a wrong shape would be memory of somebody else's."""
    if not fit or squares != SQUARES or channels % LANES or outputs % LANES:
        raise ValueError("the shapes of these arrays are not those of a convolution")


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
    """c = a·b, or c += a·b, of matrices at these addresses; b and c have no gaps between their rows."""
    row = columns * size
    for panel in range(0, row, LANES * size):
        rows_of_product(rows, a, a_row, a_step, b + panel, row, c + panel, row, depth, add, none)


@compiled
def convolve(x: _Array, kernels: _Array, biases: _Array, floor: float, y: _Array) -> None:
    """y (N, 81, O) of x (N, 81, C) and kernels (49, C, O), no number less than `floor`. Channels come in 16s."""
    n, squares, channels = x.shape
    outputs = kernels.shape[2]
    fit = kernels.shape == (POINTS, channels, outputs) and y.shape == (n, squares, outputs)
    _check(squares, channels, outputs, fit)
    size, none = x.itemsize, x.dtype.type(-np.inf)
    seen = np.empty(POINTS * _ROWS * channels, x.dtype)
    products = np.empty(POINTS * _ROWS * outputs, x.dtype)
    for first in range(0, n, _AT_ONCE):
        count = min(_AT_ONCE, n - first)
        rows = _TILES * _TILES * count
        _seen(x, first, count, seen)
        products[_ONE * rows * outputs : (_ONE + 1) * rows * outputs].reshape(rows, outputs)[:] = biases
        for point in range(POINTS):
            _product(
                rows,
                outputs,
                channels,
                seen.ctypes.data + point * rows * channels * size,
                channels * size,
                size,
                kernels.ctypes.data + point * channels * outputs * size,
                products.ctypes.data + point * rows * outputs * size,
                size,
                point == _ONE,
                none,
            )
        _told(products, first, count, y, x.dtype.type(floor))


@compiled
def backward(
    d: _Array, x: _Array, kernels: _Array, through_relu: bool, d_x: _Array, d_kernels: _Array, d_biases: _Array
) -> None:
    """From the derivative by y to that by x, and to those by kernels (49, C, O) and biases, which are added to.

    `kernels` are (49, O, C) here. With `through_relu`, x came out of a ReLU, and what is sought is the derivative by
    what went into it.
    """
    n, squares, channels = x.shape
    outputs = d.shape[2]
    fit = kernels.shape == (POINTS, outputs, channels) and d_kernels.shape == (POINTS, channels, outputs)
    _check(squares, channels, outputs, fit and d_x.shape == x.shape and d.shape == (n, squares, outputs))
    size, none = x.itemsize, x.dtype.type(-np.inf)
    seen = np.empty(POINTS * _ROWS * channels, x.dtype)
    products = np.empty(POINTS * _ROWS * outputs, x.dtype)
    for first in range(0, n, _AT_ONCE):
        count = min(_AT_ONCE, n - first)
        rows = _TILES * _TILES * count
        _seen(x, first, count, seen)
        _told_back(d, first, count, products)
        for constants in products[_ONE * rows * outputs : (_ONE + 1) * rows * outputs].reshape(rows, outputs):
            d_biases += constants
        for point in range(POINTS):
            of_seen = seen.ctypes.data + point * rows * channels * size
            of_products = products.ctypes.data + point * rows * outputs * size
            matrix = point * channels * outputs * size
            to = d_kernels.ctypes.data + matrix
            _product(channels, outputs, rows, of_seen, size, channels * size, of_products, to, size, True, none)
            by = kernels.ctypes.data + matrix
            # What was seen is not needed any more.
            _product(rows, channels, outputs, of_products, outputs * size, size, by, of_seen, size, False, none)
        _seen_back(seen, first, count, d_x, none)
        if through_relu:
            inputs, d_inputs = x[first : first + count].reshape(-1), d_x[first : first + count].reshape(-1)
            for i in range(len(inputs)):
                d_inputs[i] = d_inputs[i] if inputs[i] > 0 else x.dtype.type(0)
