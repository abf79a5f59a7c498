from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from understudy.games.shogi.matches import BOARD, MOST_LEGAL, ShogiMatches
from understudy.networks import boards
from understudy.networks.network import Floats

N, P, C = 8, 12, 3


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(8)


def mostly_constant(rng: np.random.Generator) -> Floats:
    """Planes (8, 12, 81) with edges, several numbers on a square, and one on which two of the probed squares differ."""
    planes = np.repeat(rng.normal(size=(N, P, 1)) * (rng.random((N, P, 1)) < 0.5), 81, axis=2)
    for square in (0, 8, 20, 44, 72, 80):
        planes[rng.random((N, P)) < 0.1, square] = rng.normal()
    planes[0, :3, 30] = 1, 2, 3
    planes[1, 1, [40, 60]] = 7
    return planes


def plain(planes: Floats, kernels: Tensor, biases: Tensor) -> Tensor:
    """(N, 81, C)"""
    y = functional.conv2d(torch.from_numpy(planes).view(*planes.shape[:2], 9, 9), kernels, biases, padding=1)
    return y.permute(0, 2, 3, 1).flatten(1, 2)


def weights(rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    kernels, biases = (torch.from_numpy(rng.normal(size=shape)) for shape in ((C, P, 3, 3), (C,)))
    return kernels.requires_grad_(), biases.requires_grad_()


@pytest.mark.parametrize("squares_first", [True, False])
def test_a_convolution_is_that_of_the_planes(squares_first: bool, rng: np.random.Generator) -> None:
    planes, (kernels, biases) = mostly_constant(rng), weights(rng)
    made = boards.read(planes, squares_first)
    assert made is not None
    np.testing.assert_allclose(made.totals, planes.sum(axis=2), atol=1e-12)
    with torch.no_grad():
        y = boards.convolve(made, kernels, biases)
    expected = plain(planes, kernels, biases)
    torch.testing.assert_close(y, expected.transpose(0, 1) if squares_first else expected)


def test_derivatives_are_those_of_the_convolution(rng: np.random.Generator) -> None:
    planes, leaves = mostly_constant(rng), weights(rng)
    d = torch.from_numpy(rng.normal(size=(81, N, C)))
    made = boards.read(planes, True)
    assert made is not None
    expected = torch.autograd.grad(plain(planes, *leaves), leaves, d.transpose(0, 1))
    for ours, theirs in zip(boards.backward(made, d), expected, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("constant", [0.0, 0.5])
def test_planes_on_which_nothing_differs(constant: float, rng: np.random.Generator) -> None:
    planes, (kernels, biases) = np.full((N, P, 81), constant), weights(rng)
    made = boards.read(planes, False)
    assert made is not None
    with torch.no_grad():
        torch.testing.assert_close(boards.convolve(made, kernels, biases), plain(planes, kernels, biases))


def test_many_boards_at_once(rng: np.random.Generator) -> None:
    planes, (kernels, biases) = np.zeros((600, P, 81)), weights(rng)  # more squares than 16 bits can count
    planes[rng.random(planes.shape) < 0.01] = 1
    made = boards.read(planes, False)
    assert made is not None
    with torch.no_grad():
        torch.testing.assert_close(boards.convolve(made, kernels, biases), plain(planes, kernels, biases))


@pytest.mark.parametrize("n", [0, 2])
def test_planes_with_too_much_on_them_are_not_read(n: int, rng: np.random.Generator) -> None:
    assert boards.read(rng.random((n, P, 81)), True) is None


def test_positions_of_shogi_are_read(rng: np.random.Generator) -> None:
    matches = ShogiMatches(4)
    matches.reset(np.random.SeedSequence(1))
    states, legal = np.zeros((4, matches.state_dim), np.float32), np.zeros((4, MOST_LEGAL), np.bool_)
    for _ in range(150):
        matches.legal(legal)
        matches.step(rng.integers(legal.sum(axis=1)))
    matches.observe(states)
    made = boards.read(states[:, :BOARD].reshape(4, -1, 81), True)
    assert made is not None
    np.testing.assert_allclose(made.totals, states[:, :BOARD].reshape(4, -1, 81).sum(axis=2), rtol=1e-6)
