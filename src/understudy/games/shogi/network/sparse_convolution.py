"""The sparse first convolution for tensors: planes (N, P, 81) to boards (N, 81, C)."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from understudy.games.shogi.kernels import sparse_convolution as compiled
from understudy.networks.network import Floats


@functools.cache
def _sides_of_cases(dtype: torch.dtype) -> Tensor:
    return torch.from_numpy(compiled.SIDES_OF_CASES).to(dtype)


def convolve(planes: Floats, kernels: Tensor, biases: Tensor) -> tuple[Tensor, Tensor]:
    """A 3×3 convolution with `kernels` (C, P, 3, 3), followed by a ReLU; and the sum of each plane, (N, P)."""
    n, p, squares = planes.shape
    c = len(biases)
    # A kernel's last number is for the neighbour below and to the right; so it adds to the one above and to the left.
    ways = kernels.detach().flip(2, 3).permute(1, 2, 3, 0).contiguous().view(p, compiled.TAPS, c)
    cases = torch.matmul(_sides_of_cases(ways.dtype), ways)
    y, totals = ways.new_empty(n, squares, c), ways.new_empty(n, p)
    tensors = ways, cases, biases.detach(), y, totals
    compiled.convolve(planes, *(tensor.numpy() for tensor in tensors))
    return y, totals


def backward(d: Tensor, y: Tensor, planes: Floats) -> tuple[Tensor, Tensor]:
    """From the derivative by the result of `convolve` to those by kernels and biases."""
    p, c = planes.shape[1], y.shape[2]
    d_ways, d_cases = y.new_zeros(2, p, compiled.TAPS, c)
    d_biases = y.new_zeros(c)
    compiled.backward(d.contiguous().numpy(), y.numpy(), planes, *(t.numpy() for t in (d_ways, d_cases, d_biases)))
    d_ways += torch.matmul(_sides_of_cases(y.dtype).t(), d_cases)
    return d_ways.view(p, 3, 3, c).permute(3, 0, 1, 2).flip(2, 3), d_biases
