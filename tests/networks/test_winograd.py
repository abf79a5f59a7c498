from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from understudy.networks import winograd


def squares_first(planes: Tensor) -> Tensor:
    return planes.permute(2, 3, 0, 1).flatten(0, 1).contiguous()


def tensors(dtype: torch.dtype, n: int, channels: int, outputs: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Boards, kernels, biases and a derivative by the result."""
    generator = torch.Generator().manual_seed(5)
    shapes = (n, channels, 9, 9), (outputs, channels, 3, 3), (outputs,), (n, outputs, 9, 9)
    x, kernels, biases, d = (torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes)
    return x, kernels, biases, d


@pytest.mark.parametrize(("n", "channels", "outputs"), [(1, 1, 1), (3, 4, 4), (5, 2, 7)])
def test_results_and_derivatives_are_those_of_a_plain_convolution(n: int, channels: int, outputs: int) -> None:
    x, kernels, biases, d = tensors(torch.float64, n, channels, outputs)
    leaves = [tensor.requires_grad_() for tensor in (x, kernels, biases)]
    expected = functional.conv2d(x, kernels, biases, padding=1)
    d_x, d_kernels, d_biases = torch.autograd.grad(expected, leaves, d)

    with torch.no_grad():
        spread = winograd.spread(kernels)
        y, seen = winograd.convolve(squares_first(x), spread, biases)
        found = winograd.backward(squares_first(d), seen, spread)

    torch.testing.assert_close(y, squares_first(expected))
    for ours, theirs in zip(found, (squares_first(d_x), d_kernels, d_biases), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_few_digits_are_lost_in_single_precision() -> None:
    x, kernels, biases, d = tensors(torch.float64, 8, 32, 32)
    spread = winograd.spread(kernels.float())
    y, seen = winograd.convolve(squares_first(x.float()), spread, biases.float())
    d_x, d_kernels, _ = winograd.backward(squares_first(d.float()), seen, spread)
    one, none = [1, 1], [0, 0]
    by_x, by_kernels, _ = torch.ops.aten.convolution_backward(
        d, x, kernels, [32], one, one, one, False, none, 1, (True, True, True)
    )
    plain = functional.conv2d(x, kernels, biases, padding=1)
    for ours, exact in ((y, squares_first(plain)), (d_x, squares_first(by_x)), (d_kernels, by_kernels)):
        assert (ours - exact).std() < 3e-6 * exact.std()


def test_smaller_boards_after_larger_ones_find_nothing_of_them() -> None:
    for n in (6, 2):
        x, kernels, biases, _ = tensors(torch.float64, n, 3, 3)
        y, _ = winograd.convolve(squares_first(x), winograd.spread(kernels), biases)
        torch.testing.assert_close(y, squares_first(functional.conv2d(x, kernels, biases, padding=1)))
