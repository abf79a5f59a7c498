"""Planes as what they mostly are: one number everywhere, and few squares that differ. Their convolution costs little.

A convolution of a constant depends on a square's being at an edge or not: nine cases. Every square that differs adds a
row of the kernels to each of its neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from understudy.networks.network import Floats
from understudy.networks.tower import SIDE, SQUARES

_FEW = 0.025  # of all numbers may differ (in shogi 0.01 do); with more, an ordinary convolution is as fast
_PROBES = (20, 40, 60)  # squares; what two of them agree on is a plane's constant
_TAPS = 9
_PADDED = SIDE + 2  # with a border, so that every square has nine neighbours
_PLACES = (np.arange(1, SIDE + 1)[:, None] * _PADDED + np.arange(1, SIDE + 1)).reshape(-1)  # of squares among those
_STEPS = (np.arange(-1, 2)[:, None] * _PADDED + np.arange(-1, 2)).reshape(-1)  # to the squares that the taps see
_CASES = np.repeat(np.eye(3), [1, SIDE - 2, 1], axis=0)  # (9, 3): first, inner or last
_SEEN = np.array([[0, 1, 1], [1, 1, 1], [1, 1, 0]])  # (3, 3): which taps see the board in each case
_CASES_OF_SQUARES, _TAPS_OF_CASES = np.kron(_CASES, _CASES), np.kron(_SEEN, _SEEN)  # (81, 9) and (9, 9)


class Boards(NamedTuple):
    """N boards of P planes, and M ways on which numbers that differ go: nine for each, through the taps of a kernel.

    Squares are counted with the borders of the boards, in the order (121, N) or (N, 121).
    """

    constants: Tensor  # (N, P)
    totals: Tensor  # (N, P) sums of all squares
    squares: NDArray[np.int64]  # (M,) to which a way leads
    taps: NDArray[np.int64]  # (M,) the row of the kernels, of 9·P, in rising order
    weights: Floats  # (M,) the number, less the constant of its plane
    squares_first: bool


def read(planes: Floats, squares_first: bool) -> Boards | None:
    """Planes (N, P, 81), for squares in the order (81, N) or (N, 81); None if too many of the numbers differ."""
    n, p, _ = planes.shape
    one, two, three = (planes[:, :, probe] for probe in _PROBES)
    constants = np.maximum(np.minimum(one, two), np.minimum(np.maximum(one, two), three))
    differs = planes != constants[:, :, None]
    if np.count_nonzero(differs) >= _FEW * planes.size:
        return None
    plane, place = np.divmod(np.flatnonzero(differs.transpose(1, 0, 2)), n * SQUARES)
    board, square = np.divmod(place, SQUARES)
    values = planes[board, plane, square] - constants[board, plane]
    totals = np.bincount(board * p + plane, values, n * p).reshape(n, p) + SQUARES * constants
    first, step = (board, n) if squares_first else (board * _PADDED**2, 1)
    return Boards(
        constants=torch.from_numpy(constants),
        totals=torch.from_numpy(totals.astype(planes.dtype)),
        squares=(first + _PLACES[square] * step - _STEPS[:, None] * step).reshape(-1),
        taps=(np.arange(_TAPS)[:, None] * p + plane).reshape(-1),
        weights=np.tile(values, _TAPS),
        squares_first=squares_first,
    )


def convolve(boards: Boards, kernels: Tensor, biases: Tensor) -> Tensor:
    """A 3×3 convolution with `kernels` (C, P, 3, 3): (81, N, C) or (N, 81, C)."""
    (n, p), c = boards.constants.shape, len(biases)
    taps = kernels.permute(2, 3, 1, 0).reshape(_TAPS, p * c)
    cases = (_like(_TAPS_OF_CASES, kernels) @ taps).view(_TAPS, p, c)
    constant = torch.matmul(boards.constants, cases).add_(biases)  # (9, N, C)
    squares = _like(_CASES_OF_SQUARES, kernels)
    rows = n * _PADDED**2
    # NumPy sorts numbers of 16 bits without comparing them.
    order = np.argsort(boards.squares.astype(np.uint16) if rows <= 1 << 16 else boards.squares, kind="stable")
    differing = _sums(taps.view(-1, c), boards.taps[order], boards.weights[order], boards.squares, rows)
    if boards.squares_first:
        y = (squares @ constant.view(_TAPS, -1)).view(SIDE, SIDE, n, c)
        return y.add_(differing.view(_PADDED, _PADDED, n, c)[1:-1, 1:-1]).view(SQUARES, n, c)
    y = torch.matmul(squares, constant.transpose(0, 1)).view(n, SIDE, SIDE, c)
    return y.add_(differing.view(n, _PADDED, _PADDED, c)[:, 1:-1, 1:-1]).view(n, SQUARES, c)


def backward(boards: Boards, d: Tensor) -> tuple[Tensor, Tensor]:
    """From the derivative by the result of `convolve`, squares first, to those by kernels and biases."""
    (n, p), c = boards.constants.shape, d.shape[2]
    d_constant = (_like(_CASES_OF_SQUARES, d).t() @ d.view(SQUARES, -1)).view(_TAPS, n, c)
    d_cases = torch.matmul(boards.constants.t(), d_constant)
    padded = d.new_zeros(_PADDED, _PADDED, n, c)
    padded[1:-1, 1:-1] = d.view(SIDE, SIDE, n, c)
    d_taps = _sums(padded.view(-1, c), boards.squares, boards.weights, boards.taps, _TAPS * p)
    d_taps.view(_TAPS, -1).add_(_like(_TAPS_OF_CASES, d).t() @ d_cases.view(_TAPS, -1))
    return d_taps.view(3, 3, p, c).permute(3, 2, 0, 1), d_constant.sum(dim=(0, 1))


def _sums(matrix: Tensor, rows: NDArray[np.int64], weights: Floats, sums: NDArray[np.int64], count: int) -> Tensor:
    """Weighted sums of a matrix's rows, so many; `rows` and `weights` lie in the order of the sums they belong to."""
    starts = np.zeros(count, np.int64)
    np.cumsum(np.bincount(sums, minlength=count)[:-1], out=starts[1:])
    rows_, starts_, weights_ = (torch.from_numpy(array) for array in (rows, starts, weights))
    return functional.embedding_bag(rows_, matrix, starts_, mode="sum", per_sample_weights=weights_)


def _like(matrix: NDArray[np.generic], tensor: Tensor) -> Tensor:
    return torch.from_numpy(matrix).to(tensor.dtype)
