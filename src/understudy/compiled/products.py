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
    panels = -(-columns // LANES)
    vector = LANES * a.itemsize
    of_b, b_step, b_panel = b.ctypes.data, b.strides[0], vector
    of_c, c_row, c_panel = c.ctypes.data, c.strides[0], vector
    # Rows that do not lie side by side, or end within 16 columns, go by way of copies.
    whole = columns == panels * LANES
    copied_b = np.empty((0 if whole and b.strides[1] == b.itemsize else panels, depth, LANES), a.dtype)
    copied_c = np.empty((0 if whole and c.strides[1] == c.itemsize else panels, rows, LANES), a.dtype)
    if len(copied_b):
        _copy_panels(b, copied_b)
        of_b, b_step, b_panel = copied_b.ctypes.data, vector, depth * vector
    if len(copied_c):
        of_c, c_row, c_panel = copied_c.ctypes.data, vector, rows * vector
    parts = max(1, round(depth / _DEPTH))
    for part in range(parts):
        first, end = depth * part // parts, depth * (part + 1) // parts
        least = a.dtype.type(floor if end == depth else -np.inf)
        for panel in range(panels):
            rows_of_product(
                rows,
                a.ctypes.data + first * a.strides[1],
                a.strides[0],
                a.strides[1],
                of_b + panel * b_panel + first * b_step,
                b_step,
                of_c + panel * c_panel,
                c_row,
                end - first,
                part > 0,
                least,
            )
    if len(copied_c):
        for column in range(columns):
            panel, lane = divmod(column, LANES)
            for row in range(rows):
                c[row, column] = copied_c[panel, row, lane]


@compiled
def _copy_panels(matrix: NDArray[Any], panels: NDArray[Any]) -> None:
    """A matrix in panels of 16 columns, each by rows; zeros beyond its last column."""
    rows, columns = matrix.shape
    for panel in range(len(panels)):
        for lane in range(LANES):
            column = panel * LANES + lane
            if column < columns:
                for row in range(rows):
                    panels[panel, row, lane] = matrix[row, column]
            else:
                panels[panel, :, lane] = 0
