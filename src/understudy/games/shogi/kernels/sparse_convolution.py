"""3×3 convolutions of planes that mostly are one number everywhere, and few squares that differ: they cost little.

A convolution of a constant depends on a square's being at an edge or not: nine cases. Every square that differs adds a
row of the kernels to each of its neighbours. With much on the planes the results are the same, and take longer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.games.shogi.kernels.winograd import SIDE, SQUARES
from understudy.kernels import compiled

_Array = NDArray[Any]

TAPS = 9
_PROBES = (20, 40, 60)  # squares; what two of them agree on is a plane's constant
_PADDED = SIDE + 2  # with a border, so that every square has nine neighbours
_PLACES = (np.arange(1, SIDE + 1)[:, None] * _PADDED + np.arange(1, SIDE + 1)).reshape(-1)  # of squares among those
_NEIGHBOURS = (-_PADDED - 1, -1, _PADDED - 1)  # the first of three in a row, from a square
_CASE = np.repeat([0, 1, 2], [1, SIDE - 2, 1])  # first, inner or last
_CASES = (3 * _CASE[:, None] + _CASE).reshape(-1)  # of squares
_REACHED = np.array([[1, 1, 0], [1, 1, 1], [0, 1, 1]])  # (3, 3): from which side a square is reached, in each case
SIDES_OF_CASES = np.kron(_REACHED, _REACHED)  # (9, 9)


@compiled
def _constant(plane: _Array) -> Any:
    one, two, three = plane[_PROBES[0]], plane[_PROBES[1]], plane[_PROBES[2]]
    return max(min(one, two), min(max(one, two), three))


@compiled
def _add(sums: _Array, to: int, factor: Any, numbers: _Array, start: int, count: int) -> None:
    """sums += factor·numbers, along so many of both."""
    target, source = sums[to : to + count], numbers[start : start + count]
    for i in range(count):
        target[i] += factor * source[i]


@compiled
def convolve(planes: _Array, ways: _Array, cases: _Array, biases: _Array, y: _Array, totals: _Array) -> None:
    """ReLU of the convolution, y (N, 81, C), of planes (N, P, 81), and the sum of each plane.

    `ways` (P, 9, C) are the kernels by where they lead: what a square adds to its neighbours above, beside and below
    it, each from left to right. `cases` (P, 9, C) are the sums of those by which a square is reached in each case.
    """
    n_boards, n_planes, squares = planes.shape
    channels = len(biases)
    if squares != SQUARES or ways.shape != (n_planes, TAPS, channels) or y.shape != (n_boards, SQUARES, channels):
        raise ValueError("the shapes of these arrays are not those of a convolution")
    line, all_ways = 3 * channels, TAPS * channels
    flat_ways, flat_cases = ways.reshape(-1), cases.reshape(-1)
    field, constants = np.empty(_PADDED**2 * channels, y.dtype), np.empty(all_ways, y.dtype)
    for n in range(n_boards):
        for case in range(0, all_ways, channels):
            constants[case : case + channels] = biases
        for p in range(n_planes):
            constant = _constant(planes[n, p])
            totals[n, p] = SQUARES * constant
            if constant != 0:
                _add(constants, 0, constant, flat_cases, p * all_ways, all_ways)
        for square in range(SQUARES):
            place, case = _PLACES[square] * channels, _CASES[square] * channels
            field[place : place + channels] = constants[case : case + channels]
        for p in range(n_planes):
            plane = planes[n, p]
            constant = _constant(plane)
            for square in range(SQUARES):
                if plane[square] != constant:
                    number = plane[square] - constant
                    totals[n, p] += number
                    for i in range(3):
                        place = (_PLACES[square] + _NEIGHBOURS[i]) * channels
                        _add(field, place, number, flat_ways, p * all_ways + i * line, line)
        for square in range(SQUARES):
            place = _PLACES[square] * channels
            row, result = field[place : place + channels], y[n, square]
            for c in range(channels):
                result[c] = max(row[c], y.dtype.type(0))


@compiled
def backward(d: _Array, y: _Array, planes: _Array, d_ways: _Array, d_cases: _Array, d_biases: _Array) -> None:
    """From the derivative by y to those by ways, cases and biases, which are added to."""
    n_boards, n_planes, squares = planes.shape
    channels = len(d_biases)
    if squares != SQUARES or d_ways.shape != (n_planes, TAPS, channels) or d.shape != (n_boards, SQUARES, channels):
        raise ValueError("the shapes of these arrays are not those of a convolution")
    line, all_ways = 3 * channels, TAPS * channels
    flat_ways, flat_cases = d_ways.reshape(-1), d_cases.reshape(-1)
    field, constants = np.zeros(_PADDED**2 * channels, y.dtype), np.empty(all_ways, y.dtype)
    one, zero = y.dtype.type(1), y.dtype.type(0)
    for n in range(n_boards):
        constants[:] = 0
        for square in range(SQUARES):
            place = _PLACES[square] * channels
            row, result, d_result = field[place : place + channels], y[n, square], d[n, square]
            for c in range(channels):
                row[c] = d_result[c] if result[c] > 0 else zero
            _add(constants, _CASES[square] * channels, one, field, place, channels)
        for case in range(0, all_ways, channels):
            _add(d_biases, 0, one, constants, case, channels)
        for p in range(n_planes):
            plane = planes[n, p]
            constant = _constant(plane)
            if constant != 0:
                _add(flat_cases, p * all_ways, constant, constants, 0, all_ways)
            for square in range(SQUARES):
                if plane[square] != constant:
                    for i in range(3):
                        place = (_PLACES[square] + _NEIGHBOURS[i]) * channels
                        _add(flat_ways, p * all_ways + i * line, plane[square] - constant, field, place, line)
