"""Products of matrices of the size that small networks have: no slower than BLAS, and a ReLU costs nothing more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.compiled import compiled
from understudy.compiled.vectors import LANES, MOST_ROWS, tile

_DEPTH = 128  # rows of b that are multiplied at a time, so that they stay in the nearest cache

_six, _five, _four, _three, _two, _one = (tile(rows) for rows in range(MOST_ROWS, 0, -1))


@compiled
def rows_of_product(
    rows: int,
    a: int,
    a_row: int,
    a_step: int,
    b: int,
    b_step: int,
    c: int,
    c_row: int,
    depth: int,
    add: bool,
    floor: Any,
) -> None:
    """See vectors.tile, for any number of rows."""
    while rows >= MOST_ROWS:
        _six(a, a_row, a_step, b, b_step, c, c_row, depth, add, floor)
        rows -= MOST_ROWS
        a += MOST_ROWS * a_row
        c += MOST_ROWS * c_row
    if rows == 5:
        _five(a, a_row, a_step, b, b_step, c, c_row, depth, add, floor)
    elif rows == 4:
        _four(a, a_row, a_step, b, b_step, c, c_row, depth, add, floor)
    elif rows == 3:
        _three(a, a_row, a_step, b, b_step, c, c_row, depth, add, floor)
    elif rows == 2:
        _two(a, a_row, a_step, b, b_step, c, c_row, depth, add, floor)
    elif rows == 1:
        _one(a, a_row, a_step, b, b_step, c, c_row, depth, add, floor)


@compiled
def multiply(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], floor: float) -> None:
    """c = max(a·b, floor), of matrices in any order."""
    rows, depth = a.shape
    columns = c.shape[1]
    whole = -(-columns // LANES) * LANES
    of_b, b_step, of_c, c_row = b.ctypes.data, b.strides[0], c.ctypes.data, c.strides[0]
    # Rows that do not lie side by side, or end within 16 columns, go by way of copies.
    copied_b = np.zeros((depth if columns < whole or b.strides[1] != b.itemsize else 0, whole), a.dtype)
    copied_c = np.empty((rows if columns < whole or c.strides[1] != c.itemsize else 0, whole), a.dtype)
    if len(copied_b):
        copied_b[:, :columns] = b
        of_b, b_step = copied_b.ctypes.data, copied_b.strides[0]
    if len(copied_c):
        of_c, c_row = copied_c.ctypes.data, copied_c.strides[0]
    parts = max(1, round(depth / _DEPTH))
    for part in range(parts):
        first, end = depth * part // parts, depth * (part + 1) // parts
        least = a.dtype.type(floor if end == depth else -np.inf)
        for column in range(0, whole * a.itemsize, LANES * a.itemsize):
            rows_of_product(
                rows,
                a.ctypes.data + first * a.strides[1],
                a.strides[0],
                a.strides[1],
                of_b + first * b_step + column,
                b_step,
                of_c + column,
                c_row,
                end - first,
                part > 0,
                least,
            )
    if len(copied_c):
        for j in range(columns):
            for i in range(rows):
                c[i, j] = copied_c[i, j]
