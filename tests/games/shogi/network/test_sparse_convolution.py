from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from understudy.games.shogi.matches import BOARD, MOST_LEGAL, ShogiMatches
from understudy.games.shogi.network import sparse_convolution as boards
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
    """ReLU of the convolution, (N, 81, C)."""
    y = functional.conv2d(torch.from_numpy(planes).view(*planes.shape[:2], 9, 9), kernels, biases, padding=1).relu()
    return y.permute(0, 2, 3, 1).flatten(1, 2)


def weights(rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    kernels, biases = (torch.from_numpy(rng.normal(size=shape)) for shape in ((C, P, 3, 3), (C,)))
    return kernels.requires_grad_(), biases.requires_grad_()


def test_a_convolution_is_that_of_the_planes(rng: np.random.Generator) -> None:
    planes, (kernels, biases) = mostly_constant(rng), weights(rng)
    y, totals = boards.convolve(planes, kernels, biases)
    np.testing.assert_allclose(totals, planes.sum(axis=2), atol=1e-12)
    torch.testing.assert_close(y, plain(planes, kernels, biases))


def test_derivatives_are_those_of_the_convolution(rng: np.random.Generator) -> None:
    planes, leaves = mostly_constant(rng), weights(rng)
    d = torch.from_numpy(rng.normal(size=(N, 81, C)))
    expected = torch.autograd.grad(plain(planes, *leaves), leaves, d)
    y, _ = boards.convolve(planes, *leaves)
    for ours, theirs in zip(boards.backward(d, y, planes), expected, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("constant", [0.0, 0.5])
def test_planes_on_which_nothing_differs(constant: float, rng: np.random.Generator) -> None:
    planes, (kernels, biases) = np.full((N, P, 81), constant), weights(rng)
    torch.testing.assert_close(boards.convolve(planes, kernels, biases)[0], plain(planes, kernels, biases))


@pytest.mark.parametrize("n", [0, 2])
def test_planes_with_much_on_them(n: int, rng: np.random.Generator) -> None:
    planes, (kernels, biases) = rng.random((n, P, 81)), weights(rng)
    y, totals = boards.convolve(planes, kernels, biases)
    torch.testing.assert_close(y, plain(planes, kernels, biases))
    np.testing.assert_allclose(totals, planes.sum(axis=2))


def test_what_is_not_a_number_is_not_swallowed(rng: np.random.Generator) -> None:
    planes, (kernels, biases) = mostly_constant(rng), weights(rng)
    planes[0, 0, 40] = np.nan
    y, totals = boards.convolve(planes, kernels, biases)
    assert y[0].isnan().any()
    assert totals[0, 0].isnan()
    assert not y[1:].isnan().any()


def test_boards_of_another_size_are_refused(rng: np.random.Generator) -> None:
    kernels, biases = weights(rng)
    with pytest.raises(ValueError, match="shapes"):
        boards.convolve(np.zeros((N, P, 80)), kernels, biases)


def test_positions_of_shogi(rng: np.random.Generator) -> None:
    matches = ShogiMatches(4)
    matches.reset(np.random.SeedSequence(1))
    states, legal = np.zeros((4, matches.state_dim), np.float32), np.zeros((4, MOST_LEGAL), np.bool_)
    for _ in range(150):
        matches.legal(legal)
        matches.step(rng.integers(legal.sum(axis=1)))
    matches.observe(states)
    planes = states[:, :BOARD].reshape(4, -1, 81)
    kernels, biases = (torch.from_numpy(rng.normal(size=shape)).float() for shape in ((C, planes.shape[1], 3, 3), (C,)))
    y, totals = boards.convolve(planes, kernels, biases)
    torch.testing.assert_close(y, plain(planes, kernels, biases), atol=1e-4, rtol=1e-4)
    np.testing.assert_allclose(totals, planes.sum(axis=2), rtol=1e-5)
