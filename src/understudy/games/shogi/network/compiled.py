"""Winograd's convolutions (games/shogi/kernels/winograd.py) for tensors, with derivatives: the backend `compiled`."""

from __future__ import annotations

import functools
import math
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from understudy.games.shogi.kernels import announced, winograd
from understudy.games.shogi.kernels.vectors import LANES
from understudy.games.shogi.network.modules import as_boards, as_squares

_through_relu = torch.ops.aten.threshold_backward


class CompiledConvolutions:
    """Winograd's convolutions for 9×9 boards."""

    name = "compiled"

    def prepare(self, kernels: Tensor) -> PreparedKernels:
        """See Convolutions."""
        return prepare(kernels)

    def convolve(self, x: Tensor, *, kernels: Tensor, prepared: PreparedKernels, biases: Tensor, relu: bool) -> Tensor:
        """See Convolutions."""
        return _Convolution.apply(x, prepared, relu, kernels, biases)  # type: ignore[no-untyped-call, no-any-return]

    def announced(self) -> AbstractContextManager[None]:
        """See Convolutions."""
        return announced("the convolutions of shogi's network")


class _Convolution(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, prepared: PreparedKernels, relu: bool, _: Tensor, biases: Tensor) -> Tensor:
        squares = as_squares(x)
        y = convolve(squares, prepared, biases, relu=relu)
        ctx.prepared = prepared
        ctx.save_for_backward(squares, *([y] if relu else []))
        return as_boards(y)

    @staticmethod
    def backward(ctx: Any, d_boards: Tensor) -> tuple[Tensor | None, ...]:
        squares, *after_relu = ctx.saved_tensors
        d = as_squares(d_boards)
        for y in after_relu:
            d = _through_relu(d, y, 0)
        d_x, d_kernels, d_biases = convolve_backward(d, squares, ctx.prepared, wanted=ctx.needs_input_grad[0])
        return None if d_x is None else as_boards(d_x), None, None, d_kernels, d_biases


class PreparedKernels(NamedTuple):
    """Transformed kernels (Winograd's G w Gᵀ), padded with zeros to multiples of 16 channels."""

    forward: Tensor  # (49, C, O)
    backward: Tensor  # (49, O, C)


@functools.cache
def _transform(dtype: torch.dtype) -> Tensor:
    return torch.from_numpy(np.kron(winograd.G, winograd.G)).to(dtype)


def prepare(kernels: Tensor) -> PreparedKernels:
    """Transform kernels (O, C, 3, 3), once for all boards."""
    outputs, channels = kernels.shape[:2]
    points = (_transform(kernels.dtype) @ kernels.reshape(-1, 9).t()).view(-1, outputs, channels)
    padded = _padded(_padded(points).transpose(1, 2))
    return PreparedKernels(padded, padded.transpose(1, 2).contiguous())


def convolve(x: Tensor, kernels: PreparedKernels, biases: Tensor, *, relu: bool = False) -> Tensor:
    """The convolution of x (N, 81, C), with or without a ReLU: (N, 81, O)."""
    y = x.new_empty(*x.shape[:2], kernels.forward.shape[2])
    floor = 0.0 if relu else -math.inf
    winograd.convolve(_padded(x).numpy(), kernels.forward.numpy(), _padded(biases).numpy(), floor, y.numpy())
    return y[..., : len(biases)]


def convolve_backward(
    d: Tensor, x: Tensor, kernels: PreparedKernels, *, wanted: bool = True
) -> tuple[Tensor | None, Tensor, Tensor]:
    """Derivatives with respect to x (if `wanted`), kernels and biases, from that with respect to the result."""
    outputs, channels = d.shape[2], x.shape[2]
    d, x = _padded(d), _padded(x)
    d_x, d_biases = torch.empty_like(x if wanted else x[:0]), x.new_zeros(d.shape[2])
    d_points = torch.zeros_like(kernels.forward)
    arrays = (tensor.numpy() for tensor in (d_x, d_points, d_biases))
    winograd.backward(d.numpy(), x.numpy(), kernels.backward.numpy(), *arrays)
    d_kernels = (_transform(x.dtype).t() @ d_points.view(len(d_points), -1)).view(3, 3, *d_points.shape[1:])
    d_kernels = d_kernels.permute(3, 2, 0, 1)[:outputs, :channels]
    return d_x[..., :channels] if wanted else None, d_kernels, d_biases[:outputs]


def _padded(tensor: Tensor) -> Tensor:
    """Pad the last dimension with zeros to a multiple of 16."""
    missing = -tensor.shape[-1] % LANES
    return (functional.pad(tensor, (0, missing)) if missing else tensor).detach().contiguous()
