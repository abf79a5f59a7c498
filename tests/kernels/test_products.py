from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from understudy.kernels.products import multiply

DEEP = 300  # more than is multiplied at a time
SHAPES = [(1, 1, 1), (6, 4, 16), (7, 5, 37), (23, 129, 64), (51, DEEP, 48), (13, DEEP, 9)]


def laid_out(matrix: NDArray[Any], order: str) -> NDArray[Any]:
    """The same numbers by rows, by columns, or as a part of something wider."""
    if order == "part":
        wider = np.full((matrix.shape[0], matrix.shape[1] + 3), np.nan, matrix.dtype)
        wider[:, 1:-2] = matrix
        return wider[:, 1:-2]
    return np.require(matrix, requirements="C" if order == "rows" else "F")


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "depth", "columns"), SHAPES)
@pytest.mark.parametrize("orders", ["rows rows rows", "columns rows part", "rows columns columns", "part part rows"])
def test_products_are_those_of_numpy(
    rows: int, depth: int, columns: int, orders: str, dtype: type[np.floating[Any]]
) -> None:
    rng = np.random.default_rng(rows)
    of_a, of_b, of_c = orders.split()
    a = laid_out(rng.normal(size=(rows, depth)).astype(dtype), of_a)
    b = laid_out(rng.normal(size=(depth, columns)).astype(dtype), of_b)
    c = laid_out(np.full((rows, columns), np.nan, dtype), of_c)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    bound = depth * np.finfo(dtype).eps * (np.abs(a) @ np.abs(b))  # of rounding, whatever the order of the sums
    multiply(a, b, c, -math.inf)
    assert (np.abs(c - expected) <= bound).all()
    multiply(a, b, c, 0.5)
    assert (np.abs(c - np.maximum(expected, 0.5)) <= bound).all()


def test_nothing_beside_the_result_is_written() -> None:
    around = np.full((8, 40), 7, np.float32)
    multiply(np.ones((6, 3), np.float32), np.ones((3, 20), np.float32), around[1:7, 4:24], -math.inf)
    assert (around[1:7, 4:24] == 3).all()
    around[1:7, 4:24] = 7
    assert (around == 7).all()


def test_no_rows_are_a_product_too() -> None:
    result = np.zeros((0, 16), np.float32)
    multiply(np.zeros((0, 3), np.float32), np.zeros((3, 16), np.float32), result, 0.0)
    assert result.shape == (0, 16)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_a_number_is_not_swallowed(bad: float) -> None:
    a, b = np.zeros((7, 5), np.float32), np.zeros((5, 16), np.float32)
    a[2, 3] = bad
    c = np.zeros((7, 16), np.float32)
    multiply(a, b, c, 0.0)
    assert np.isnan(c[2]).all()
    assert not np.isnan(np.delete(c, 2, axis=0)).any()


@pytest.mark.parametrize(
    ("a", "b", "c"), [((2, 3), (4, 16), (2, 16)), ((2, 3), (3, 16), (3, 16)), ((2, 3), (3, 8), (2, 16))]
)
def test_shapes_that_do_not_fit_are_refused(a: tuple[int, int], b: tuple[int, int], c: tuple[int, int]) -> None:
    matrices = [np.zeros(shape, np.float32) for shape in (a, b, c)]
    with pytest.raises(ValueError, match="shapes"):
        multiply(matrices[0], matrices[1], matrices[2], 0.0)
