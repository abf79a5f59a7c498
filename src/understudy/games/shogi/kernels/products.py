"""Products of small matrices, given by the addresses of their first elements."""

from __future__ import annotations

from typing import Any

from understudy.games.shogi.kernels import compiled
from understudy.games.shogi.kernels.vectors import MOST_ROWS, tile

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
