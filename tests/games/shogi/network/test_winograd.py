from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from understudy.games.shogi.network import winograd


def channels_last(planes: Tensor) -> Tensor:
    """(N, C, 9, 9) as (N, 81, C)."""
    return planes.permute(0, 2, 3, 1).flatten(1, 2).contiguous()


def tensors(dtype: torch.dtype, n: int, channels: int, outputs: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Boards, kernels, biases and a derivative by the result."""
    generator = torch.Generator().manual_seed(5)
    shapes = (n, channels, 9, 9), (outputs, channels, 3, 3), (outputs,), (n, outputs, 9, 9)
    x, kernels, biases, d = (torch.randn(shape, generator=generator, dtype=dtype) for shape in shapes)
    return x, kernels, biases, d


@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize(("n", "channels", "outputs"), [(1, 1, 1), (3, 16, 16), (5, 2, 17), (20, 32, 16)])
def test_results_and_derivatives_are_those_of_a_plain_convolution(
    n: int, channels: int, outputs: int, relu: bool
) -> None:
    """With `relu`, one before the convolution and one after it."""
    x, kernels, biases, d = tensors(torch.float64, n, channels, outputs)
    leaves = [tensor.requires_grad_() for tensor in (x, kernels, biases)]
    y = functional.conv2d(functional.relu(x) if relu else x, kernels, biases, padding=1)
    d_x, d_kernels, d_biases = torch.autograd.grad(y, leaves, d)

    spread = winograd.spread(kernels.detach())
    seen = channels_last(x.detach())
    seen = seen.relu() if relu else seen
    found = winograd.backward(channels_last(d), seen, spread, through_relu=relu)

    torch.testing.assert_close(
        winograd.convolve(seen, spread, biases, relu=relu), channels_last(functional.relu(y) if relu else y)
    )
    for ours, theirs in zip(found, (channels_last(d_x), d_kernels, d_biases), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_few_digits_are_lost_in_single_precision() -> None:
    x, kernels, biases, d = tensors(torch.float64, 8, 32, 32)
    spread = winograd.spread(kernels.float())
    seen = channels_last(x.float())
    y = winograd.convolve(seen, spread, biases.float())
    d_x, d_kernels, _ = winograd.backward(channels_last(d.float()), seen, spread)
    one, none = [1, 1], [0, 0]
    by_x, by_kernels, _ = torch.ops.aten.convolution_backward(
        d, x, kernels, [32], one, one, one, False, none, 1, (True, True, True)
    )
    plain = functional.conv2d(x, kernels, biases, padding=1)
    for ours, exact in ((y, channels_last(plain)), (d_x, channels_last(by_x)), (d_kernels, by_kernels)):
        assert (ours - exact).std() < 3e-6 * exact.std()


def test_what_is_not_a_number_is_not_swallowed() -> None:
    x, kernels, biases, _ = tensors(torch.float32, 2, 16, 16)
    x[0, 3, 4, 4] = torch.nan
    y = winograd.convolve(channels_last(x), winograd.spread(kernels), biases, relu=True)
    assert y[0, 40].isnan().all()
    assert not y[1].isnan().any()


def test_no_boards() -> None:
    x, kernels, biases, d = tensors(torch.float32, 0, 16, 16)
    spread = winograd.spread(kernels)
    assert winograd.convolve(channels_last(x), spread, biases).shape == (0, 81, 16)
    assert not winograd.backward(channels_last(d), channels_last(x), spread)[1].any()


def test_boards_of_other_channels_are_refused() -> None:
    x, _, biases, d = tensors(torch.float32, 2, 16, 16)
    spread = winograd.spread(torch.zeros(16, 32, 3, 3))
    with pytest.raises(ValueError, match="shapes"):
        winograd.convolve(channels_last(x), spread, biases)
    with pytest.raises(ValueError, match="shapes"):
        winograd.backward(channels_last(d), channels_last(x), spread)
