from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from understudy.games.shogi.network import compiled as winograd
from understudy.games.shogi.network.compiled import CompiledConvolutions
from understudy.games.shogi.network.convolutions import Convolutions, TorchConvolutions


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
    x, kernels, biases, d = tensors(torch.float64, n, channels, outputs)
    leaves = [tensor.requires_grad_() for tensor in (x, kernels, biases)]
    found = []
    backends: list[Convolutions] = [CompiledConvolutions(), TorchConvolutions()]
    for by in backends:
        y = by.convolve(x, kernels=kernels, prepared=by.prepare(kernels.detach()), biases=biases, relu=relu)
        found.append((y, *torch.autograd.grad(y, leaves, d)))
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_few_digits_are_lost_in_single_precision() -> None:
    x, kernels, biases, d = tensors(torch.float64, 8, 32, 32)
    prepared = winograd.prepare(kernels.float())
    seen = channels_last(x.float())
    y = winograd.convolve(seen, prepared, biases.float())
    d_x, d_kernels, _ = winograd.convolve_backward(channels_last(d.float()), seen, prepared)
    assert d_x is not None
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
    y = winograd.convolve(channels_last(x), winograd.prepare(kernels), biases, relu=True)
    assert y[0, 40].isnan().all()
    assert not y[1].isnan().any()


def test_no_boards() -> None:
    x, kernels, biases, d = tensors(torch.float32, 0, 16, 16)
    prepared = winograd.prepare(kernels)
    assert winograd.convolve(channels_last(x), prepared, biases).shape == (0, 81, 16)
    assert not winograd.convolve_backward(channels_last(d), channels_last(x), prepared)[1].any()


def test_boards_of_other_channels_are_refused() -> None:
    x, _, biases, d = tensors(torch.float32, 2, 16, 16)
    prepared = winograd.prepare(torch.zeros(16, 32, 3, 3))
    with pytest.raises(ValueError, match="shapes"):
        winograd.convolve(channels_last(x), prepared, biases)
    with pytest.raises(ValueError, match="shapes"):
        winograd.convolve_backward(channels_last(d), channels_last(x), prepared)


def test_the_derivative_with_respect_to_the_planes_can_be_left_out() -> None:
    x, kernels, _, d = tensors(torch.float64, 11, 16, 16)
    prepared = winograd.prepare(kernels)
    arrays = channels_last(d), channels_last(x), prepared
    _, *expected = winograd.convolve_backward(*arrays)
    none, *found = winograd.convolve_backward(*arrays, wanted=False)
    assert none is None
    for ours, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
