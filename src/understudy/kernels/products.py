"""Products of matrices of the size that small networks have: no slower than BLAS, and a ReLU costs nothing more."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.kernels import compiled
from understudy.kernels.vectors import LANES, MOST_ROWS, number_at, put_number, tile

_DEPTH = 128  # rows of b that are multiplied at a time, so that they stay in the nearest cache

_six, _four, _two, _one = (tile(rows) for rows in (MOST_ROWS, 4, 2, 1))


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
    if rows >= 4:
        _four(a, a_row, a_step, b, b_step, c, c_row, depth, add, floor)
        rows -= 4
        a += 4 * a_row
        c += 4 * c_row
    if rows >= 2:
        _two(a, a_row, a_step, b, b_step, c, c_row, depth, add, floor)
        rows -= 2
        a += 2 * a_row
        c += 2 * c_row
    if rows:
        _one(a, a_row, a_step, b, b_step, c, c_row, depth, add, floor)


@compiled
def _sums(
    rows: int,
    depth: int,
    a: int,
    a_row: int,
    a_step: int,
    b: int,
    b_row: int,
    copied_b: NDArray[Any],
    c: int,
    c_row: int,
    copied_c: NDArray[Any],
    panels: int,
    floor: Any,
) -> None:
    """c = max(a·b, floor), panel by panel of 16 columns; of copies, if there are any, instead of b and c."""
    vector = LANES * copied_b.itemsize
    b_panel, c_panel = vector, vector
    if len(copied_b):
        b, b_row, b_panel = copied_b.ctypes.data, vector, depth * vector
    if len(copied_c):
        c, c_row, c_panel = copied_c.ctypes.data, vector, rows * vector
    parts = max(1, round(depth / _DEPTH))
    for part in range(parts):
        first, end = depth * part // parts, depth * (part + 1) // parts
        least = floor if end == depth else copied_b.dtype.type(-np.inf)
        for panel in range(panels):
            rows_of_product(
                rows,
                a + first * a_step,
                a_row,
                a_step,
                b + panel * b_panel + first * b_row,
                b_row,
                c + panel * c_panel,
                c_row,
                end - first,
                part > 0,
                least,
            )


@compiled
def product(
    rows: int,
    depth: int,
    columns: int,
    a: int,
    a_row: int,
    a_step: int,
    b: int,
    b_row: int,
    b_step: int,
    c: int,
    c_row: int,
    c_step: int,
    floor: Any,
) -> None:
    """See `multiply`, for matrices given by the address of their first number and their strides in bytes."""
    kind = np.array([floor])
    panels = -(-columns // LANES)
    # Rows that do not lie side by side, or end within 16 columns, go by way of copies. Those are passed on as arrays:
    # one of which only the address is used any more would be freed.
    whole = columns == panels * LANES
    copied_b = np.zeros((0 if whole and b_step == kind.itemsize else panels, depth, LANES), kind.dtype)
    copied_c = np.empty((0 if whole and c_step == kind.itemsize else panels, rows, LANES), kind.dtype)
    if len(copied_b):
        for column in range(columns):
            panel, lane = divmod(column, LANES)
            for row in range(depth):
                copied_b[panel, row, lane] = number_at(b + row * b_row + column * b_step, floor)
    _sums(rows, depth, a, a_row, a_step, b, b_row, copied_b, c, c_row, copied_c, panels, floor)
    if len(copied_c):
        for column in range(columns):
            panel, lane = divmod(column, LANES)
            for row in range(rows):
                put_number(c + row * c_row + column * c_step, copied_c[panel, row, lane])


@compiled
def multiply(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any], floor: float) -> None:
    """c = max(a·b, floor), of matrices in any order."""
    rows, depth = a.shape
    if b.shape != (depth, c.shape[1]) or len(c) != rows:
        raise ValueError("the shapes of these matrices are not those of a product")
    product(
        rows,
        depth,
        c.shape[1],
        a.ctypes.data,
        a.strides[0],
        a.strides[1],
        b.ctypes.data,
        b.strides[0],
        b.strides[1],
        c.ctypes.data,
        c.strides[0],
        c.strides[1],
        a.dtype.type(floor),
    )
