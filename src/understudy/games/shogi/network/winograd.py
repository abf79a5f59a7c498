"""Convolutions of games/shogi/kernels/winograd.py for tensors: boards are (N, 81, C), kernels (O, C, 3, 3)."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from understudy.games.shogi.kernels import winograd as compiled
from understudy.kernels.vectors import LANES


class Spread(NamedTuple):
    """Kernels as the two functions below take them, with zeros for channels up to a multiple of 16."""

    forward: Tensor  # (49, C, O)
    backward: Tensor  # (49, O, C)


@functools.cache
def _spreading(dtype: torch.dtype) -> Tensor:
    return torch.from_numpy(np.kron(compiled.G, compiled.G)).to(dtype)


def spread(kernels: Tensor) -> Spread:
    """Do once what is the same for all boards."""
    outputs, channels = kernels.shape[:2]
    points = (_spreading(kernels.dtype) @ kernels.reshape(-1, 9).t()).view(-1, outputs, channels)
    padded = _whole(_whole(points).transpose(1, 2))
    return Spread(padded, padded.transpose(1, 2).contiguous())


def convolve(x: Tensor, kernels: Spread, biases: Tensor, *, relu: bool = False) -> Tensor:
    """The convolution, followed by a ReLU or not."""
    y = x.new_empty(*x.shape[:2], kernels.forward.shape[2])
    floor = 0.0 if relu else -math.inf
    compiled.convolve(_whole(x).numpy(), kernels.forward.numpy(), _whole(biases).numpy(), floor, y.numpy())
    return y[..., : len(biases)]


def backward(d: Tensor, x: Tensor, kernels: Spread, *, through_relu: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """From the derivative by the result of `convolve` to those by boards, kernels and biases.

    With `through_relu`, to that by what the boards were before the ReLU they came out of.
    """
    outputs, channels = d.shape[2], x.shape[2]
    d, x = _whole(d), _whole(x)
    d_x, d_biases = torch.empty_like(x), x.new_zeros(d.shape[2])
    d_points = torch.zeros_like(kernels.forward)
    arrays = (tensor.numpy() for tensor in (d_x, d_points, d_biases))
    compiled.backward(d.numpy(), x.numpy(), kernels.backward.numpy(), through_relu, *arrays)
    d_kernels = (_spreading(x.dtype).t() @ d_points.view(len(d_points), -1)).view(3, 3, *d_points.shape[1:])
    return d_x[..., :channels], d_kernels.permute(3, 2, 0, 1)[:outputs, :channels], d_biases[:outputs]


def _whole(tensor: Tensor) -> Tensor:
    """With zeros in the last dimension, up to a multiple of 16."""
    missing = -tensor.shape[-1] % LANES
    return (functional.pad(tensor, (0, missing)) if missing else tensor).detach().contiguous()
